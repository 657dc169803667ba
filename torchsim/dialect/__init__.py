"""The togsim dialect, its cross-operand verifier, and small builders for the dialects that kernels are made of."""
