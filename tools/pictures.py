"""Draw the pictures of docs/togsim.md again: ``python tools/pictures.py [machine]``. They show the inference of the demo."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import torch  # noqa: E402  # the script runs from anywhere

import torchsim  # noqa: E402
from togsim.timeline_picture import draw_timeline  # noqa: E402
from torchsim.demo.digits import Classifier, load_digits  # noqa: E402
from torchsim.runtime.session import Session  # noqa: E402
from torchsim.runtime.timeline import session_timeline  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"


def timed_demo(machine: str) -> Session:
    """The demo's inference in timing mode: cycles do not depend on the weights, so there is no training."""
    pixels = load_digits()[2]
    torch._dynamo.reset()
    with torch.no_grad(), torchsim.machine(machine), torchsim.options(functional=False), torchsim.session() as session:
        torch.compile(Classifier().eval(), backend="torchsim")(pixels)
    return session


def main() -> int:
    """Write the pictures; 0 on success."""
    for machine in sys.argv[1:2] or ["32x32"]:
        session = timed_demo(machine)
        files = session.plots(PICTURES / "demo", "svg")
        timeline = PICTURES / "demo" / "timeline.svg"
        timed = list(zip(session.kernels, session.calls))
        built = session_timeline(timed)
        draw_timeline(timeline, built, title=f"The demo's inference on {machine}: {len(timed)} kernels, one after another")
        zoom, last = PICTURES / "demo" / "overlap.svg", session.kernels[0].cycles
        draw_timeline(zoom, built, 0, last, title=f"The first of them: {', '.join(session.kernels[0].origins)}")
        print(f"{machine}: {', '.join(sorted(str(path.relative_to(ROOT)) for path in {*files, timeline, zoom}))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
