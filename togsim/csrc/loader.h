// Producers kept in shared objects.
#ifndef TOGSIM_LOADER_H
#define TOGSIM_LOADER_H

#include <cstdint>
#include <string>

namespace togsim {

struct ProducerAddresses {
  uintptr_t kernel_fn = 0;
  uintptr_t abi_fn = 0;
};

// dlopen `path` (it stays loaded until the process ends) and look up the two entry points.
// Throws TraceError: unreadable file, missing symbol, another ABI version.
ProducerAddresses load_shared_object(const std::string& path);

}  // namespace togsim
#endif
