#include "trace_log.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <tuple>

namespace togsim {

const char* tag_name(Tag tag) {
  switch (tag) {
    case Tag::DramWindow:
      return "DRAM_WINDOW";
    case Tag::TileScheduled:
      return "TILE_SCHEDULED";
    case Tag::DmaStart:
      return "DMA_START";
    case Tag::DramFirstResp:
      return "DRAM_FIRST_RESP";
    case Tag::DmaInjected:
      return "DMA_INJECTED";
    case Tag::DramRespDone:
      return "DRAM_RESP_DONE";
    case Tag::InstFinished:
      return "INST_FINISHED";
    case Tag::InstIssued:
      return "INST_ISSUED";
    case Tag::TileFinished:
      break;
  }
  return "TILE_FINISHED";
}

void TraceLog::sort() {
  std::stable_sort(events_.begin(), events_.end(), [](const TraceEvent& a, const TraceEvent& b) {
    return std::tie(a.cycle, a.core, a.tag, a.inst) < std::tie(b.cycle, b.core, b.tag, b.inst);
  });
}

std::string TraceLog::text() {
  std::ostringstream out;
  for (const TraceEvent& e : events_) {
    out << '[' << e.cycle << "][Core " << e.core << "][" << std::left << std::setw(15) << tag_name(e.tag) << "][INST_ID=" << e.inst << "] "
        << e.opcode << " (";
    for (size_t d = 0; d < e.details.size(); ++d) out << (d == 0 ? "" : ", ") << e.details[d].first << '=' << e.details[d].second;
    out << ")\n";
    ++formatted_;
  }
  return out.str();
}

}  // namespace togsim
