#include "noc_topology.h"

#include <cstdlib>

#include "error.h"

namespace togsim {
namespace {

constexpr uint32_t kMaxPorts = 64;
constexpr uint32_t kMaxWidth = 64;

}  // namespace

void check_crossbar(uint32_t nodes) {
  if (nodes <= kMaxPorts) return;
  throw ConfigError("too many nodes for one crossbar", {"at most 64 injection ports and DRAM channels together", std::to_string(nodes),
                                                        "icnt_injection_ports_per_core", "use fewer ports, or icnt_type: mesh"});
}

Topology crossbar(uint32_t nodes) {
  check_crossbar(nodes);
  Topology t;
  t.ports = nodes;
  for (uint32_t n = 0; n < nodes; ++n) {
    t.links.push_back({Topology::kNone, Topology::kNone, n});
    t.homes.push_back({0, n, Topology::kNone});
    t.route.push_back(static_cast<uint8_t>(n));
  }
  t.hops.assign(size_t{nodes} * nodes, 1);
  return t;
}

Topology mesh(uint32_t nodes) {
  uint32_t width = 1;
  while (width * width < nodes) ++width;
  if (width > kMaxWidth) {
    throw ConfigError("too many nodes for a mesh", {"at most 4096 injection ports and DRAM channels together", std::to_string(nodes),
                                                    "icnt_injection_ports_per_core", "use fewer ports"});
  }
  enum : uint32_t { kLocal, kRight, kLeft, kUp, kDown, kPorts };
  Topology t;
  t.routers = width * width;
  t.ports = kPorts;
  t.links.resize(size_t{t.routers} * kPorts);
  for (uint32_t r = 0; r < t.routers; ++r) {
    const uint32_t x = r % width;
    const uint32_t y = r / width;
    Topology::End* const out = &t.links[size_t{r} * kPorts];
    if (r < nodes) out[kLocal].node = r;
    if (x + 1 < width) out[kRight] = {r + 1, kLeft, Topology::kNone};
    if (x > 0) out[kLeft] = {r - 1, kRight, Topology::kNone};
    if (y + 1 < width) out[kUp] = {r + width, kDown, Topology::kNone};
    if (y > 0) out[kDown] = {r - width, kUp, Topology::kNone};
    for (uint32_t d = 0; d < nodes; ++d) {
      const uint32_t to_x = d % width;
      const uint32_t to_y = d / width;
      t.route.push_back(to_x > x ? kRight : to_x < x ? kLeft : to_y > y ? kUp : to_y < y ? kDown : kLocal);
    }
  }
  const auto distance = [](uint32_t a, uint32_t b) { return a > b ? a - b : b - a; };
  for (uint32_t s = 0; s < nodes; ++s) {
    t.homes.push_back({s, kLocal, Topology::kNone});
    for (uint32_t d = 0; d < nodes; ++d)
      t.hops.push_back(static_cast<uint8_t>(distance(s % width, d % width) + distance(s / width, d / width) + 1));
  }
  return t;
}

}  // namespace togsim
