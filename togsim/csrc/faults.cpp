#include "faults.h"

#include "error.h"

namespace togsim {

void Faults::skip(const std::string& wake) {
  std::string known;
  for (size_t w = 0; w < kWakeNames.size(); ++w) {
    if (wake == kWakeNames[w]) {
      skip_dirty[w] = true;
      return;
    }
    known += (w == 0 ? "" : ", ") + std::string(kWakeNames[w]);
  }
  throw ConfigError("unknown fault", {"skip_dirty: one of " + known, wake, "faults", ""});
}

}  // namespace togsim
