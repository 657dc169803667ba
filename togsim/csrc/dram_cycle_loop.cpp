#include "dram_cycle_loop.h"

#include <algorithm>

namespace togsim {
namespace {

constexpr Cycle kLongAgo = -(Cycle{1} << 40);

}  // namespace

CycleLoopDram::CycleLoopDram(const DramSpec& spec) : spec_(spec), distance_(spec.timing) {
  const auto banks = static_cast<size_t>(spec.total_banks());
  const auto pseudo_channels = static_cast<size_t>(spec.organization.pseudo_channels);
  open_row_.assign(banks, -1);
  for (std::vector<Cycle>& last : last_) last.assign(banks, kLongAgo);
  activates_.resize(pseudo_channels);
  refresh_pending_.assign(pseudo_channels, false);
  for (size_t p = 0; p < pseudo_channels; ++p) {
    refresh_due_.push_back(spec.policy.refresh ? spec.timing.REFI + static_cast<Cycle>(p) * spec.policy.refresh_stagger : kNever);
  }
}

void CycleLoopDram::push(const DramRequest& request, const DramPlace& place) {
  incoming_.push_back({request.arrival, place, request.transfer, request.write});
}

void CycleLoopDram::run_until(Cycle end, std::vector<DramCompletion>& done) {
  for (; now_ < end; ++now_) tick(done);
}

void CycleLoopDram::tick(std::vector<DramCompletion>& done) {
  ++stats_.steps;
  for (size_t p = 0; p < refresh_due_.size(); ++p) {
    if (now_ < refresh_due_[p]) continue;
    refresh_pending_[p] = true;
    refresh_due_[p] += spec_.timing.REFI;
  }
  accept(done);
  choose_mode();
  if (spec_.dual_command_bus) {
    if (const Candidate column = column_candidate(); column.found()) issue_column(column, done);
    if (refresh_command()) return;
    if (const Candidate row = row_candidate(); row.found()) issue_row(row);
    return;
  }
  if (refresh_command()) return;
  const Candidate column = column_candidate();
  const Candidate row = row_candidate();
  if (column.found() && !row_first(row, column)) {
    issue_column(column, done);
  } else if (row.found()) {
    issue_row(row);
  }
}

void CycleLoopDram::accept(std::vector<DramCompletion>& done) {
  for (int n = 0; n < spec_.policy.accepts_per_cycle && !incoming_.empty() && incoming_.front().arrival <= now_; ++n) {
    const Entry& head = incoming_.front();
    const auto size = static_cast<size_t>(head.write ? spec_.policy.write_queue : spec_.policy.read_queue);
    if (spec_.policy.write_forwarding && !head.write && queued_write(head)) {
      done.push_back({now_ + 1, head.transfer});
      ++stats_.reads;
      ++stats_.row_hits;
      ++stats_.forwarded;
    } else if (queue_[head.write].size() < size) {
      queue_[head.write].push_back(head);
    } else {
      return;  // the head of the line blocks what is behind it
    }
    incoming_.pop_front();
  }
}

void CycleLoopDram::choose_mode() {
  const auto reads = static_cast<int>(queue_[0].size());
  const auto writes = static_cast<int>(queue_[1].size());
  if (writing_) {
    if (reads > 0 && writes < spec_.policy.write_low_entries()) writing_ = false;
  } else if (writes > spec_.policy.write_high_entries() || (reads == 0 && writes > 0)) {
    writing_ = true;
  }
}

bool CycleLoopDram::refresh_command() {
  const auto n = static_cast<size_t>(spec_.banks_per_pseudo_channel());
  for (size_t p = 0; p < refresh_pending_.size(); ++p) {
    if (!refresh_pending_[p]) continue;
    bool open = false;
    bool may_close = true;
    bool may_refresh = true;
    for (size_t b = p * n; b < (p + 1) * n; ++b) {
      if (open_row_[b] >= 0) {
        open = true;
        may_close = may_close && legal(DramCommand::Pre, b);
      }
      may_refresh = may_refresh && legal(DramCommand::Refresh, b);
    }
    if (open ? !may_close : !may_refresh) continue;
    for (size_t b = p * n; b < (p + 1) * n; ++b) {
      if (!open) record(DramCommand::Refresh, b);
      if (open_row_[b] >= 0) record(DramCommand::Pre, b);
      open_row_[b] = -1;
    }
    if (!open) refresh_pending_[p] = false;
    ++(open ? stats_.precharges : stats_.refreshes);
    row_bus_free_ = now_ + 1;
    return true;
  }
  return false;
}

CycleLoopDram::Candidate CycleLoopDram::column_candidate() {
  for (std::vector<Entry>* from : {&active_, &queue_[writing_]}) {
    for (size_t i = 0; i < from->size(); ++i) {
      const Entry& e = (*from)[i];
      const DramCommand command = e.write ? DramCommand::Write : DramCommand::Read;
      if (open_for(e) && !blocked(e.place.bank) && legal(command, e.place.bank)) return {command, from, i};
    }
  }
  return {};
}

CycleLoopDram::Candidate CycleLoopDram::row_candidate() {
  for (size_t i = 0; i < active_.size(); ++i) {  // a refresh closed its row
    const size_t bank = active_[i].place.bank;
    if (open_row_[bank] < 0 && !blocked(bank) && legal(DramCommand::Act, bank)) return {DramCommand::Act, &active_, i};
  }
  std::vector<Entry>& queue = queue_[writing_];
  for (size_t i = 0; i < queue.size(); ++i) {
    const size_t bank = queue[i].place.bank;
    if (open_for(queue[i]) || blocked(bank) || has_active(bank)) continue;
    if (open_row_[bank] < 0) {
      if (legal(DramCommand::Act, bank)) return {DramCommand::Act, &queue, i};
    } else if (!(spec_.policy.protect_hits && has_hit(bank)) && legal(DramCommand::Pre, bank)) {
      return {DramCommand::Pre, &queue, i};
    }
  }
  return {};
}

// Single bus only. Entries of the active list are older than queued ones.
bool CycleLoopDram::row_first(const Candidate& row, const Candidate& column) const {
  if (!spec_.policy.bus_by_age || !row.found()) return false;
  const bool row_active = row.from == &active_;
  const bool column_active = column.from == &active_;
  return row_active != column_active ? row_active : row.index < column.index;
}

void CycleLoopDram::issue_column(const Candidate& c, std::vector<DramCompletion>& done) {
  const Entry e = (*c.from)[c.index];
  c.from->erase(c.from->begin() + static_cast<std::ptrdiff_t>(c.index));
  record(c.command, e.place.bank);
  const DramTiming& t = spec_.timing;
  const Cycle data = now_ + (e.write ? t.CWL : t.CL) + t.BL;
  done.push_back({e.write && !spec_.policy.write_done_data ? now_ : data, e.transfer});
  ++(e.write ? stats_.writes : stats_.reads);
  ++(e.outcome == Outcome::Hit ? stats_.row_hits : e.outcome == Outcome::Miss ? stats_.row_misses : stats_.row_conflicts);
  stats_.busy += t.BL;
}

void CycleLoopDram::issue_row(const Candidate& c) {
  Entry& e = (*c.from)[c.index];
  const size_t bank = e.place.bank;
  record(c.command, bank);
  if (c.command == DramCommand::Pre) {
    open_row_[bank] = -1;
    e.outcome = Outcome::Conflict;
    row_bus_free_ = now_ + 1;
    ++stats_.precharges;
    return;
  }
  open_row_[bank] = e.place.row;
  if (e.outcome == Outcome::Hit) e.outcome = Outcome::Miss;
  activates_[pseudo_channel(bank)].push_back(now_);
  row_bus_free_ = now_ + spec_.timing.ACT;
  ++stats_.activates;
  if (spec_.policy.active_list && c.from != &active_) {
    active_.push_back(e);
    c.from->erase(c.from->begin() + static_cast<std::ptrdiff_t>(c.index));
  }
}

bool CycleLoopDram::legal(DramCommand command, size_t bank) const {
  const bool row_command = command != DramCommand::Read && command != DramCommand::Write;
  if (row_command && now_ < row_bus_free_) return false;
  const size_t p = pseudo_channel(bank);
  if (command == DramCommand::Act) {
    const std::vector<Cycle>& past = activates_[p];
    if (past.size() >= 4 && now_ < past[past.size() - 4] + spec_.timing.FAW) return false;
  }
  const auto in_group = static_cast<size_t>(spec_.organization.banks);
  const auto n = static_cast<size_t>(spec_.banks_per_pseudo_channel());
  for (size_t first = 0; first < kDramCommands; ++first) {
    for (size_t b = p * n; b < (p + 1) * n; ++b) {
      const BankRelation relation = b == bank                         ? BankRelation::SameBank
                                    : b / in_group == bank / in_group ? BankRelation::SameGroup
                                                                      : BankRelation::SamePseudoChannel;
      if (now_ < last_[first][b] + distance_(static_cast<DramCommand>(first), command, relation)) return false;
    }
  }
  return true;
}

bool CycleLoopDram::blocked(size_t bank) const {
  if (!spec_.policy.block_channel) return refresh_pending_[pseudo_channel(bank)];
  return std::find(refresh_pending_.begin(), refresh_pending_.end(), true) != refresh_pending_.end();
}

bool CycleLoopDram::has_active(size_t bank) const {
  return std::any_of(active_.begin(), active_.end(), [&](const Entry& e) { return e.place.bank == bank; });
}

bool CycleLoopDram::has_hit(size_t bank) const {
  const std::vector<Entry>& queue = queue_[writing_];
  return std::any_of(queue.begin(), queue.end(), [&](const Entry& e) { return e.place.bank == bank && open_for(e); });
}

bool CycleLoopDram::queued_write(const Entry& read) const {
  const auto same = [&](const Entry& e) {
    return e.write && e.place.bank == read.place.bank && e.place.row == read.place.row && e.place.column == read.place.column;
  };
  return std::any_of(queue_[1].begin(), queue_[1].end(), same) || std::any_of(active_.begin(), active_.end(), same);
}

}  // namespace togsim
