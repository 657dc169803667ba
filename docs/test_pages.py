"""README and documentation: what they show runs, what they name exists, what is generated is current."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from docs.blocks import PAGES, ROOT, blocks, commands, runnable
from tools import docs as generator
from torchsim.config import load_machine
from torchsim.errors import ConfigError

pytestmark = pytest.mark.unit

README = ROOT / "README.md"
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
COMMANDS = sorted({(str(page.relative_to(ROOT)), command) for page in PAGES for command in commands(page)})


# ------------------------------------------------------------------------------------------------ Python blocks
@pytest.mark.parametrize("name", [str(page.relative_to(ROOT)) for page in PAGES if runnable(page)])
def test_python_blocks_marked_run_do_run(name: str, tmp_path: Path) -> None:
    program = tmp_path / "page.py"
    program.write_text(runnable(ROOT / name), encoding="utf-8")
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    answer = subprocess.run([sys.executable, str(program)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, f"{name} (lines are those of the page):\n{answer.stderr}"


@pytest.mark.parametrize("name", NAMES)
def test_every_python_block_is_python(name: str) -> None:
    for block in blocks(ROOT / name):
        if block.language == "python":
            ast.parse(block.text, filename=f"{name}:{block.line}")


def test_a_broken_block_is_noticed_with_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# t\n\n```python run\na = 1\n```\ntext\n```python\nno python\n```\n\n```python run\nassert a == 1\nassert a == 2\n```\n"
    )
    with pytest.raises(AssertionError) as caught:
        exec(compile(runnable(page), str(page), "exec"), {})
    assert caught.tb.tb_next is not None
    assert caught.tb.tb_next.tb_lineno == 13


def test_the_failure_that_the_readme_shows_is_the_real_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = [block.text for block in blocks(README) if block.text.startswith("ConfigError: ")]
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "configs" / "8x8.yaml").read_text(encoding="utf-8").replace("dram_channels", "dram_chanels")
    Path("mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_machine("mine.yaml")
    assert f"ConfigError: {caught.value}\n" == shown


# ------------------------------------------------------------------------------------------------ commands
def test_the_readme_leads_with_the_two_commands() -> None:
    assert commands(README)[:2] == ["make demo", "make test"]


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[command for _, command in COMMANDS])
def test_a_command_of_the_documentation_exists(name: str, command: str) -> None:
    words = shlex.split(command)
    if words[0] == "make":
        check = ["make", "-n", *words[1:]]
    elif words[0] == "torchsim":
        check = [sys.executable, "-m", "torchsim", *words[1:2], "--help"]
    elif words[0] == "python" and words[1].endswith(".py"):
        check = [sys.executable, str(ROOT / words[1]), "--help"]
    else:
        pytest.fail(f"{name}: no rule to check {command!r}; use make, torchsim or python FILE, or a block that is not marked sh")
    answer = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, f"{name}: {command}\n{answer.stderr}"


def test_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = {line.split()[1] for line in shown.splitlines()}
    assert listed == set(phony[1].split())
    assert {"help", "demo", "test", "test-all", "lint", "type", "sanitize", "fuzz", "bench", "docs", "clean"} <= listed


# ------------------------------------------------------------------------------------------------ links and generated parts
@pytest.mark.parametrize("name", [*NAMES, "CHANGELOG.md"])
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name} links to {target}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    missing = [page.name for page in PAGES if page.parent.name == "docs" and page.name != "index.md" and f"]({page.name})" not in index]
    assert not missing


@pytest.mark.req("D-4")
def test_generated_parts_are_current() -> None:
    stale = [str(path.relative_to(ROOT)) for path, text in generator.pages().items() if path.read_text(encoding="utf-8") != text]
    assert not stale, "run make docs"
    config = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
    assert all(f"generated: {part}" in config for part in generator.PARTS if part.startswith("config-"))
