// RV64I and M without memory and system instructions.
#include "core.hpp"
#include "handlers.hpp"

namespace torchsim::iss {
namespace {

u64 sext32(u64 value) { return static_cast<u64>(static_cast<i64>(static_cast<i32>(value))); }

/// Handlers of f(rs1, rs2) and of f(rs1, immediate).
template <u64 (*F)(u64, u64)>
void register_form(Core& c, const Insn& i) {
  c.write_x(i.rd, F(c.x[i.rs1], c.x[i.rs2]));
}
template <u64 (*F)(u64, u64)>
void immediate_form(Core& c, const Insn& i) {
  c.write_x(i.rd, F(c.x[i.rs1], static_cast<u64>(static_cast<i64>(i.imm))));
}

u64 add(u64 a, u64 b) { return a + b; }
u64 sub(u64 a, u64 b) { return a - b; }
u64 slt(u64 a, u64 b) { return static_cast<i64>(a) < static_cast<i64>(b); }
u64 sltu(u64 a, u64 b) { return a < b; }
u64 xor_(u64 a, u64 b) { return a ^ b; }
u64 or_(u64 a, u64 b) { return a | b; }
u64 and_(u64 a, u64 b) { return a & b; }
u64 sll(u64 a, u64 b) { return a << (b & 63); }
u64 srl(u64 a, u64 b) { return a >> (b & 63); }
u64 sra(u64 a, u64 b) { return static_cast<u64>(static_cast<i64>(a) >> (b & 63)); }
u64 addw(u64 a, u64 b) { return sext32(a + b); }
u64 subw(u64 a, u64 b) { return sext32(a - b); }
u64 sllw(u64 a, u64 b) { return sext32(a << (b & 31)); }
u64 srlw(u64 a, u64 b) { return sext32((a & 0xffff'ffff) >> (b & 31)); }
u64 sraw(u64 a, u64 b) { return static_cast<u64>(static_cast<i64>(static_cast<i32>(a) >> (b & 31))); }
u64 mul(u64 a, u64 b) { return a * b; }
u64 mulw(u64 a, u64 b) { return sext32(a * b); }
u64 mulh(u64 a, u64 b) { return static_cast<u64>((static_cast<__int128>(static_cast<i64>(a)) * static_cast<i64>(b)) >> 64); }
u64 mulhu(u64 a, u64 b) { return static_cast<u64>((static_cast<unsigned __int128>(a) * b) >> 64); }
u64 mulhsu(u64 a, u64 b) { return static_cast<u64>((static_cast<__int128>(static_cast<i64>(a)) * static_cast<__int128>(b)) >> 64); }
u64 div(u64 a, u64 b) {
  if (b == 0) return ~u64{0};
  if (b == ~u64{0}) return u64{0} - a;
  return static_cast<u64>(static_cast<i64>(a) / static_cast<i64>(b));
}
u64 divu(u64 a, u64 b) { return b ? a / b : ~u64{0}; }
u64 rem(u64 a, u64 b) {
  if (b == 0) return a;
  if (b == ~u64{0}) return 0;
  return static_cast<u64>(static_cast<i64>(a) % static_cast<i64>(b));
}
u64 remu(u64 a, u64 b) { return b ? a % b : a; }
u64 divw(u64 a, u64 b) { return sext32(div(sext32(a), sext32(b))); }
u64 divuw(u64 a, u64 b) { return (b & 0xffff'ffff) ? sext32((a & 0xffff'ffff) / (b & 0xffff'ffff)) : ~u64{0}; }
u64 remw(u64 a, u64 b) { return sext32(rem(sext32(a), sext32(b))); }
u64 remuw(u64 a, u64 b) { return sext32((b & 0xffff'ffff) ? (a & 0xffff'ffff) % (b & 0xffff'ffff) : a); }

template <bool (*F)(u64, u64)>
void branch(Core& c, const Insn& i) {
  if (F(c.x[i.rs1], c.x[i.rs2])) c.jump(c.pc + static_cast<u64>(static_cast<i64>(i.imm)));
}
bool eq(u64 a, u64 b) { return a == b; }
bool ne(u64 a, u64 b) { return a != b; }
bool lt(u64 a, u64 b) { return static_cast<i64>(a) < static_cast<i64>(b); }
bool ge(u64 a, u64 b) { return static_cast<i64>(a) >= static_cast<i64>(b); }
bool ltu(u64 a, u64 b) { return a < b; }
bool geu(u64 a, u64 b) { return a >= b; }

void jal(Core& c, const Insn& i) {
  c.write_x(i.rd, c.next_pc);
  c.jump(c.pc + static_cast<u64>(static_cast<i64>(i.imm)));
}
void jalr(Core& c, const Insn& i) {
  const u64 target = (c.x[i.rs1] + static_cast<u64>(static_cast<i64>(i.imm))) & ~u64{1};
  c.write_x(i.rd, c.next_pc);
  c.jump(target);
}
void lui(Core& c, const Insn& i) { c.write_x(i.rd, static_cast<u64>(static_cast<i64>(i.imm))); }
void auipc(Core& c, const Insn& i) { c.write_x(i.rd, c.pc + static_cast<u64>(static_cast<i64>(i.imm))); }

}  // namespace

void add_scalar_integer(HandlerTable& t) {
  t.set(Op::ADDI, immediate_form<add>), t.set(Op::SLTI, immediate_form<slt>), t.set(Op::SLTIU, immediate_form<sltu>);
  t.set(Op::XORI, immediate_form<xor_>), t.set(Op::ORI, immediate_form<or_>), t.set(Op::ANDI, immediate_form<and_>);
  t.set(Op::SLLI, immediate_form<sll>), t.set(Op::SRLI, immediate_form<srl>), t.set(Op::SRAI, immediate_form<sra>);
  t.set(Op::ADDIW, immediate_form<addw>), t.set(Op::SLLIW, immediate_form<sllw>), t.set(Op::SRLIW, immediate_form<srlw>),
      t.set(Op::SRAIW, immediate_form<sraw>);
  t.set(Op::ADD, register_form<add>), t.set(Op::SUB, register_form<sub>), t.set(Op::SLT, register_form<slt>),
      t.set(Op::SLTU, register_form<sltu>);
  t.set(Op::XOR, register_form<xor_>), t.set(Op::OR, register_form<or_>), t.set(Op::AND, register_form<and_>);
  t.set(Op::SLL, register_form<sll>), t.set(Op::SRL, register_form<srl>), t.set(Op::SRA, register_form<sra>);
  t.set(Op::ADDW, register_form<addw>), t.set(Op::SUBW, register_form<subw>), t.set(Op::SLLW, register_form<sllw>),
      t.set(Op::SRLW, register_form<srlw>), t.set(Op::SRAW, register_form<sraw>);
  t.set(Op::MUL, register_form<mul>), t.set(Op::MULW, register_form<mulw>), t.set(Op::MULH, register_form<mulh>),
      t.set(Op::MULHU, register_form<mulhu>), t.set(Op::MULHSU, register_form<mulhsu>);
  t.set(Op::DIV, register_form<div>), t.set(Op::DIVU, register_form<divu>), t.set(Op::DIVW, register_form<divw>),
      t.set(Op::DIVUW, register_form<divuw>);
  t.set(Op::REM, register_form<rem>), t.set(Op::REMU, register_form<remu>), t.set(Op::REMW, register_form<remw>),
      t.set(Op::REMUW, register_form<remuw>);
  t.set(Op::BEQ, branch<eq>), t.set(Op::BNE, branch<ne>), t.set(Op::BLT, branch<lt>), t.set(Op::BGE, branch<ge>),
      t.set(Op::BLTU, branch<ltu>), t.set(Op::BGEU, branch<geu>);
  t.set(Op::JAL, jal), t.set(Op::JALR, jalr), t.set(Op::LUI, lui), t.set(Op::AUIPC, auipc);
}

}  // namespace torchsim::iss
