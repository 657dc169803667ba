// The event log: structured entries, collected only on request; formatted only when the text is asked for.
#ifndef TOGSIM_TRACE_LOG_H
#define TOGSIM_TRACE_LOG_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "clock.h"

namespace togsim {

// In the order that the lines of one cycle take.
enum class Tag : uint8_t {
  DramWindow,
  DmaStart,
  DmaInjected,
  DramFirstResp,
  DramRespDone,
  InstFinished,
  TileFinished,
  TileScheduled,
  InstIssued
};
const char* tag_name(Tag tag);

struct TraceEvent {
  Cycle cycle;
  uint32_t core;
  Tag tag;
  int64_t inst;
  const char* opcode;
  std::vector<std::pair<const char*, int64_t>> details;
};

class TraceLog {
 public:
  void add(TraceEvent event) { events_.push_back(std::move(event)); }
  // Order by cycle, core, tag and instruction: the same whatever order the simulator found the events in.
  void sort();
  const std::vector<TraceEvent>& events() const { return events_; }
  // One line per event: [cycle][Core c][TAG padded to 15][INST_ID=n] OPCODE (key=value, ...)
  std::string text();
  int64_t formatted_lines() const { return formatted_; }

 private:
  std::vector<TraceEvent> events_;
  int64_t formatted_ = 0;
};

}  // namespace togsim
#endif
