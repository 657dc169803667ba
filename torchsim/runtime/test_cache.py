"""Kernel cache: atomic entries, damage is detected and never half used."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from torchsim.errors import CacheError
from torchsim.runtime import cache

HEADER = {"name": "k", "cycles": {"rows": [[1, 0]], "origins": ["add"]}}
BLOBS = {"plan": b"{}", "image": bytes(range(256)), "producer": b""}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TORCHSIM_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_round_trip() -> None:
    key = cache.entry_key("group", "machine")
    assert cache.load(key) is None
    cache.store(key, HEADER, BLOBS)
    assert cache.load(key) == (HEADER, BLOBS)


def test_every_part_of_the_key_counts() -> None:
    assert len({cache.entry_key("ab", "c"), cache.entry_key("a", "bc"), cache.entry_key("abc"), cache.entry_key("ab", "d")}) == 4


@pytest.mark.req("D-6")
@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "foreign"])
def test_damaged_entry_is_removed_and_counts_as_absent(own_cache: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    key = cache.entry_key("x")
    cache.store(key, HEADER, BLOBS)
    (path,) = own_cache.rglob("*.kernel")
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[-3] ^= 1
    path.write_bytes({"truncate": bytes(data[:-7]), "flip": bytes(data), "empty": b"", "foreign": b"ELF" * 40}[damage])
    with pytest.raises(CacheError):
        cache.parse(path.read_bytes())
    assert cache.load(key) is None
    assert "compiled again" in caplog.text
    assert not path.exists()


def _write(folder: str, number: int) -> None:
    import os

    os.environ["TORCHSIM_CACHE_DIR"] = folder
    for _ in range(30):
        cache.store("0" * 64, {"writer": number}, {"data": bytes([number]) * 20_000})


@pytest.mark.req("D-6")
def test_concurrent_writers_leave_whole_entries(own_cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(str(own_cache), number)) for number in (1, 2)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        entry = cache.load("0" * 64)
        if entry is not None:
            header, blobs = entry
            assert blobs["data"] == bytes([int(str(header["writer"]))]) * 20_000
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert not list(own_cache.rglob("*.partial"))
