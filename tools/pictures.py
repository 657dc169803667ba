"""Draw the pictures of docs/togsim.md again: ``python tools/pictures.py [machine]``. They show the inference of the demo."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from togsim.timeline_picture import draw_timeline  # noqa: E402  # the script runs from anywhere
from torchsim.demo.digits import timed_inference  # noqa: E402
from torchsim.runtime.timeline import session_timeline  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"


def main() -> int:
    """Write the pictures; 0 on success."""
    for machine in sys.argv[1:2] or ["32x32"]:
        session = timed_inference(machine)
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
