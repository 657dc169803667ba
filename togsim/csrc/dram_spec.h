// DRAM devices as data: organisation, timing in DRAM cycles, controller policy. Sources in docs/timing-model.md.
#ifndef TOGSIM_DRAM_SPEC_H
#define TOGSIM_DRAM_SPEC_H

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace togsim {

// JEDEC names without the leading t, in DRAM command cycles.
struct DramTiming {
  int CL, CWL, BL, RCDRD, RCDWR, RP, RAS, RC, WR, RTP, CCDS, CCDL, RRDS, RRDL, WTRS, WTRL, FAW, RFC, REFI;
  int ACT = 1;   // an ACT occupies the row bus this long and acts in its last cycle
  int TURN = 2;  // idle data bus between read data and write data
};

inline constexpr std::array<std::pair<const char*, int DramTiming::*>, 21> kTimingFigures{{
    {"CL", &DramTiming::CL},       {"CWL", &DramTiming::CWL},   {"BL", &DramTiming::BL},     {"RCDRD", &DramTiming::RCDRD},
    {"RCDWR", &DramTiming::RCDWR}, {"RP", &DramTiming::RP},     {"RAS", &DramTiming::RAS},   {"RC", &DramTiming::RC},
    {"WR", &DramTiming::WR},       {"RTP", &DramTiming::RTP},   {"CCDS", &DramTiming::CCDS}, {"CCDL", &DramTiming::CCDL},
    {"RRDS", &DramTiming::RRDS},   {"RRDL", &DramTiming::RRDL}, {"WTRS", &DramTiming::WTRS}, {"WTRL", &DramTiming::WTRL},
    {"FAW", &DramTiming::FAW},     {"RFC", &DramTiming::RFC},   {"REFI", &DramTiming::REFI}, {"ACT", &DramTiming::ACT},
    {"TURN", &DramTiming::TURN},
}};

struct DramOrganization {
  int pseudo_channels;  // per channel; they share the command bus and nothing else
  int bank_groups;      // per pseudo-channel
  int banks;            // per bank group
  int row_bits;
  int column_bits;  // columns are transactions
  int transaction_bytes;
};

inline constexpr std::array<std::pair<const char*, int DramOrganization::*>, 6> kOrganizationFigures{{
    {"pseudo_channels", &DramOrganization::pseudo_channels},
    {"bank_groups", &DramOrganization::bank_groups},
    {"banks", &DramOrganization::banks},
    {"row_bits", &DramOrganization::row_bits},
    {"column_bits", &DramOrganization::column_bits},
    {"transaction_bytes", &DramOrganization::transaction_bytes},
}};

// What a controller is free to choose.
struct DramPolicy {
  int read_queue = 32;  // entries
  int write_queue = 32;
  int write_high_percent = 80;  // more queued writes than this share of the queue: serve writes
  int write_low_percent = 20;   // fewer than this share: back to reads
  int accepts_per_cycle = 1;
  bool active_list = true;       // a request leaves its queue at its ACT, is served first in either mode, and its row stays open
  bool protect_hits = false;     // no PRE of a row that a request of the served queue hits (else: whatever comes first by age)
  bool bus_by_age = false;       // single bus: the older of a row and a column command goes first (else: the column command)
  bool refresh = true;           // all banks of a pseudo-channel at a time
  bool block_channel = false;    // a pending refresh blocks the whole channel (else: its pseudo-channel)
  int refresh_stagger = 0;       // cycles by which each pseudo-channel's refresh lies behind that of the one before it
  bool write_forwarding = true;  // a read of a queued write is answered from the queue
  bool write_done_data = false;  // a write is acknowledged after its data (else: at its issue)

  int write_high_entries() const { return write_high_percent * write_queue / 100; }                    // writes above it
  int write_low_entries() const { return std::max(1, (write_low_percent * write_queue + 99) / 100); }  // reads below it
};

struct DramSpec {
  std::string name;
  DramOrganization organization;
  DramTiming timing;
  bool dual_command_bus;  // a row and a column command in the same cycle
  DramPolicy policy{};

  int banks_per_pseudo_channel() const { return organization.bank_groups * organization.banks; }
  int total_banks() const { return organization.pseudo_channels * banks_per_pseudo_channel(); }
};

inline constexpr int kMaxBanks = 32;
inline constexpr int kMaxQueueEntries = 48;

// "hbm2" or "ddr4". Throws ConfigError for another name.
DramSpec dram_preset(const std::string& name);

}  // namespace togsim
#endif
