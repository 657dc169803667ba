// Word -> Insn, from the generated table.
#include <string_view>
#include <vector>

#include "handlers.hpp"

namespace torchsim::iss {
namespace {

namespace isa = npu::isa;

/// Rows by their low seven bits (32-bit instructions), in table order.
const std::array<std::vector<Op>, 128>& rows_by_opcode() {
  static const auto index = [] {
    std::array<std::vector<Op>, 128> result;
    for (const isa::Row& row : isa::kRows) {
      if (row.bytes == 4) result[row.match & 0x7f].push_back(row.op);
    }
    return result;
  }();
  return index;
}

bool matches(const isa::Row& row, u32 word) { return (word & row.mask) == row.match && (row.nonzero == 0 || (word & row.nonzero) != 0); }

Op find_compressed(u32 half) {
  for (const isa::Row& row : isa::kRows) {
    if (row.bytes == 2 && matches(row, half)) return row.op;
  }
  return Op::ILLEGAL;
}

Op find(u32 word) {
  for (Op op : rows_by_opcode()[word & 0x7f]) {
    if (matches(isa::row(op), word)) return op;
  }
  return Op::ILLEGAL;
}

/// Registers used and immediate by format. Vector stores read their "destination" field.
void operands(Insn& i, isa::Format format) {
  using enum isa::Format;
  const u32 w = i.word;
  auto imm = [&](i32 value) { i.imm = value; };
  switch (format) {
    case R:
      i.uses = kReadX1 | kReadX2 | kWriteX;
      break;
    case I:
    case LOAD:
    case JALR:
      imm(isa::field_imm_i(w));
      i.uses = kReadX1 | kWriteX;
      break;
    case SHIFT64:
      imm(static_cast<i32>(isa::field_shamt6(w)));
      i.uses = kReadX1 | kWriteX;
      break;
    case SHIFT32:
      imm(static_cast<i32>(isa::field_shamt5(w)));
      i.uses = kReadX1 | kWriteX;
      break;
    case STORE:
      imm(isa::field_imm_s(w));
      i.uses = kReadX1 | kReadX2;
      break;
    case FLOAD:
      imm(isa::field_imm_i(w));
      i.uses = kReadX1 | kWriteF;
      break;
    case FSTORE:
      imm(isa::field_imm_s(w));
      i.uses = kReadX1 | kReadF2;
      break;
    case BRANCH:
      imm(isa::field_imm_b(w));
      i.uses = kReadX1 | kReadX2;
      break;
    case U:
      imm(static_cast<i32>(isa::field_imm_u(w) << 12));
      i.uses = kWriteX;
      break;
    case JAL:
      imm(isa::field_imm_j(w));
      i.uses = kWriteX;
      break;
    case CSR:
      imm(static_cast<i32>(isa::field_csr(w)));
      i.uses = kReadX1 | kWriteX;
      break;
    case CSRI:
      imm(static_cast<i32>(isa::field_csr(w)));
      i.uses = kWriteX;
      break;
    case LR:
      i.uses = kReadX1 | kWriteX;
      break;
    case AMO:
      i.uses = kReadX1 | kReadX2 | kWriteX;
      break;
    case F2:
    case F2_RM:
      i.uses = kReadF1 | kReadF2 | kWriteF;
      break;
    case F3_RM:
      i.uses = kReadF1 | kReadF2 | kReadF3 | kWriteF;
      break;
    case F1_RM:
    case F1_EXACT:
      i.uses = kReadF1 | kWriteF;
      break;
    case FCMP:
      i.uses = kReadF1 | kReadF2 | kWriteX;
      break;
    case F_TO_X:
    case F_TO_X_RM:
      i.uses = kReadF1 | kWriteX;
      break;
    case X_TO_F:
    case X_TO_F_RM:
    case X_TO_F_EXACT:
      i.uses = kReadX1 | kWriteF;
      break;
    case VSETVLI:
      imm(static_cast<i32>(isa::field_vtypei11(w)));
      i.uses = kReadX1 | kWriteX;
      break;
    case VSETIVLI:
      imm(static_cast<i32>(isa::field_vtypei10(w)));
      i.uses = kWriteX;
      break;
    case VV:
    case VV_ACC:
    case VVM:
    case VVN:
      i.form = Form::vector;
      i.uses = kReadV1 | kReadV2 | kReadVd | kWriteV;
      break;
    case VX:
    case VX_ACC:
    case VXM:
    case VXN:
      i.form = Form::scalar;
      i.uses = kReadX1 | kReadV2 | kReadVd | kWriteV;
      break;
    case VF:
    case VF_ACC:
    case VFM:
      i.form = Form::floating;
      i.uses = kReadF1 | kReadV2 | kReadVd | kWriteV;
      break;
    case VI:
    case VIM:
    case VIN:
      imm(isa::field_simm5(w));
      i.form = Form::immediate;
      i.uses = kReadV2 | kReadVd | kWriteV;
      break;
    case VU:
      imm(static_cast<i32>(isa::field_zimm(w)));
      i.form = Form::immediate;
      i.uses = kReadV2 | kReadVd | kWriteV;
      break;
    case V1:
    case V1N:
      i.uses = kReadV2 | kReadVd | kWriteV;
      break;
    case VID:
      i.uses = kReadVd | kWriteV;
      break;
    case V_TO_X:
    case V_TO_X_MASKED:
      i.uses = kReadV2 | kWriteX;
      break;
    case V_TO_F:
      i.uses = kReadV2 | kWriteF;
      break;
    case MV_V:
      i.form = Form::vector;
      i.uses = kReadV1 | kWriteV;
      break;
    case MV_X:
      i.form = Form::scalar;
      i.uses = kReadX1 | kReadVd | kWriteV;
      break;
    case MV_F:
      i.form = Form::floating;
      i.uses = kReadF1 | kReadVd | kWriteV;
      break;
    case MV_I:
      imm(isa::field_simm5(w));
      i.form = Form::immediate;
      i.uses = kWriteV;
      break;
    case VL_UNIT:
    case VL_FAULT_FIRST:
    case VL_MASK:
    case VL_WHOLE:
      i.uses = kReadX1 | kReadVd | kWriteV;
      break;
    case VL_STRIDED:
      i.uses = kReadX1 | kReadX2 | kReadVd | kWriteV;
      break;
    case VL_INDEXED:
      i.uses = kReadX1 | kReadV2 | kReadVd | kWriteV;
      break;
    case VS_UNIT:
    case VS_MASK:
    case VS_WHOLE:
      i.uses = kReadX1 | kReadVd;
      break;
    case VS_STRIDED:
      i.uses = kReadX1 | kReadX2 | kReadVd;
      break;
    case VS_INDEXED:
      i.uses = kReadX1 | kReadV2 | kReadVd;
      break;
    case NPU_DMA:
      i.uses = kReadX1 | kReadX2;
      break;
    case NPU_VS2:
      i.uses = kReadV2;
      break;
    case NPU_VD:
      i.uses = kReadVd | kWriteV;
      break;
    case NPU_VD_VS2:
      i.uses = kReadV2 | kReadVd | kWriteV;
      break;
    default:
      break;
  }
}

bool has_mask(isa::Format format) {
  using enum isa::Format;
  switch (format) {
    case VV:
    case VX:
    case VF:
    case VI:
    case VU:
    case VV_ACC:
    case VX_ACC:
    case VF_ACC:
    case V1:
    case VID:
    case V_TO_X_MASKED:
    case VL_UNIT:
    case VL_STRIDED:
    case VL_INDEXED:
    case VS_UNIT:
    case VS_STRIDED:
    case VS_INDEXED:
    case VL_FAULT_FIRST:
      return true;
    default:
      return false;
  }
}

/// Double-width operands, by mnemonic: vw* and vfw* write twice the width (but for reductions), *.w* read vs2 at twice the width.
u16 width_uses(std::string_view name) {
  u16 uses = 0;
  const bool reduction = name.find("red") != name.npos;
  if ((name.starts_with("vw") || name.starts_with("vfw")) && !reduction) uses |= kWideDest;
  if (name.starts_with('v') && name.find(".w") != name.npos) uses |= kWideSource;
  return uses;
}

bool reads_mask_always(isa::Format format) {
  using enum isa::Format;
  return format == VVM || format == VXM || format == VFM || format == VIM;
}

}  // namespace

Insn decode(u32 fetched) {
  Insn i;
  i.fetched = fetched;
  i.handler = illegal;
  Op op;
  if ((fetched & 3) != 3) {
    i.size = 2;
    const u32 half = fetched & 0xffff;
    const Op compressed = find_compressed(half);
    op = isa::row(compressed).expands_to;
    i.word = compressed == Op::ILLEGAL ? half : isa::expand(compressed, half);
  } else {
    i.size = 4;
    i.word = fetched;
    op = find(fetched);
  }
  if (op == Op::ILLEGAL) return i;
  const isa::Row& row = isa::row(op);
  i.op = op;
  i.cost = row.cost;
  i.kind = row.cost >= Cost::DMA_CONFIG ? Kind::dma : row.cost >= Cost::VECTOR_CONFIG ? Kind::vector : Kind::scalar;
  i.rd = static_cast<u8>(isa::field_rd(i.word));
  i.rs1 = static_cast<u8>(isa::field_rs1(i.word));
  i.rs2 = static_cast<u8>(isa::field_rs2(i.word));
  i.rs3 = static_cast<u8>(isa::field_fs3(i.word));
  operands(i, row.format);
  if (has_mask(row.format)) i.unmasked = isa::field_vm(i.word);
  if (!i.unmasked || reads_mask_always(row.format)) i.uses |= kReadMask;
  i.uses |= width_uses(row.name);
  const HandlerEntry& entry = handler_table()[op];
  if (entry.handler) i.handler = entry.handler;
  i.sub = entry.sub;
  return i;
}

}  // namespace torchsim::iss
