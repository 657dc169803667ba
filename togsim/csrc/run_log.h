// What a run records on request: the event log and the order of issue.
#ifndef TOGSIM_RUN_LOG_H
#define TOGSIM_RUN_LOG_H

#include <cstdint>
#include <optional>
#include <vector>

#include "dependency_store.h"
#include "trace_log.h"

namespace togsim {

struct IssueEntry {
  Cycle cycle;
  uint32_t core;
  size_t item;
  uint32_t record;
};

// Scratchpad bytes that a work-item holds after one of its instructions issued or finished.
struct HoldEntry {
  Cycle cycle;
  uint32_t core;
  size_t item;
  uint32_t record;
  Event event;
  int64_t bytes;
};

struct RunLog {
  std::optional<TraceLog> trace;                  // collected if set
  std::optional<std::vector<IssueEntry>> issues;  // collected if set
  std::optional<std::vector<HoldEntry>> held;     // collected if set
  uint64_t issue_hash = 14695981039346656037ull;  // FNV-1a over all issues, always
  int64_t next_inst_id = 0;

  void issued(const IssueEntry& entry) {
    for (const uint64_t word : {static_cast<uint64_t>(entry.cycle), uint64_t{entry.core}, uint64_t{entry.item}, uint64_t{entry.record}}) {
      issue_hash = (issue_hash ^ word) * 1099511628211ull;
    }
    if (issues) issues->push_back(entry);
  }
  void holds(const HoldEntry& entry) {
    if (held) held->push_back(entry);
  }
};

}  // namespace togsim
#endif
