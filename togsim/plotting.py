"""Figures in one style, the same bytes for the same data. The only module that imports matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from togsim.errors import ConfigError

PALETTE = ("#1b5e8c", "#e08a2e", "#6aa84f", "#b85c8e", "#8c7ab8", "#5f9ea0", "#c44e52", "#7f7f7f")
"""Colours that stay apart for colour-blind readers and in grey."""

_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "svg.hashsalt": "togsim",
    "svg.fonttype": "path",
}


def figure(width: float, height: float, rows: int = 1, **choices: Any) -> tuple[Any, Any]:
    """A figure in inches and its axes (an array of them for several rows).

    Raises:
        ConfigError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError(
            "pictures need matplotlib", expected="matplotlib installed", found=str(error), hint="pip install 'torchsim[plots]'"
        ) from error
    with mpl.rc_context(_STYLE):
        made = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(made)
        return made, made.subplots(rows, 1, **choices)


def save(made: Any, path: Path) -> None:
    """Write a figure as PNG or SVG, by the ending of the path."""
    import matplotlib as mpl

    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.suffix.lstrip(".")
    if kind not in ("png", "svg"):
        raise ConfigError("a picture is PNG or SVG", expected="a path that ends in .png or .svg", found=str(path))
    with mpl.rc_context(_STYLE):
        made.savefig(path, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else {"Software": None})
