// Where in a trace the bridge is, for its errors.
#ifndef TOGSIM_TRACE_SITE_H
#define TOGSIM_TRACE_SITE_H

#include <cstddef>
#include <string>

#include "error.h"
#include "text.h"

namespace togsim {

struct TraceSite {
  size_t item = 0;
  size_t record = 0;

  [[noreturn]] void fail(const std::string& what, const std::string& expected, const std::string& found) const {
    fail_at(record, what, expected, found);
  }
  [[noreturn]] void fail_at(size_t at, const std::string& what, const std::string& expected, const std::string& found) const {
    throw TraceError(what, {expected, found, join("work-item ", item, ", record ", at), "fix the trace producer"});
  }
};

}  // namespace togsim
#endif
