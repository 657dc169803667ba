#include "dram_channel.h"

#include "dram_check.h"
#include "dram_events_accept.h"
#include "simple_channel.h"

namespace togsim {

DramChannel::DramChannel(const DramSpec& spec, const std::string& mapper) : map_(spec.organization, mapper), events_(spec), spec_(spec) {}

void DramChannel::push(const DramRequest& request) {
  if (model_ == Model::Events) {
    events_.push(request, map_);
  } else {
    push_elsewhere(request);
  }
}

void DramChannel::push_elsewhere(const DramRequest& request) {
  if (model_ == Model::Loop) {
    loop_->push(request, map_.place(request.granule));
  } else {
    before_.push_back(request);
  }
}

void DramChannel::run_until(Cycle end, bool every_cycle, std::vector<DramCompletion>& done) {
  if (model_ == Model::NotYet) choose(every_cycle);
  if (model_ == Model::Events) {
    events_.run_until(end, done);
  } else {
    loop_->run_until(end, done);
  }
}

void DramChannel::choose(bool every_cycle) {
  model_ = every_cycle ? Model::Loop : Model::Events;
  if (every_cycle) loop_.emplace(spec_);
  for (const DramRequest& request : before_) push(request);
  before_ = {};
}

bool DramChannel::idle() const {
  if (model_ == Model::NotYet) return before_.empty();
  return model_ == Model::Events ? events_.idle() : loop_->idle();
}

const ChannelStats& DramChannel::stats() const { return model_ == Model::Loop ? loop_->stats() : events_.stats(); }

std::unique_ptr<Channel> make_channel(const Config& config) {
  if (config.dram_type == "simple") return std::make_unique<SimpleChannel>(config.dram_latency);
  return std::make_unique<DramChannel>(dram_spec(config), config.dram_mapper);
}

}  // namespace togsim
