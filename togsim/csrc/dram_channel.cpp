#include "dram_channel.h"

#include "dram_check.h"
#include "simple_channel.h"

namespace togsim {

DramChannel::DramChannel(const DramSpec& spec, const std::string& mapper)
    : spec_(spec), map_(spec.organization, mapper), model_(std::in_place_type<EventDrivenDram>, spec) {}

void DramChannel::push(const DramRequest& request) {
  const DramPlace place = map_.place(request.granule);
  if (fresh_) before_.push_back(request);
  if (auto* events = std::get_if<EventDrivenDram>(&model_)) {
    events->push(request, place);
  } else {
    std::get<CycleLoopDram>(model_).push(request, place);
  }
}

void DramChannel::run_until(Cycle end, bool every_cycle, std::vector<DramCompletion>& done) {
  if (fresh_) {
    fresh_ = false;
    if (every_cycle) {
      CycleLoopDram& loop = model_.emplace<CycleLoopDram>(spec_);
      for (const DramRequest& request : before_) loop.push(request, map_.place(request.granule));
    }
    before_ = {};
  }
  std::visit([&](auto& model) { model.run_until(end, done); }, model_);
}

bool DramChannel::idle() const {
  return std::visit([](const auto& model) { return model.idle(); }, model_);
}

const ChannelStats& DramChannel::stats() const {
  return std::visit([](const auto& model) -> const ChannelStats& { return model.stats(); }, model_);
}

std::unique_ptr<Channel> make_channel(const Config& config) {
  if (config.dram_type == "simple") return std::make_unique<SimpleChannel>(config.dram_latency);
  return std::make_unique<DramChannel>(dram_spec(config), config.dram_mapper);
}

}  // namespace togsim
