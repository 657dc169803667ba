// A DRAM channel with row state, bank groups, refresh and an FR-FCFS controller (docs/timing-model.md, "DRAM").
//
// Two implementations of one set of rules: event-driven, and a loop over cycles that the other is checked against.
#ifndef TOGSIM_DRAM_CHANNEL_H
#define TOGSIM_DRAM_CHANNEL_H

#include <string>
#include <variant>
#include <vector>

#include "address_map.h"
#include "channel.h"
#include "dram_cycle_loop.h"
#include "dram_events.h"
#include "dram_spec.h"

namespace togsim {

class DramChannel final : public Channel {
 public:
  DramChannel(const DramSpec& spec, const std::string& mapper);

  void push(const DramRequest& request) override;
  void run_until(Cycle end, bool every_cycle, std::vector<DramCompletion>& done) override;
  bool idle() const override;
  const ChannelStats& stats() const override;

 private:
  DramSpec spec_;
  DramMap map_;
  std::variant<EventDrivenDram, CycleLoopDram> model_;
  bool fresh_ = true;                // run_until has not been called
  std::vector<DramRequest> before_;  // pushed before that
};

}  // namespace togsim
#endif
