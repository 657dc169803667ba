#include "faults.h"

#include "config.h"
#include "error.h"

namespace togsim {
namespace {

template <size_t N>
size_t index_of(const std::array<const char*, N>& names, const std::string& name, const std::string& fault) {
  std::string known;
  for (size_t k = 0; k < N; ++k) {
    if (name == names[k]) return k;
    known += (k == 0 ? "" : ", ") + std::string(names[k]);
  }
  throw ConfigError("unknown fault", {fault + ": one of " + known, name, "faults", ""});
}

// "read:barrier:matmul": reason, producer, consumer.
EdgeKind edge_kind(const std::string& text, const std::string& fault) {
  const size_t first = text.find(':');
  const size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  if (second == std::string::npos) throw ConfigError("unknown fault", {fault + ": reason:producer:consumer", text, "faults", ""});
  return {static_cast<Why>(index_of(kWhyNames, text.substr(0, first), fault)),
          static_cast<Op>(index_of(kOpNames, text.substr(first + 1, second - first - 1), fault)),
          static_cast<Op>(index_of(kOpNames, text.substr(second + 1), fault))};
}

}  // namespace

void Faults::set(const std::string& fault, const std::string& name, int64_t number) {
  if (fault == "skip_dirty") {
    skip_dirty[index_of(kWakeNames, name, fault)] = true;
  } else if (fault == "drop_dependency") {
    drop_dependency = number;
  } else if (fault == "drop_edges") {
    drop_edges = edge_kind(name, fault);
  } else if (fault == "relabel_edges") {
    relabel_edges = edge_kind(name, fault);
  } else if (fault == "bend_rule") {
    bend_rule[index_of(kRuleNames, name, fault)] = true;
  } else if (fault == "shift") {
    shifts[index_of(kFigureNames, name, fault)] = number;
  } else {
    throw ConfigError("unknown fault", {"skip_dirty, drop_dependency, drop_edges, relabel_edges, bend_rule or shift", fault, "faults", ""});
  }
}

void Faults::apply(Config& config) const {
  config.weight_slots += static_cast<int32_t>(shift(Figure::WeightSlots));
  config.systolic_arrays += static_cast<int32_t>(shift(Figure::SystolicArrays));
  config.dma_queue_depth += static_cast<int32_t>(shift(Figure::DmaQueueDepth));
  config.icnt_ports += static_cast<int32_t>(shift(Figure::DmaPorts));
  config.spad_bytes_per_lane += shift(Figure::SpadBytes);
  config.icnt_latency += static_cast<int32_t>(shift(Figure::IcntLatency));
  config.dram_latency += shift(Figure::DramLatency);
}

}  // namespace togsim
