// A DRAM channel with row state, bank groups, refresh and an FR-FCFS controller (docs/timing-model.md, "DRAM").
//
// Two implementations of one set of rules: event-driven, and a loop over cycles that the other is checked against.
#ifndef TOGSIM_DRAM_CHANNEL_H
#define TOGSIM_DRAM_CHANNEL_H

#include <optional>
#include <string>
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
  enum class Model { NotYet, Events, Loop };  // chosen by the first run_until

  [[gnu::cold]] void push_elsewhere(const DramRequest& request);
  [[gnu::cold]] void choose(bool every_cycle);

  DramMap map_;
  Model model_ = Model::NotYet;
  EventDrivenDram events_;
  std::optional<CycleLoopDram> loop_;
  DramSpec spec_;
  std::vector<DramRequest> before_;  // pushed before the model was chosen
};

}  // namespace togsim
#endif
