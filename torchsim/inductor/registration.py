"""Registers the front end's parts with Inductor; called once, at the first graph with npu tensors."""

from __future__ import annotations

import torch
from torch._inductor.codegen.common import register_backend_for_device, register_device_op_overrides
from torch._inductor.codegen.cpu_device_op_overrides import CpuDeviceOpOverrides

from torchsim.device import DEVICE_TYPE
from torchsim.inductor import lowerings
from torchsim.inductor.policy import ApplyHelp
from torchsim.inductor.scheduling import NpuScheduling
from torchsim.inductor.wrapper import NpuWrapper

RECOMPILE_LIMIT = 256
"""Compiled forms of one function before Dynamo runs it eagerly; torchsim compiles once per shape, so the default of 8 is soon reached."""


def register() -> None:
    """Scheduling, wrapper, device code, lowerings and Dynamo's limit."""
    register_backend_for_device(DEVICE_TYPE, NpuScheduling, NpuWrapper, device_custom_pass=ApplyHelp())
    register_device_op_overrides(DEVICE_TYPE, CpuDeviceOpOverrides())
    lowerings.register()
    torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, RECOMPILE_LIMIT)
