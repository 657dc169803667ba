#include "dram_channel.h"

#include <algorithm>
#include <bit>

#include "error.h"
#include "simple_channel.h"

namespace togsim {
namespace {

void raise(Cycle& limit, Cycle to) { limit = std::max(limit, to); }

}  // namespace

DramChannel::DramChannel(const DramSpec& spec, const DramMap& map)
    : spec_(spec),
      map_(map),
      banks_(static_cast<size_t>(spec.total_banks())),
      pseudo_(static_cast<size_t>(spec.pseudo_channels)),
      pseudo_shift_(static_cast<uint32_t>(std::countr_zero(static_cast<unsigned>(spec.banks_per_pseudo_channel())))),
      group_shift_(static_cast<uint32_t>(std::countr_zero(static_cast<unsigned>(spec.banks)))) {
  open_row_.fill(-1);
  for (PseudoChannel& p : pseudo_) {
    p.refresh_due = spec_.timing.REFI;
    p.activates.fill(-spec_.timing.FAW);
  }
}

void DramChannel::push(const DramRequest& request) {
  const DramPlace place = map_.place(request.granule);
  incoming_.push_back({request.arrival, place.row, request.transfer, place.column, place.bank, request.write});
}

void DramChannel::run_until(Cycle end, bool every_cycle, std::vector<DramCompletion>& done) {
  if (every_cycle) {
    for (; now_ < end; ++now_) step(now_, done);
    return;
  }
  for (;;) {
    const Cycle t = next_event(now_);
    if (t >= end) break;
    step(t, done);
    now_ = t + 1;
  }
  now_ = std::max(now_, end);
}

Cycle DramChannel::next_event(Cycle t) {
  Cycle next = kNever;
  for (size_t p = 0; p < pseudo_.size(); ++p) {
    next = std::min(next, pseudo_[p].refresh_pending ? refresh_ready(p) : pseudo_[p].refresh_due);
  }
  if (!incoming_.empty()) {
    const Entry& head = incoming_.front();
    if (room(head) || forwardable(head)) next = std::min(next, std::max(head.arrival, last_accept_ + 1));
  }
  if (wants_switch()) return t;
  if (stale_) choose(t, t);
  return std::max(t, std::min({next, column_.when, row_.when}));
}

void DramChannel::step(Cycle t, std::vector<DramCompletion>& done) {
  mark_refresh(t);
  accept(t, done);
  if (wants_switch()) {
    writing_ = !writing_;
    stale_ = true;
  }
  if (stale_) choose(t, t);
  if (spec_.dual_command_bus) {
    if (column_.when <= t) issue_column(t, done);
    if (refresh_command(t)) return;
    if (stale_) choose(t + 1, t);
    if (row_.when <= t) issue_row(t);
  } else if (!refresh_command(t)) {
    if (column_.when <= t) {
      issue_column(t, done);
    } else if (row_.when <= t) {
      issue_row(t);
    }
  }
}

void DramChannel::mark_refresh(Cycle t) {
  for (PseudoChannel& p : pseudo_) {
    if (t < p.refresh_due) continue;
    p.refresh_pending = true;
    p.refresh_due += spec_.timing.REFI;
    set_blocked();
  }
}

void DramChannel::set_blocked() {
  const auto n = static_cast<size_t>(spec_.banks_per_pseudo_channel());
  blocked_ = 0;
  for (size_t b = 0; b < banks_.size(); ++b) {
    if (pseudo_[b / n].refresh_pending) blocked_ |= bit(b);
  }
  stale_ = true;
}

bool DramChannel::forwardable(const Entry& read) const {
  if (read.write) return false;
  const auto same = [&](const Entry& e) { return e.write && e.bank == read.bank && e.row == read.row && e.column == read.column; };
  return std::any_of(queue_[1].begin(), queue_[1].end(), same) || std::any_of(active_.begin(), active_.end(), same);
}

void DramChannel::accept(Cycle t, std::vector<DramCompletion>& done) {
  if (incoming_.empty() || incoming_.front().arrival > t || last_accept_ >= t) return;
  const Entry& head = incoming_.front();
  if (forwardable(head)) {
    done.push_back({t + 1, head.transfer});
    ++stats_.reads;
    ++stats_.row_hits;
    ++stats_.forwarded;
  } else if (room(head)) {
    queue_[head.write].push_back(head);
    if (head.write == writing_ && !stale_) consider_new(head, t);
  } else {
    return;  // the head of the line blocks what is behind it
  }
  incoming_.pop_front();
  last_accept_ = t;
}

bool DramChannel::wants_switch() const {
  const auto reads = static_cast<int>(queue_[0].size());
  const auto writes = static_cast<int>(queue_[1].size());
  if (writing_) return reads > 0 && writes < spec_.write_low;
  return writes >= spec_.write_high || (reads == 0 && writes > 0);
}

// Fill column_ and row_ for commands from the given cycles on. Rows with a pending hit in the current queue, or with an
// activated request, are not closed; the activated ones come first; a pseudo-channel that is due for refresh gets no new
// command. Requests of one bank become ready together, so only the oldest hit and the oldest miss of a bank matter.
void DramChannel::choose(Cycle column_from, Cycle row_from) {
  column_ = {};
  row_ = {};
  stale_ = false;
  keep_ = 0;
  const auto better = [](Choice& best, Cycle when, size_t index, bool active) {
    if (when < best.when) best = {when, static_cast<int32_t>(index), active};
  };
  const Cycle row_start = std::max(row_from, row_bus_);
  for (size_t i = 0; i < active_.size(); ++i) {
    const Entry& e = active_[i];
    keep_ |= bit(e.bank);
    if (blocked_ & bit(e.bank)) continue;
    if (hits(e)) {
      better(column_, std::max(column_from, banks_[e.bank].column[e.write]), i, true);
    } else {  // a refresh closed its row
      better(row_, std::max(row_start, banks_[e.bank].act), i, true);
    }
  }
  const std::vector<Entry>& queue = queue_[writing_];
  uint64_t hit = 0;
  uint64_t miss = 0;
  std::array<uint8_t, kMaxBanks> oldest_miss;
  for (size_t i = 0; i < queue.size(); ++i) {
    const Entry& e = queue[i];
    uint64_t& seen = hits(e) ? hit : miss;
    if (seen & bit(e.bank)) continue;
    seen |= bit(e.bank);
    if (&seen == &miss) {
      oldest_miss[e.bank] = static_cast<uint8_t>(i);
    } else if (!(blocked_ & bit(e.bank))) {
      better(column_, std::max(column_from, banks_[e.bank].column[writing_]), i, false);
    }
  }
  keep_ |= hit;
  Choice row;
  for (uint64_t left = miss & ~blocked_ & ~keep_; left != 0; left &= left - 1) {
    const auto b = static_cast<size_t>(std::countr_zero(left));
    const Cycle when = std::max(row_start, open_row_[b] < 0 ? banks_[b].act : banks_[b].precharge);
    if (when < row.when || (when == row.when && oldest_miss[b] < row.index)) row = {when, oldest_miss[b], false};
  }
  if (row.when < row_.when) row_ = row;
}

// The youngest request of the current queue joins choices that are otherwise up to date; it loses every tie.
void DramChannel::consider_new(const Entry& e, Cycle t) {
  const auto index = static_cast<int32_t>(queue_[writing_].size()) - 1;
  if (hits(e)) {
    if (!(keep_ & bit(e.bank))) stale_ = true;  // a precharge of this bank may have been chosen
    keep_ |= bit(e.bank);
    const Cycle when = std::max(t, banks_[e.bank].column[writing_]);
    if (!(blocked_ & bit(e.bank)) && when < column_.when) column_ = {when, index, false};
  } else if (!((blocked_ | keep_) & bit(e.bank))) {
    const Cycle when = std::max({t, row_bus_, open_row_[e.bank] < 0 ? banks_[e.bank].act : banks_[e.bank].precharge});
    if (when < row_.when) row_ = {when, index, false};
  }
}

Cycle DramChannel::refresh_ready(size_t pseudo_channel) const {
  const auto n = static_cast<size_t>(spec_.banks_per_pseudo_channel());
  Cycle precharged = row_bus_;
  Cycle refreshed = row_bus_;
  bool open = false;
  for (size_t b = pseudo_channel * n; b < (pseudo_channel + 1) * n; ++b) {
    if (open_row_[b] >= 0) {
      open = true;
      raise(precharged, banks_[b].precharge);
    }
    raise(refreshed, banks_[b].refresh);
  }
  return open ? precharged : refreshed;
}

bool DramChannel::refresh_command(Cycle t) {
  const auto n = static_cast<size_t>(spec_.banks_per_pseudo_channel());
  for (size_t p = 0; p < pseudo_.size(); ++p) {
    if (!pseudo_[p].refresh_pending || refresh_ready(p) > t) continue;
    bool closed = false;
    for (size_t b = p * n; b < (p + 1) * n; ++b) {
      if (open_row_[b] < 0) continue;
      precharge(t, b);
      closed = true;
    }
    if (!closed) {
      each_bank(p * n, n, [&](Bank& b) { raise(b.act, t + spec_.timing.RFC - (spec_.act_command_cycles - 1)); });
      pseudo_[p].refresh_pending = false;
      set_blocked();
      ++stats_.refreshes;
    }
    row_bus_ = t + 1;
    stale_ = true;
    return true;
  }
  return false;
}

void DramChannel::issue_column(Cycle t, std::vector<DramCompletion>& done) {
  std::vector<Entry>& from = column_.active ? active_ : queue_[writing_];
  const Entry e = from[static_cast<size_t>(column_.index)];
  from.erase(from.begin() + column_.index);
  stale_ = true;
  const DramTiming& d = spec_.timing;
  const auto n = static_cast<size_t>(spec_.banks_per_pseudo_channel());
  const size_t pc = pseudo_channel_of(e.bank);
  const size_t group = group_of(e.bank);
  const int turn = e.write ? d.CWL + d.BL : 0;
  const Cycle same = t + d.CCDS;
  const Cycle same_group = t + d.CCDL;
  const Cycle other = t + (e.write ? turn + d.WTRS : d.CL + d.BL + 2 - d.CWL);
  const Cycle other_group = t + (e.write ? turn + d.WTRL : d.CL + d.BL + 2 - d.CWL);
  each_bank(pc * n, n, [&](Bank& b) {
    raise(b.column[e.write], same);
    raise(b.column[!e.write], other);
  });
  each_bank(group * static_cast<size_t>(spec_.banks), static_cast<size_t>(spec_.banks), [&](Bank& b) {
    raise(b.column[e.write], same_group);
    raise(b.column[!e.write], other_group);
  });
  raise(banks_[e.bank].precharge, t + (e.write ? turn + d.WR : d.RTP));
  done.push_back({e.write ? t : t + d.CL + d.BL, e.transfer});
  ++(e.write ? stats_.writes : stats_.reads);
  ++(e.outcome == Outcome::Hit ? stats_.row_hits : e.outcome == Outcome::Miss ? stats_.row_misses : stats_.row_conflicts);
  stats_.busy += d.BL;
}

void DramChannel::issue_row(Cycle t) {
  std::vector<Entry>& from = row_.active ? active_ : queue_[writing_];
  Entry& e = from[static_cast<size_t>(row_.index)];
  if (open_row_[e.bank] >= 0) {
    precharge(t, e.bank);
    row_bus_ = t + 1;
    e.outcome = Outcome::Conflict;
  } else {
    activate(t, e.bank, e.row);
    if (e.outcome == Outcome::Hit) e.outcome = Outcome::Miss;
    if (!row_.active) {
      active_.push_back(e);
      from.erase(from.begin() + row_.index);
    }
  }
  stale_ = true;
}

void DramChannel::activate(Cycle t, size_t bank, uint32_t row) {
  const DramTiming& d = spec_.timing;
  const int late = spec_.act_command_cycles - 1;  // the command acts in its last cycle
  const auto n = static_cast<size_t>(spec_.banks_per_pseudo_channel());
  const size_t pc = pseudo_channel_of(bank);
  PseudoChannel& p = pseudo_[pc];
  p.activates[p.next_activate] = t;
  p.next_activate = (p.next_activate + 1) % 4;
  const Cycle fourth = p.activates[p.next_activate] + d.FAW;
  each_bank(pc * n, n, [&](Bank& b) { raise(b.act, std::max<Cycle>(t + d.RRDS, fourth)); });
  const size_t group = group_of(bank);
  each_bank(group * static_cast<size_t>(spec_.banks), static_cast<size_t>(spec_.banks), [&](Bank& b) { raise(b.act, t + d.RRDL); });
  Bank& b = banks_[bank];
  open_row_[bank] = row;
  raise(b.act, t + d.RC);
  raise(b.precharge, t + d.RAS + late);
  raise(b.refresh, t + d.RC + late);
  raise(b.column[0], t + d.RCDRD + late);
  raise(b.column[1], t + d.RCDWR + late);
  row_bus_ = t + spec_.act_command_cycles;
}

void DramChannel::precharge(Cycle t, size_t bank) {
  Bank& b = banks_[bank];
  open_row_[bank] = -1;
  raise(b.act, t + spec_.timing.RP - (spec_.act_command_cycles - 1));
  raise(b.refresh, t + spec_.timing.RP);
}

std::unique_ptr<Channel> make_channel(const Config& config) {
  if (config.dram_type == "simple") return std::make_unique<SimpleChannel>(config.dram_latency);
  const DramSpec spec = dram_spec(config.dram_type);
  if (config.request_bytes != spec.transaction_bytes) {
    throw ConfigError("dram_req_size_byte is not the transaction size of the DRAM",
                      {std::to_string(spec.transaction_bytes) + " for " + spec.name, std::to_string(config.request_bytes),
                       "dram_req_size_byte", "correct the machine file"});
  }
  return std::make_unique<DramChannel>(spec, DramMap(spec, config.dram_mapper));
}

}  // namespace togsim
