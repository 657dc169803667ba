"""Finding torchsim's own error inside a failure of the compilers around it."""

from __future__ import annotations

from torchsim.errors import TorchsimError


def find_own_error(error: BaseException | None) -> TorchsimError | None:
    """The torchsim error inside what Inductor or AOTAutograd made of it, or None."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, TorchsimError):
            return error
        seen.add(id(error))
        error = getattr(error, "inner_exception", None) or error.__cause__ or error.__context__
    return None
