"""``python -m togsim``: see togsim.cli."""

from __future__ import annotations

import sys

from togsim.cli import main

sys.exit(main())
