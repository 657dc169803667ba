"""Second route: the ``spike`` command as it is installed, with nothing of ours in its process.

It is a machine of one lane: a program runs in machine mode from 0x8000_0000, its scratchpad is plain memory, and the final scratchpad
comes back as Spike's signature. So it answers for RV64GC and RVV, without DMA, array and special functions. A run counts only if the
program wrote its done word; the instruction limit, at which Spike exits with 0, and the time limit are errors.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from torchsim.errors import InvalidInputError

from .build import SpikeUnavailableError, spike_prefix
from .executable import elf
from .program import SPAD, Program
from .protocol import IMAGE_BASE
from .server import SpikeCrashError, SpikeTimeoutError

_START, _TOHOST, _DONE = IMAGE_BASE + 0x4_0000, IMAGE_BASE + 0x8_0000, 0x600D_D00D
_MSTATUS, _MTVEC, _MCAUSE = 0x300, 0x305, 0x342
_FS_VS, _TRAPPED = 0x6600, 64
_ISA = "rv64gcv_zfh_zvfh_zvl256b"
_LIMIT = 1_000_000
_CAUSES = {2: "illegal_instruction", 4: "misaligned_access", 6: "misaligned_access", 0: "misaligned_access"}


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Final scratchpad, uint8 [1, bytes], and the name of the trap that ended the program, or None."""

    spad: npt.NDArray[np.uint8]
    trap: str | None


def spike_command() -> Path:
    """The ``spike`` executable of the Spike that the oracle uses.

    Raises:
        SpikeUnavailableError: no executable, or no ``dtc`` in PATH, which it calls at every start.
    """
    program = spike_prefix() / "bin" / "spike"
    if not program.is_file():
        raise SpikeUnavailableError("this Spike has no command", expected=str(program), found="no such file")
    if shutil.which("dtc") is None:
        hint = "install dtc (Debian: apt-get install device-tree-compiler)"
        raise SpikeUnavailableError("the spike command needs dtc", expected="dtc in PATH", found="none", hint=hint)
    return program


def run_command(
    program: Program, spad: npt.NDArray[np.uint8], *, instruction_limit: int = _LIMIT, timeout_s: float = 30.0
) -> CommandResult:
    """Run a program that returns to its caller.

    Args:
        program: machine code of one lane without NPU instructions.
        spad: scratchpad before it, uint8 [1, n] with n a multiple of 4096.
        instruction_limit: instructions after which there is no result.
        timeout_s: wall-clock seconds.

    Raises:
        SpikeUnavailableError: no ``spike`` or no ``dtc``.
        SpikeTimeoutError: too slow. SpikeCrashError: no done word, a bad exit status, or a signature of the wrong size.
        InvalidInputError: a scratchpad of the wrong shape.
    """
    if spad.dtype != np.uint8 or spad.ndim != 2 or spad.shape[0] != 1 or spad.shape[1] % 4096:
        raise InvalidInputError("wrong scratchpad", expected="uint8 [1, whole pages]", found=f"{spad.dtype} {list(spad.shape)}")
    size = spad.shape[1]
    symbols = {"tohost": _TOHOST, "fromhost": _TOHOST + 64, "begin_signature": SPAD, "end_signature": SPAD + size + 8}
    with tempfile.TemporaryDirectory() as folder:
        kernel, signature = Path(folder) / "program.elf", Path(folder) / "signature"
        kernel.write_bytes(
            elf(_START, [(IMAGE_BASE, program.image()), *_start(size), (_TOHOST, bytes(128)), (SPAD, spad.tobytes() + bytes(8))], symbols)
        )
        command = [str(spike_command()), f"--isa={_ISA}", "--priv=m", f"-m{IMAGE_BASE:#x}:0x100000,{SPAD:#x}:{size + 4096:#x}"]
        command += [f"--instructions={instruction_limit}", f"+signature={signature}", "+signature-granularity=4", str(kernel)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired as error:
            raise SpikeTimeoutError("the spike command is too slow", expected=f"an answer within {timeout_s} s", found="none") from error
        text = signature.read_text() if signature.is_file() else ""
    status = done.returncode
    if status > _TRAPPED:
        return CommandResult(spad, _CAUSES.get(status - _TRAPPED, f"cause {status - _TRAPPED}"))
    if status != 0:
        raise SpikeCrashError("the spike command failed", expected="exit status 0", found=f"{status}; {done.stderr.strip()[-500:]}")
    words = np.array([int(line, 16) for line in text.split()], "<u4")
    if words.size != size // 4 + 2 or int(words[-2]) != _DONE:
        raise SpikeCrashError("the program did not reach its end", expected="the done word", found=f"{words.size} words of signature")
    return CommandResult(words[:-2].view(np.uint8).reshape(1, size), None)


def _start(spad_bytes: int) -> list[tuple[int, bytes]]:
    """Segments of what runs before the program (float and vector on, trap handler, return address) and after it.

    They lie apart from the program, which so has the addresses that it has on the other machines.
    """
    after = Program().li(5, _DONE).li(6, SPAD + spad_bytes).op("sw", rs2=5, rs1=6, imm=0)
    after.li(5, 1).li(6, _TOHOST).op("sd", rs2=5, rs1=6, imm=0).op("jal", rd=0, imm=0)
    handler = Program().op("csrrs", rd=5, csr=_MCAUSE, rs1=0).op("addi", rd=5, rs1=5, imm=_TRAPPED).op("slli", rd=5, rs1=5, imm=1)
    handler.op("ori", rd=5, rs1=5, imm=1).li(6, _TOHOST).op("sd", rs2=5, rs1=6, imm=0).op("jal", rd=0, imm=0)
    places = _START + 0x1000, _START + 0x2000
    code = Program().li(5, _FS_VS).op("csrrs", rd=0, csr=_MSTATUS, rs1=5).li(1, places[0])
    code.li(5, places[1]).op("csrrw", rd=0, csr=_MTVEC, rs1=5).li(5, IMAGE_BASE).op("jalr", rd=0, rs1=5, imm=0)
    return list(zip((_START, *places), (one.machine_code() for one in (code, after, handler))))
