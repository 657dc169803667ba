"""The child process: nothing but a whole reply passes for a result."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from pathlib import Path

import pytest

from oracles.spike import SpikeCrashError, SpikeOracle, SpikeServer, SpikeTimeoutError
from oracles.spike.program import SPAD, Program
from torchsim.errors import InvalidInputError

pytestmark = [pytest.mark.unit, pytest.mark.req("H-1")]
ENDLESS = Program().op("jal", rd=0, imm=0).image()
GOOD = Program().li(11, SPAD).li(12, 5).op("sd", rs2=12, rs1=11, imm=0).image()


def works(oracle: SpikeOracle) -> bool:
    result = oracle.run(GOOD)
    return result.trap is None and int(result.spad[0, 0]) == 5


def test_one_child_serves_many_requests() -> None:
    with SpikeOracle(2, 4096) as oracle:
        assert oracle.server.pid is None
        assert works(oracle)
        first = oracle.server.pid
        assert works(oracle)
        assert oracle.server.pid == first


def test_a_timeout_is_an_error_and_kills_the_child() -> None:
    with SpikeOracle(2, 4096) as oracle:
        assert works(oracle)
        pid = oracle.server.pid
        assert pid is not None
        start = time.monotonic()
        with pytest.raises(SpikeTimeoutError, match=r"within 0\.2 s"):
            oracle.run(ENDLESS, instruction_limit=1 << 62, timeout_s=0.2)
        assert time.monotonic() - start < 5
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert works(oracle)  # with a new child


def test_a_child_killed_in_the_middle_is_an_error() -> None:
    with SpikeOracle(2, 4096) as oracle:
        assert works(oracle)
        pid = oracle.server.pid
        assert pid is not None
        killer = threading.Timer(0.2, os.kill, (pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(SpikeCrashError, match="exit status -9"):
            oracle.run(ENDLESS, instruction_limit=1 << 62, timeout_s=30)
        killer.join()
        assert works(oracle)


def test_a_child_killed_between_requests_is_replaced() -> None:
    with SpikeOracle(2, 4096) as oracle:
        assert works(oracle)
        pid = oracle.server.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert works(oracle)
        assert oracle.server.pid != pid


def fake_child(folder: Path, script: str) -> Path:
    path = folder / "child"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 0", "died"),
        ("echo broken >&2; exit 3", r"exit status 3; broken"),
        ("printf 'garbage garbage '; sleep 9", "does not start as one"),
        (r"head -c 1; printf 'PKREP01\010\0\0\0\0\0\0\0payload_'; exit 0", "died before it had answered"),
        (r"printf 'SPKREP01\010\0\0\0\0\0\0\0payload_SPKDONE?'; sleep 9", "no done marker"),
    ],
    ids=["dies", "dies with a message", "garbage", "cut", "no marker"],
)
def test_a_bad_reply_is_an_error(tmp_path: Path, script: str, message: str) -> None:
    with SpikeServer(1, 4096, executable=fake_child(tmp_path, script)) as server, pytest.raises(SpikeCrashError, match=message):
        server.exchange([b"S"], timeout_s=5)


def test_a_whole_reply_is_taken(tmp_path: Path) -> None:
    child = fake_child(tmp_path, r"printf 'SPKREP01\010\0\0\0\0\0\0\0payload_SPKDONE!'; sleep 9")
    with SpikeServer(1, 4096, executable=child) as server:
        assert server.exchange([b"x"], timeout_s=5) == b"payload_"


def test_a_child_that_does_not_read_times_out(tmp_path: Path) -> None:
    with SpikeServer(1, 4096, executable=fake_child(tmp_path, "sleep 60")) as server, pytest.raises(SpikeTimeoutError):
        server.exchange([bytes(1 << 20)] * 8, timeout_s=0.3)


def test_the_real_child_rejects_what_is_no_request() -> None:
    with SpikeServer(1, 4096) as server, pytest.raises(SpikeCrashError, match="not a request"):
        server.exchange([b"nonsense"], timeout_s=5)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InvalidInputError, match="multiple of 4096"):
        SpikeOracle(8, 1000)
    with pytest.raises(InvalidInputError, match=">= 1"):
        SpikeOracle(0, 4096)
    with SpikeOracle(2, 4096) as oracle:
        with pytest.raises(InvalidInputError, match="image window"):
            oracle.run(GOOD, base=0x1000)
        with pytest.raises(InvalidInputError, match="early or late"):
            oracle.run(GOOD, mode="never")  # pyright: ignore[reportArgumentType]
