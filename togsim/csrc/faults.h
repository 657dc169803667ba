// Deliberate faults, so that a test can show that an oracle notices them. All off by default; see docs/togsim.md.
#ifndef TOGSIM_FAULTS_H
#define TOGSIM_FAULTS_H

#include <array>
#include <cstdint>
#include <string>

namespace togsim {

// Why a core must look at its ready instructions again.
enum class Wake : uint8_t { Ready, DramResponse, SpadFreed, WeightSlotFreed, QueueFreed, Dispatched, Issued };
inline constexpr std::array<const char*, 7> kWakeNames{"ready",       "dram_response", "spad_freed", "weight_slot_freed",
                                                       "queue_freed", "dispatched",    "issued"};

struct Faults {
  std::array<bool, kWakeNames.size()> skip_dirty{};  // this wake-up does not mark the core
  int64_t drop_dependency = -1;                      // the n-th dependency of every work-item is not recorded

  // Throws ConfigError for an unknown name.
  void skip(const std::string& wake);
};

}  // namespace togsim
#endif
