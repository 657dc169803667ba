#include "loader.h"

#include <dlfcn.h>

#include "error.h"
#include "text.h"
#include "togsim_runtime.h"

namespace togsim {
namespace {

uintptr_t lookup(void* handle, const char* symbol, const std::string& path) {
  void* address = dlsym(handle, symbol);
  if (address == nullptr) {
    throw TraceError("not a trace producer: missing symbol", {symbol, "no such symbol", path, "rebuild the producer"});
  }
  return reinterpret_cast<uintptr_t>(address);
}

}  // namespace

ProducerAddresses load_shared_object(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    throw TraceError("cannot load the trace producer", {"a shared object", why != nullptr ? why : "unknown", path, "rebuild the producer"});
  }
  ProducerAddresses found;
  try {
    found.abi_fn = lookup(handle, "togsim_abi_version", path);
    const int32_t version = reinterpret_cast<int32_t (*)()>(found.abi_fn)();
    if (version != TOGSIM_ABI_VERSION) {
      throw TraceError("stale trace producer", {join("trace ABI version ", TOGSIM_ABI_VERSION), join("version ", version), path,
                                                "rebuild the producer with this version"});
    }
    found.kernel_fn = lookup(handle, "togsim_kernel", path);
  } catch (const TraceError&) {
    dlclose(handle);
    throw;
  }
  return found;
}

}  // namespace togsim
