"""The lane-safety checker: a hard error for code that moves per-lane values through scalar state (docs/lane-safety.md)."""

from __future__ import annotations

from torchsim.errors import LaneSafetyError
from torchsim.target.image import Image
from torchsim.target.lane_flow import Flow
from torchsim.target.lane_rules import Hazard, Rule

__all__ = ["Hazard", "Rule", "check_lane_safety", "find_hazards"]

_SHOWN = 20


def find_hazards(image: Image) -> list[Hazard]:
    """Every instruction of the image that breaks a rule, in address order. Exported functions get the argument block in a0."""
    return Flow(image).run()


def check_lane_safety(image: Image, *, where: str = "") -> None:
    """Check the code of an image.

    Args:
        image: what ``loader.load`` returned.
        where: name of the kernel for the message.

    Raises:
        LaneSafetyError: lists pc, disassembly and rule of each hazard.
    """
    hazards = find_hazards(image)
    if not hazards:
        return
    shown = [str(hazard) for hazard in hazards[:_SHOWN]]
    if len(hazards) > _SHOWN:
        shown.append(f"... and {len(hazards) - _SHOWN} more")
    advice = dict.fromkeys(hazard.rule.advice for hazard in hazards)
    raise LaneSafetyError(
        f"the machine code is not lane-safe ({len(hazards)} instructions)",
        expected="per-lane values stay in vector registers and scratchpad",
        found="\n    ".join(["", *shown]),
        where=where,
        hint="; ".join(advice) + " (docs/lane-safety.md)",
    )
