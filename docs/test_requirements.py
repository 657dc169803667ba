"""Requirement ids in tests exist in docs/requirements.md, and no committed text names the place where it was written."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from docs.blocks import ROOT

pytestmark = pytest.mark.unit

FOLDERS = ("torchsim", "togsim", "oracles", "fuzz", "ops", "models", "docs", "tools")


def known_ids() -> Counter[str]:
    """Ids of the table rows."""
    text = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
    return Counter(re.findall(r"^\| ([A-Z]-\d+[a-z]?) \|", text, re.MULTILINE))


def used_ids(tree: ast.Module) -> list[tuple[int, str]]:
    """Line and id of every ``pytest.mark.req(...)``; an argument that is no text is reported as its source."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func).endswith("mark.req"):
            if not node.args:
                found.append((node.lineno, "nothing"))
            for argument in node.args:
                text = argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else ast.unparse(argument)
                found.append((node.lineno, text))
    return found


def test_ids_are_unique_and_every_area_is_there() -> None:
    ids = known_ids()
    assert [name for name, count in ids.items() if count > 1] == []
    assert {name[0] for name in ids} == set("DCFTLSGHM")
    assert len(ids) >= 115


def test_the_ids_that_tests_name_exist() -> None:
    ids = known_ids()
    unknown = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("test_*.py"))
        for line, name in used_ids(ast.parse(path.read_text(encoding="utf-8")))
        if name not in ids
    ]
    assert unknown == []


def test_an_unknown_id_would_be_found() -> None:
    tree = ast.parse("import pytest\n@pytest.mark.req('Z-99', 'D-4')\ndef test_x(): ...\npytestmark = [pytest.mark.req(name)]\n")
    assert [name for _, name in used_ids(tree) if name not in known_ids()] == ["Z-99", "name"]


def test_every_folder_with_tests_is_collected_by_default() -> None:
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    testpaths: list[str] = settings["tool"]["pytest"]["ini_options"]["testpaths"]
    outside = [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("test_*.py")
        if not any(part.startswith(".") or part == "build" for part in path.relative_to(ROOT).parts)
        and path.relative_to(ROOT).parts[0] not in testpaths
    ]
    assert outside == []
    assert all(Path(ROOT / folder).is_dir() for folder in testpaths)
