// vsetvli, vsetivli, vsetvl.
#include "core.hpp"
#include "handlers.hpp"

namespace torchsim::iss {
namespace {

void set_from_register(Core& c, const Insn& i, u64 vtype) {
  if (i.rs1 != 0)
    c.vector.configure(vtype, c.x[i.rs1], false);
  else if (i.rd != 0)
    c.vector.configure(vtype, ~u64{0}, false);
  else
    c.vector.configure(vtype, 0, true);
  c.write_x(i.rd, c.vector.vl);
}

void vsetvli(Core& c, const Insn& i) { set_from_register(c, i, static_cast<u64>(i.imm)); }
void vsetvl(Core& c, const Insn& i) { set_from_register(c, i, c.x[i.rs2]); }
void vsetivli(Core& c, const Insn& i) {
  c.vector.configure(static_cast<u64>(i.imm), i.rs1, false);  // rs1's place holds the length
  c.write_x(i.rd, c.vector.vl);
}

}  // namespace

void add_vector_config(HandlerTable& t) {
  t.set(Op::VSETVLI, vsetvli);
  t.set(Op::VSETIVLI, vsetivli);
  t.set(Op::VSETVL, vsetvl);
}

}  // namespace torchsim::iss
