"""NPU instructions: DMA (custom-1) and systolic array, special functions, lane index (XSfvcp forms, custom-2)."""

from __future__ import annotations

from .row import Cost, Row

CUSTOM_1, CUSTOM_2 = 0x2B, 0x5B
CUSTOM_1_FUNCT3 = 3

_DMA_SECTIONS = {"config": "docs/isa.md 3", "transfer": "docs/isa.md 4"}
# name, funct7, cost class, section
_DMA = [
    ("npu.config", 0, Cost.DMA_CONFIG, "config"),
    ("npu.mvin2", 1, Cost.DMA, "transfer"),
    ("npu.mvin", 2, Cost.DMA, "transfer"),
    ("npu.mvout", 3, Cost.DMA, "transfer"),
    ("npu.config2", 4, Cost.DMA_CONFIG, "config"),
    ("npu.config3", 5, Cost.DMA_CONFIG, "config"),
    ("npu.config4", 6, Cost.DMA_CONFIG, "config"),
    ("npu.config_mask", 8, Cost.DMA_CONFIG, "config"),
    ("npu.config_fill", 9, Cost.DMA_CONFIG, "config"),
    ("npu.wait", 10, Cost.DMA_WAIT, "transfer"),
    ("npu.block", 11, Cost.BLOCK, "transfer"),
    ("npu.tag", 12, Cost.DMA_CONFIG, "transfer"),
    ("npu.mvin3", 14, Cost.DMA, "transfer"),
]

# name, form, opcode, immediate, format, cost class
_VCIX = [
    ("npu.input_push", "iv", 0, 0, "NPU_VS2", Cost.SA_PUSH),
    ("npu.weight_push", "iv", 1, 0, "NPU_VS2", Cost.SA_PUSH),
    ("npu.compute", "i", 1, 4, "NPU_PLAIN", Cost.SA_COMPUTE),
    ("npu.pop", "v.i", 2, 0, "NPU_VD", Cost.SA_POP),
    ("npu.lane_index", "v.i", 0, 0, "NPU_VD", Cost.VECTOR_ALU),
    ("npu.erf", "v.iv", 0, 0, "NPU_VD_VS2", Cost.SPECIAL_FUNCTION),
    ("npu.tanh", "v.iv", 1, 0, "NPU_VD_VS2", Cost.SPECIAL_FUNCTION),
    ("npu.sin", "v.iv", 2, 0, "NPU_VD_VS2", Cost.SPECIAL_FUNCTION),
    ("npu.cos", "v.iv", 2, 1, "NPU_VD_VS2", Cost.SPECIAL_FUNCTION),
    ("npu.log", "v.iv", 2, 2, "NPU_VD_VS2", Cost.SPECIAL_FUNCTION),
    ("npu.atan", "v.iv", 2, 3, "NPU_VD_VS2", Cost.SPECIAL_FUNCTION),
    ("npu.exp", "v.iv", 3, 0, "NPU_VD_VS2", Cost.SPECIAL_FUNCTION),
]
# form: operands after the opcode as LLVM writes them ({imm} is filled in below)
_VCIX_OPERANDS = {"i": "0, 0, {imm}", "iv": "0, {vs2}, {imm}", "v.i": "0, {vd}, {imm}", "v.iv": "{vd}, {vs2}, {imm}"}


def _dma_row(name: str, funct7: int, cost: Cost, section: str) -> Row:
    return Row(name, CUSTOM_1 | CUSTOM_1_FUNCT3 << 12 | funct7 << 25, "NPU_DMA", "custom-1", cost, _DMA_SECTIONS[section])


def _vcix_row(name: str, form: str, opcode: int, immediate: int, format_name: str, cost: Cost) -> Row:
    # bits 31:28 = 2 with a vs2 operand else 0; 27:26 opcode; 25 = 0 when vd is written; 14:12 = 3 immediate form
    match = CUSTOM_2 | 3 << 12 | immediate << 15 | opcode << 26 | (not form.startswith("v")) << 25 | (2 if form.endswith("iv") else 0) << 28
    operands = _VCIX_OPERANDS[form].replace("{imm}", str(immediate))
    return Row(name, match, format_name, "XSfvcp", cost, "docs/isa.md 5", assembly=f"sf.vc.{form} {opcode}, {operands}")


ROWS: list[Row] = [*(_dma_row(*entry) for entry in _DMA), *(_vcix_row(*entry) for entry in _VCIX)]
