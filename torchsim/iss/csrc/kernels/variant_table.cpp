#include "variant.hpp"

namespace torchsim::iss::ISS_VARIANT {

#define ISS_TEXT(x) #x
#define ISS_NAME(x) ISS_TEXT(x)

const KernelTable& table() {
  static const KernelTable instance = [] {
    KernelTable t{};
    t.name = ISS_NAME(ISS_VARIANT);
    fill_integer(t);
    fill_fixed_point(t);
    fill_float(t);
    fill_planes(t);
    fill_half(t);
    fill_systolic(t);
    return t;
  }();
  return instance;
}

}  // namespace torchsim::iss::ISS_VARIANT
