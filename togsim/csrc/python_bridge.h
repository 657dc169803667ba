// Python side of the bridge: dependency graphs, cycle tables, deliberate faults.
#ifndef TOGSIM_PYTHON_BRIDGE_H
#define TOGSIM_PYTHON_BRIDGE_H

#include <pybind11/pybind11.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "bridge.h"
#include "faults.h"

namespace togsim {

std::vector<BlockCost> blocks_from(const std::vector<std::pair<int64_t, int64_t>>& table);
// {fault: name}, {"drop_dependency": number} or {"shift": {figure: number}}. Throws ConfigError.
Faults faults_from(const pybind11::dict& d);

void bind_bridge(pybind11::module_& m);

}  // namespace togsim
#endif
