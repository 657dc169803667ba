// The timing constraints as one table: least distance between two commands, by how their banks lie to each other.
#ifndef TOGSIM_DRAM_DISTANCES_H
#define TOGSIM_DRAM_DISTANCES_H

#include <array>
#include <cstddef>
#include <cstdint>

#include "dram_spec.h"

namespace togsim {

enum class DramCommand : uint8_t { Act, Pre, Read, Write, Refresh };
inline constexpr size_t kDramCommands = 5;
enum class BankRelation : uint8_t { SameBank, SameGroup, SamePseudoChannel };  // each leaves out the ones before it

class DramDistances {
 public:
  explicit DramDistances(const DramTiming& t) {
    using enum DramCommand;
    const int late = t.ACT - 1;  // an ACT of several cycles acts in the last one
    const int read_to_write = t.CL + t.BL + t.TURN - t.CWL;
    const int write_end = t.CWL + t.BL;
    set(Act, Act, t.RC, t.RRDL, t.RRDS);
    set(Act, Read, t.RCDRD + late);
    set(Act, Write, t.RCDWR + late);
    set(Act, Pre, t.RAS + late);
    set(Act, Refresh, t.RC + late);
    set(Pre, Act, t.RP - late);
    set(Pre, Refresh, t.RP);
    set(Read, Read, t.CCDL, t.CCDL, t.CCDS);
    set(Read, Write, read_to_write, read_to_write, read_to_write);
    set(Read, Pre, t.RTP);
    set(Write, Write, t.CCDL, t.CCDL, t.CCDS);
    set(Write, Read, write_end + t.WTRL, write_end + t.WTRL, write_end + t.WTRS);
    set(Write, Pre, write_end + t.WR);
    set(Refresh, Act, t.RFC - late, t.RFC - late, t.RFC - late);
  }

  // 0: no constraint.
  int operator()(DramCommand first, DramCommand then, BankRelation relation) const {
    return table_[static_cast<size_t>(first)][static_cast<size_t>(then)][static_cast<size_t>(relation)];
  }

 private:
  void set(DramCommand first, DramCommand then, int same_bank, int same_group = 0, int same_pseudo_channel = 0) {
    table_[static_cast<size_t>(first)][static_cast<size_t>(then)] = {same_bank, same_group, same_pseudo_channel};
  }

  std::array<std::array<std::array<int, 3>, kDramCommands>, kDramCommands> table_{};
};

}  // namespace togsim
#endif
