"""TORCHSIM_LOGS: named log artifacts, in the manner of TORCH_LOGS.

``TORCHSIM_LOGS=fusion,cache`` prints those artifacts to standard error; ``TORCHSIM_LOGS=help`` prints the list.
"""

from __future__ import annotations

import difflib
import logging
import sys

from torchsim.errors import ConfigError

ARTIFACTS = {
    # What core declines before it asks is in the log of TORCH_LOGS=fusion.
    "fusion": "every fusion that the NPU back end declines, with its reason (why_no_fuse)",
    "cache": "kernel cache entries that were damaged and rebuilt",
}
"""Artifact name to what it shows; the logger is ``torchsim.<name>``."""


def configure(choice: str) -> None:
    """Switch on the comma separated artifacts of ``choice``.

    Raises:
        ConfigError: no such artifact.
    """
    for name in filter(None, (part.strip() for part in choice.split(","))):
        if name == "help":
            print("TORCHSIM_LOGS takes a comma separated list of:", file=sys.stderr)
            for artifact, meaning in ARTIFACTS.items():
                print(f"  {artifact:10} {meaning}", file=sys.stderr)
            continue
        if name not in ARTIFACTS:
            near = difflib.get_close_matches(name, ARTIFACTS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "TORCHSIM_LOGS=help lists them"
            raise ConfigError(f"unknown log artifact {name!r}", expected=", ".join(ARTIFACTS), found=name, where="TORCHSIM_LOGS", hint=hint)
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("[torchsim %(name)s] %(message)s"))
        logger = logging.getLogger(f"torchsim.{name}")
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
