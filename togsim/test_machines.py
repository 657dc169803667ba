"""Machine files as the command line reads them, without the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from togsim import ConfigError
from togsim.machines import load_machine_file, machine_folders

pytestmark = [pytest.mark.unit, pytest.mark.req("D-4")]


def write(folder: Path, text: bytes) -> Path:
    path = folder / "mine.yaml"
    path.write_bytes(text)
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"num_cores: 1\nnum_cores: 2\n", "key 'num_cores' is given twice"),
        (b"num_cores: 1\nnum_cores: 1\n", "key 'num_cores' is given twice"),
        (b"partition: {core_0: 0, core_0: 1}\n", "key 'core_0' is given twice"),
        (b"dram_timing_cycles:\n  CL: 14\n  CWL: 5\n  CL: 15\n", "key 'CL' is given twice"),
        (b"{num_cores: 1, ? [1] : 2, ? [1] : 3}\n", r"key \[1\] is given twice"),
        (b"? [1]\n: 2\n", "unhashable key"),
        (b"num_cores: [1\n", "not valid YAML"),
        (b"\xff\xfe\xff", "not valid YAML"),
        (b"- 1\n", "no mapping of keys to values"),
        (b"", "no mapping of keys to values"),
    ],
)
def test_a_file_that_says_two_things_or_nothing_is_refused(text: bytes, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as caught:
        load_machine_file(path)
    assert caught.value.where == str(path)


def test_equal_keys_of_different_mappings_are_no_doubles(tmp_path: Path) -> None:
    text = b"num_cores: 1\ndram_timing_cycles: {CL: 14}\ndram_organization: {banks: 4, CL: 1}\n"
    assert load_machine_file(write(tmp_path, text))["dram_organization"] == {"banks": 4, "CL": 1}


def test_missing_files_and_names(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no machine file"):
        load_machine_file(tmp_path / "absent.yaml")
    with pytest.raises(ConfigError, match="unknown machine '9x9'"):
        load_machine_file("9x9")


def test_every_machine_that_ships_is_read() -> None:
    names = [file.stem for folder in machine_folders() for file in folder.glob("*.yaml")]
    assert "8x8" in names
    assert all(load_machine_file(name)["num_cores"] >= 1 for name in names)
