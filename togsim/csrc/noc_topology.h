// Who is connected to whom, and which way a packet goes.
#ifndef TOGSIM_NOC_TOPOLOGY_H
#define TOGSIM_NOC_TOPOLOGY_H

#include <cstdint>
#include <string>
#include <vector>

namespace togsim {

// Routers with as many output ports as input ports. A link is one output port of a router and the place at its other end; the
// input port at that end has the link from the same place (all links come in pairs).
struct Topology {
  static constexpr uint32_t kNone = UINT32_MAX;
  struct End {
    uint32_t router = kNone;
    uint32_t port = kNone;
    uint32_t node = kNone;  // the link goes to a node instead
  };
  uint32_t routers = 1;
  uint32_t ports = 1;          // of each router
  std::vector<End> links;      // router * ports + output port; nothing there: all kNone
  std::vector<End> homes;      // node -> its router and port
  std::vector<uint8_t> route;  // router * nodes + destination -> output port
  std::vector<uint8_t> hops;   // source * nodes + destination -> routers on the way

  const End& link(uint32_t router, uint32_t port) const { return links[router * ports + port]; }
};

// Throws ConfigError above 64 nodes (a port is a bit of a word).
void check_crossbar(uint32_t nodes);
// One router, node n at port n.
Topology crossbar(uint32_t nodes);
// Node n at router (n mod width, n / width), port 0; ports 1 to 4 lead to +x, -x, +y, -y. Dimension order: x, then y, which
// cannot deadlock (Dally and Seitz, IEEE Trans. Computers 1987). The mesh is the smallest square that holds the nodes.
Topology mesh(uint32_t nodes);

}  // namespace togsim
#endif
