#include "core.hpp"

#include <cinttypes>

#include "accrual.hpp"

namespace torchsim::iss {
Core::Core(unsigned lane_count, std::size_t spad_bytes_per_lane, unsigned sa_queue_rows, const PipeConfig& pipe, const KernelTable& table)
    : lanes(lane_count),
      memory(spad_bytes_per_lane, lane_count),
      vector(lane_count, table),
      array(lane_count, sa_queue_rows, table),
      dma(memory, lane_count),
      floats(table),
      scoreboard_(pipe, lane_count) {}

void Core::start(std::span<const u8> image, u64 base, u64 entry, u64 return_address, std::span<const u64> arguments,
                 std::vector<Window> windows, const RunOptions& run_options) {
  options = run_options;
  memory.reset(image, base, options.spad_fill, options.check_uninitialised);
  const bool accruing = options.accrue || observes_flags(image);
  if (accruing != accruing_) decoded_.clear();  // the decoded instructions hold other handlers
  accruing_ = accruing;
  decoded_.resize(image.size() / 2 / kPage + 1);  // entries of earlier images stay: fetch() compares their words
  vector.reset();
  array.reset();
  dma.reset(std::move(windows), options.late, options.fill_transfers);
  log.reset(options.log, options.footprint);
  notes_ = options.check_uninitialised || options.footprint;
  x = {};
  f = {};
  x[1] = return_address;
  x[2] = kStackBase + kStackBytes;
  const std::size_t in_registers = std::min<std::size_t>(arguments.size(), 8);
  std::copy_n(arguments.begin(), in_registers, x.begin() + 10);
  const auto on_stack = arguments.subspan(in_registers, std::min<std::size_t>(arguments.size() - in_registers, kStackBytes / 16));
  x[2] -= (on_stack.size() * 8 + 15) / 16 * 16;
  if (!on_stack.empty()) memory.stack().mark_dirty(x[2] - kStackBase, on_stack.size() * 8);
  for (std::size_t i = 0; i < on_stack.size(); ++i) std::fill_n(memory.stack().plane((x[2] - kStackBase) / 8 + i), lanes, on_stack[i]);
  pc = entry;
  return_address_ = return_address;
  frm = fflags = vxsat = 0;
  instructions = work = 0;
  halted = in_block_ = false;
  reservation.reset();
}

/// Decode, and choose the handler that this run needs.
Insn Core::prepare(u32 fetched) const {
  Insn insn = decode(fetched);
  if (fault) [[unlikely]] {
    insn = with_fault(*fault, fetched, insn);
    if (insn.handler == run_faulty) return insn;
  }
  if (accruing_ && accrues(insn.op)) insn.handler = run_accruing;
  return insn;
}

[[gnu::always_inline]] inline const Insn& Core::fetch() {
  const u64 offset = pc - memory.base();
  if (pc & 1) raise(Cause::misaligned_access, "instruction fetch at an odd address");
  if (offset >= memory.size() || memory.size() - offset < 2) raise(Cause::image_out_of_range, "instruction fetch outside the image");
  u32 fetched;
  std::memcpy(&fetched, memory.image() + offset, 4);
  std::unique_ptr<Page>& page = decoded_[offset / 2 / kPage];
  if (!page) [[unlikely]]
    page = std::make_unique<Page>();
  Insn& insn = (*page)[offset / 2 % kPage];
  if (insn.fetched != fetched || !insn.handler) [[unlikely]]
    insn = prepare(fetched);
  if (insn.size > memory.size() - offset) raise(Cause::image_out_of_range, "the instruction crosses the end of the image");
  return insn;
}

[[gnu::always_inline]] inline void Core::step() {
  const Insn& insn = fetch();
  if (work >= options.instruction_limit) raise(Cause::instruction_limit, "more than %" PRIu64 " instructions", options.instruction_limit);
  next_pc = pc + insn.size;
  taken = false;
  const bool timed = in_block_ && options.record_cycles;
  // a vset's own cost does not depend on the new state; all others use the state they execute under
  const VectorShape shape{vector.vl, vector.sew, vector.lmul};
  insn.handler(*this, insn);
  if (halted) return;  // the closing ebreak is not the kernel's
  ++instructions;
  ++work;
  ++log.counts[static_cast<unsigned>(insn.kind)];
  if (timed && in_block_ && insn.cost != Cost::BLOCK) {
    scoreboard_.issue(insn, shape, taken, array_rows);
    ++block_instructions_;
  }
  pc = next_pc;
}

std::optional<Stop> Core::run() {
  try {
    while (!halted) step();
    if (in_block_) raise(Cause::block_nesting, "the kernel returned inside block %" PRIu64, block_id_);
    dma.finish();
  } catch (const Trap& trap) {
    return Stop{trap.cause, pc, trap.detail};
  }
  return std::nullopt;
}

std::optional<Stop> Core::run_one() {
  try {
    if (!halted) step();
    if (halted && in_block_) raise(Cause::block_nesting, "the kernel returned inside block %" PRIu64, block_id_);
    if (halted) dma.finish();
  } catch (const Trap& trap) {
    return Stop{trap.cause, pc, trap.detail};
  }
  return std::nullopt;
}

void Core::begin_block(u64 id) {
  if (in_block_) raise(Cause::block_nesting, "block %" PRIu64 " begins inside block %" PRIu64, id, block_id_);
  in_block_ = true;
  block_id_ = id;
  block_instructions_ = 0;
  scoreboard_.begin(array.results());
  log.reads.clear();
  log.writes.clear();
  if (options.log) {
    Event event;
    event.kind = EventKind::block_begin;
    event.pc = pc;
    event.id = id;
    log.events.push_back(std::move(event));
  }
}

void Core::end_block(u64 id) {
  if (!in_block_ || id != block_id_)
    raise(Cause::block_nesting, "end of block %" PRIu64 " %s", id, in_block_ ? "inside another block" : "outside a block");
  in_block_ = false;
  const u64 cycles = options.record_cycles ? scoreboard_.drain() : 0;
  BlockSummary& summary = log.block_summary[id];
  ++summary.executions;
  summary.lowest = std::min(summary.lowest, cycles);
  summary.highest = std::max(summary.highest, cycles);
  if (options.log) {
    log.blocks.push_back({id, cycles, block_instructions_});
    Event event;
    event.kind = EventKind::block_end;
    event.pc = pc;
    event.id = id;
    event.count = cycles;
    event.reads = log.reads;
    event.writes = log.writes;
    log.events.push_back(std::move(event));
  }
}

void Core::require_outside_block(const char* what) const {
  if (in_block_) raise(Cause::transfer_inside_block, "%s inside block %" PRIu64, what, block_id_);
}

void Core::transfer(unsigned slot, bool store, u64 dram, u64 spad) {
  require_outside_block(store ? "MVOUT" : "MVIN");
  Transfer t;
  t.slot = static_cast<u8>(slot);
  t.store = store;
  t.dram = dram;
  t.spad = spad;
  t.pc = pc;
  work += dma.issue(t) / 64;
  if (!options.log) return;
  Event event;
  event.kind = store ? EventKind::store : EventKind::load;
  event.pc = pc;
  if (options.footprint) (store ? event.reads : event.writes) = dma.footprint(t);
  event.transfer = std::move(t);
  log.events.push_back(std::move(event));
}

void Core::wait(u64 slot, u64 count) {
  require_outside_block("WAIT");
  dma.wait(slot, count);
  if (!options.log) return;
  Event event;
  event.kind = EventKind::wait;
  event.pc = pc;
  event.id = slot;
  event.count = count;
  log.events.push_back(std::move(event));
}

Rounding Core::rounding(unsigned rm) const {
  const unsigned mode = rm == 7 ? frm : rm;
  if (mode > 4) raise(Cause::illegal_instruction, "reserved rounding mode %u", mode);
  return static_cast<Rounding>(mode);
}

}  // namespace torchsim::iss
