// join(a, b, ...): one string from texts and numbers.
#ifndef TOGSIM_TEXT_H
#define TOGSIM_TEXT_H

#include <sstream>
#include <string>

namespace togsim {

template <typename... Parts>
std::string join(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace togsim
#endif
