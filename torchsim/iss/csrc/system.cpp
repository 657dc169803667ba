// Fences, ecall, ebreak, control and status registers.
#include <cinttypes>

#include "core.hpp"
#include "handlers.hpp"

namespace torchsim::iss {
namespace {

void nothing(Core&, const Insn&) {}
void ecall(Core&, const Insn&) { raise(Cause::ecall, "there is no environment to call"); }
void ebreak(Core& c, const Insn&) {
  if (!c.at_return_address()) raise(Cause::illegal_instruction, "ebreak elsewhere than at the return address");
  c.halted = true;
}

enum CsrNumber : u32 {
  fflags = 0x001,
  frm = 0x002,
  fcsr = 0x003,
  vstart = 0x008,
  vxsat = 0x009,
  vxrm = 0x00a,
  vcsr = 0x00f,
  vl = 0xc20,
  vtype = 0xc21,
  vlenb = 0xc22,
  cycle = 0xc00,
  time = 0xc01,
  instret = 0xc02
};

u64 read_csr(const Core& c, u32 number) {
  if ((number == fflags || number == fcsr || number == vxsat || number == vcsr) && !c.accruing())
    raise(Cause::illegal_instruction, "csr 0x%x read by code that the kernel itself has stored: its flags were not kept", number);
  switch (number) {
    case fflags:
      return c.fflags;
    case frm:
      return c.frm;
    case fcsr:
      return static_cast<u64>(c.fflags | c.frm << 5);
    case vstart:
      return 0;
    case vxsat:
      return c.vxsat;
    case vxrm:
      return c.vector.vxrm;
    case vcsr:
      return static_cast<u64>(c.vxsat | c.vector.vxrm << 1);
    case vl:
      return c.vector.vl;
    case vtype:
      return c.vector.vtype;
    case vlenb:
      return kVlenBytes;
    case instret:
      return c.instructions;
    default:
      raise(Cause::illegal_instruction, "there is no csr 0x%x", number);
  }
}

void write_csr(Core& c, u32 number, u64 value) {
  switch (number) {
    case fflags:
      c.fflags = value & 0x1f;
      return;
    case frm:
      c.frm = value & 7;
      return;
    case fcsr:
      c.fflags = value & 0x1f, c.frm = (value >> 5) & 7;
      return;
    case vstart:
      if (value != 0) raise(Cause::illegal_instruction, "vstart %" PRIu64 ": vector instructions start at element 0 here", value);
      return;
    case vxsat:
      c.vxsat = value & 1;
      return;
    case vxrm:
      c.vector.vxrm = value & 3;
      return;
    case vcsr:
      c.vxsat = value & 1, c.vector.vxrm = (value >> 1) & 3;
      return;
    default:
      raise(Cause::illegal_instruction, "csr 0x%x is read-only or does not exist", number);
  }
}

enum class CsrOp : u8 { write, set, clear };

template <bool Immediate>
void csr(Core& c, const Insn& i) {
  const u32 number = static_cast<u32>(i.imm);
  const auto op = static_cast<CsrOp>(i.sub);
  const u64 operand = Immediate ? i.rs1 : c.x[i.rs1];
  const u64 old = op == CsrOp::write && i.rd == 0 ? 0 : read_csr(c, number);
  if (op == CsrOp::write)
    write_csr(c, number, operand);
  else if (i.rs1 != 0)
    write_csr(c, number, op == CsrOp::set ? old | operand : old & ~operand);
  c.write_x(i.rd, old);
}

}  // namespace

void add_system(HandlerTable& t) {
  t.set(Op::FENCE, nothing), t.set(Op::FENCE_I, nothing);  // memory is sequentially consistent, and fetches see stores
  t.set(Op::ECALL, ecall), t.set(Op::EBREAK, ebreak);
  t.set(Op::CSRRW, csr<false>, CsrOp::write), t.set(Op::CSRRS, csr<false>, CsrOp::set), t.set(Op::CSRRC, csr<false>, CsrOp::clear);
  t.set(Op::CSRRWI, csr<true>, CsrOp::write), t.set(Op::CSRRSI, csr<true>, CsrOp::set), t.set(Op::CSRRCI, csr<true>, CsrOp::clear);
}

}  // namespace torchsim::iss
