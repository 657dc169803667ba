// Choice of the kernel variant for the host.
#include <string_view>

#include "table.hpp"

namespace torchsim::iss {

namespace baseline {
const KernelTable& table();
}
#ifdef ISS_HAS_AVX2
namespace avx2 {
const KernelTable& table();
}
#endif

const KernelTable* kernels_named(const char* name) {
  const std::string_view wanted = name;
#ifdef ISS_HAS_AVX2
  if (wanted == "avx2") {
    const bool usable = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    return usable ? &avx2::table() : nullptr;
  }
#endif
  return wanted == "baseline" ? &baseline::table() : nullptr;
}

const KernelTable& kernels() {
  const KernelTable* best = kernels_named("avx2");
  return best ? *best : *kernels_named("baseline");
}

}  // namespace torchsim::iss
