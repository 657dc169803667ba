"""Write the C++ header of the instruction table: ``python generate.py OUT.h`` or ``python -m torchsim.target.isa.generate OUT.h``.

The functional simulator's decoder and the Spike extension are built on that header. Running the file by its path
needs the standard library only.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING or __package__:
    from . import cpp
else:  # run by path: import the folder itself as the package "isa"
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    cpp = importlib.import_module("isa.cpp")


def main(arguments: list[str]) -> int:
    """Write the header to the path in ``arguments``; an unchanged file is left alone so that builds stay incremental."""
    if len(arguments) != 1:
        print("usage: generate.py OUT.h", file=sys.stderr)
        return 2
    out, text = Path(arguments[0]), cpp.header()
    if not out.is_file() or out.read_text() != text:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
