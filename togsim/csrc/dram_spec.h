// DRAM devices as data: organisation, timing in DRAM cycles, controller policy. Sources in docs/togsim.md.
#ifndef TOGSIM_DRAM_SPEC_H
#define TOGSIM_DRAM_SPEC_H

#include <array>
#include <cstdint>
#include <string>

namespace togsim {

// JEDEC names without the leading t, in DRAM command cycles.
struct DramTiming {
  int CL, CWL, BL, RCDRD, RCDWR, RP, RAS, RC, WR, RTP, CCDS, CCDL, RRDS, RRDL, WTRS, WTRL, FAW, RFC, REFI;
};

struct DramSpec {
  std::string name;
  int pseudo_channels;  // per channel; they share the command bus and nothing else
  int bank_groups;      // per pseudo-channel
  int banks;            // per bank group
  int row_bits;
  int column_bits;  // columns are transactions
  int transaction_bytes;
  int act_command_cycles;  // an ACT occupies the row bus this long and acts in its last cycle
  bool dual_command_bus;   // a row and a column command in the same cycle
  DramTiming timing;

  int queue_size = 32;  // entries, read and write queue each
  int write_high = 26;  // switch to writes at this many queued writes (more than 0.8 of the queue)
  int write_low = 7;    // back to reads below this many (0.2 of the queue)

  int banks_per_pseudo_channel() const { return bank_groups * banks; }
  int total_banks() const { return pseudo_channels * bank_groups * banks; }
};

inline constexpr int kMaxBanks = 64;

// "hbm2" or "ddr4". Throws ConfigError for another name.
DramSpec dram_spec(const std::string& name);

}  // namespace togsim
#endif
