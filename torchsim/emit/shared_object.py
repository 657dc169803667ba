"""A trace producer as a shared object, for TOGSim in a process without the compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from torchsim.emit.producer import verified
from torchsim.errors import InternalError, InvalidInputError


def shared_object(producer_ir: str) -> bytes:
    """Compile the LLVM IR of a producer with LLVM and link it with the host's C compiler (``$CC``, else ``cc``).

    Raises:
        InvalidInputError: there is no C compiler.
        InternalError: LLVM or the linker rejects the producer.
    """
    compiler = os.environ.get("CC") or "cc"
    if shutil.which(compiler) is None:
        raise InvalidInputError(
            "saving a trace needs a C compiler to link its producer", expected=f"{compiler!r} on PATH", hint="install one, or set CC"
        )
    module, target = verified(producer_ir)
    code = target.create_target_machine(opt=1, reloc="pic", codemodel="default").emit_object(module)
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "producer.o", Path(folder) / "producer.so"
        source.write_bytes(code)
        # Nothing in the file depends on its place, so the same kernel gives the same bytes.
        command = [compiler, "-shared", "-Wl,--build-id=none", "-o", out.name, source.name]
        linked = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if linked.returncode:
            raise InternalError("the trace producer cannot be linked", found=linked.stderr.strip(), where=" ".join(command))
        return out.read_bytes()
