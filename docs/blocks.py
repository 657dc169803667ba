"""Fenced blocks of the documentation: which are run, which commands they name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block: first word of the info string, the other words, the text, and the line it starts on."""

    language: str
    flags: tuple[str, ...]
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    content = page.read_text(encoding="utf-8")
    found: list[Block] = []
    for match in _FENCE.finditer(content):
        words = match["info"].split()
        line = content.count("\n", 0, match.start("text")) + 1
        found.append(Block(words[0] if words else "", tuple(words[1:]), match["text"], line))
    return found


def runnable(page: Path) -> str:
    """The ``python run`` blocks of a page as one program whose line numbers are those of the page."""
    program = ""
    for block in blocks(page):
        if block.language == "python" and "run" in block.flags:
            program += "\n" * (block.line - 1 - program.count("\n")) + block.text
    return program


def commands(page: Path) -> list[str]:
    """The commands of the ``sh`` blocks of a page, without comments."""
    lines = [
        line.split("  #")[0].split(" # ")[0].strip() for block in blocks(page) if block.language == "sh" for line in block.text.splitlines()
    ]
    return [line for line in lines if line and not line.startswith("#")]
