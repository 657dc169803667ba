#include "dram_check.h"

#include <bit>

#include "error.h"
#include "text.h"

namespace togsim {
namespace {

constexpr int kMaxFigure = 1 << 20;  // cycles; keeps every distance far below what the event-driven channel's keys can hold

[[noreturn]] void bad(const std::string& what, std::string expected, std::string found, const std::string& key) {
  throw ConfigError(what, {std::move(expected), std::move(found), key, "correct the machine file"});
}

template <typename Values, typename Figures>
void replace(Values& values, const Figures& figures, const std::map<std::string, int64_t>& given, const std::string& key, int least) {
  for (const auto& [name, value] : given) {
    std::string known;
    bool found = false;
    for (const auto& [figure, member] : figures) {
      known += (known.empty() ? "" : ", ") + std::string(figure);
      if (name != figure) continue;
      if (value < least || value > kMaxFigure)
        bad(join(key, ": ", name, " out of range"), join("an integer from ", least, " to ", kMaxFigure), join(value), key);
      values.*member = static_cast<int>(value);
      found = true;
    }
    if (!found) bad(join(key, " has no ", name), "one of " + known, name, key);
  }
}

void range(int value, int least, int most, const char* key) {
  if (value < least || value > most) bad(join(key, " out of range"), join("an integer from ", least, " to ", most), join(value), key);
}

void check_organization(const DramOrganization& o) {
  const char* key = "dram_organization";
  const auto power = [&](int value, const char* name) {
    if (value < 1 || !std::has_single_bit(static_cast<unsigned>(value)))
      bad(join(key, ": ", name, " must be a power of two"), "a power of two", join(value), key);
  };
  power(o.pseudo_channels, "pseudo_channels");
  power(o.bank_groups, "bank_groups");
  power(o.banks, "banks");
  power(o.transaction_bytes, "transaction_bytes");
  range(o.pseudo_channels, 1, 2, "dram_organization: pseudo_channels");
  range(o.row_bits, 1, 31, "dram_organization: row_bits");
  range(o.column_bits, 2, 16, "dram_organization: column_bits");
  const int64_t banks = int64_t{o.pseudo_channels} * o.bank_groups * o.banks;
  if (banks > kMaxBanks) bad("too many banks in a channel", join("at most ", kMaxBanks), join(banks), key);
}

void check_timing(const DramSpec& s) {
  const DramTiming& t = s.timing;
  const auto at_least = [&](int left, int right, const char* rule) {
    if (left < right) bad(join(s.name, " timing contradicts itself"), rule, join(left, " < ", right), "dram_timing_cycles");
  };
  for (const auto& [name, member] : kTimingFigures) at_least(t.*member, member == &DramTiming::TURN ? 0 : 1, name);
  at_least(t.RAS, t.RCDRD, "RAS >= RCDRD");
  at_least(t.RAS, t.RCDWR, "RAS >= RCDWR");
  at_least(t.RC, t.RAS + t.RP, "RC >= RAS + RP");
  at_least(t.RC, t.RRDL, "RC >= RRDL");
  at_least(t.CCDS, t.BL, "CCDS >= BL");
  at_least(t.CCDL, t.CCDS, "CCDL >= CCDS");
  at_least(t.RRDS, t.ACT, "RRDS >= ACT");
  at_least(t.RRDL, t.RRDS, "RRDL >= RRDS");
  at_least(t.WTRL, t.WTRS, "WTRL >= WTRS");
  at_least(t.FAW, t.RRDS, "FAW >= RRDS");
  at_least(t.RP, t.ACT, "RP >= ACT");
  at_least(t.RFC, t.RP + t.ACT, "RFC >= RP + ACT");
  at_least(t.CL + t.BL + t.TURN - t.CWL, 1, "CL + BL + TURN > CWL");
  if (!s.dual_command_bus && t.ACT > 1)
    bad("an ACT of several cycles needs a dual command bus", "ACT = 1", join(t.ACT), "dram_command_bus");
  if (!s.policy.refresh) return;
  // A bank must get through a whole row cycle between two refreshes, or nothing is ever served.
  const int cycle = t.ACT + std::max(t.RAS, t.RCDWR + t.CWL + t.BL + t.WR) + t.RP;
  const int blocks = s.policy.block_channel ? s.organization.pseudo_channels : 1;
  at_least(t.REFI, blocks * (t.RFC + cycle) + cycle,
           "REFI >= RFC + two row cycles (for each pseudo-channel if a refresh blocks the channel)");
  range(s.policy.refresh_stagger * (s.organization.pseudo_channels - 1), 0, t.REFI - 1, "dram_refresh_stagger_cycles");
}

void check_policy(const DramPolicy& p) {
  range(p.read_queue, 1, kMaxQueueEntries, "dram_read_queue_entries");
  range(p.write_queue, 1, kMaxQueueEntries, "dram_write_queue_entries");
  range(p.write_high_percent, 0, 100, "dram_write_high_percent");
  range(p.write_low_percent, 0, p.write_high_percent, "dram_write_low_percent");
  range(p.accepts_per_cycle, 1, 64, "dram_accepts_per_cycle");
  range(p.refresh_stagger, 0, kMaxFigure, "dram_refresh_stagger_cycles");
}

}  // namespace

DramSpec dram_spec(const Config& config) {
  DramSpec spec = dram_preset(config.dram_type);
  replace(spec.timing, kTimingFigures, config.dram_timing, "dram_timing_cycles", 0);
  replace(spec.organization, kOrganizationFigures, config.dram_organization, "dram_organization", 1);
  if (!config.dram_command_bus.empty()) spec.dual_command_bus = config.dram_command_bus == "dual";
  spec.policy = config.dram_policy;
  check_policy(spec.policy);
  check_organization(spec.organization);
  check_timing(spec);
  if (config.request_bytes != spec.organization.transaction_bytes) {
    bad("dram_req_size_byte is not the transaction size of the DRAM", join(spec.organization.transaction_bytes, " for ", spec.name),
        join(config.request_bytes), "dram_req_size_byte");
  }
  // Faults come after the checks: they may break what no machine may.
  for (const auto& [name, delta] : config.dram_timing_fault) {
    int DramTiming::* figure = nullptr;
    for (const auto& [known, member] : kTimingFigures) {
      if (name == known) figure = member;
    }
    if (figure == nullptr) bad("unknown fault", "the name of a DRAM timing figure", name, "faults");
    spec.timing.*figure += static_cast<int>(delta);
  }
  return spec;
}

}  // namespace togsim
