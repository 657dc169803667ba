// Errors of TOGSim. Each says what was expected, what was found, where, and what to try; the Python binding turns
// them into the classes of togsim/errors.py.
#ifndef TOGSIM_ERROR_H
#define TOGSIM_ERROR_H

#include <stdexcept>
#include <string>
#include <utility>

namespace togsim {

struct ErrorParts {
  std::string expected{};
  std::string found{};
  std::string where{};
  std::string hint{};
};

class Error : public std::runtime_error {
 public:
  Error(const std::string& summary, ErrorParts parts) : std::runtime_error(summary), parts_(std::move(parts)) {}
  const ErrorParts& parts() const { return parts_; }

 private:
  ErrorParts parts_;
};

// The machine description cannot be simulated.
class ConfigError : public Error {
 public:
  using Error::Error;
};

// A trace producer or its records are wrong.
class TraceError : public Error {
 public:
  using Error::Error;
};

// No event can make progress. `found` lists the blocked instructions, one per line.
class DeadlockError : public Error {
 public:
  using Error::Error;
};

}  // namespace togsim
#endif
