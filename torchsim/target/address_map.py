"""The kernel's view of memory (docs/isa.md, section 1)."""

from __future__ import annotations

IMAGE_BASE = 0x8000_0000
IMAGE_LIMIT = 256 << 20
"""Most bytes of an image: code, constants and argument block together."""
SPAD_BASE = 0xD000_0000
SPAD_END = 0xE000_0000
STACK_BASE = 0xE000_0000
STACK_BYTES = 16 << 10
TENSOR_BASE = 0x10_0000_0000
