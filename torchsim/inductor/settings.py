"""Inductor configuration for graphs with npu tensors, and why each entry is there."""

from __future__ import annotations

from typing import Any

from torchsim.inductor.overwritten import CopyOverwrittenInputs
from torchsim.inductor.policy import before_fusion


def inductor_settings() -> dict[str, Any]:
    """Configuration to patch in while such a graph is compiled."""
    return {
        "layout_optimization": False,  # channels_last convolutions would get strides that the host kernels do not produce
        "unroll_reductions_threshold": 1,  # otherwise short reductions become one load per element
        "split_reductions": False,  # the planner tiles reductions itself
        "mtia.disable_welford_reduction": True,  # variance as mean, then the mean of squared differences: two stable sums
        "cpp_wrapper": False,
        "fx_wrapper": False,
        "freezing": False,
        "graph_partition": False,
        "compile_threads": 1,  # nothing is compiled in worker processes
        "fallback_random": True,  # random numbers are the host generator's, through the fallback policy
        "max_autotune": False,
        "max_autotune_gemm": False,
        "max_autotune_pointwise": False,
        "coordinate_descent_tuning": False,
        "combo_kernels": False,
        "triton.cudagraphs": False,
        "online_softmax": False,  # the planner chooses between resident rows and passes
        "_pre_fusion_custom_pass": before_fusion,  # the fallback policy
        "post_grad_custom_post_pass": CopyOverwrittenInputs(),  # results outlive inputs that are overwritten
        "emulate_precision_casts": False,  # half values round after every op by the type of the op itself
    }
