#include "python_parts.h"

#include <pybind11/stl.h>

#include <utility>
#include <vector>

#include "footprint.h"
#include "producer.h"

namespace py = pybind11;

namespace togsim {
namespace {

// Granules of one transfer, given as the only record of a one-item producer.
std::vector<std::pair<uint64_t, uint64_t>> granules_of(const Producer& producer, uint64_t base, uint64_t granule) {
  std::vector<std::pair<uint64_t, uint64_t>> out;
  const Records records = producer.records(0);
  for (const Interval& i : touched_granules(std::get<DmaRecord>(records.at(0)), base, granule)) out.emplace_back(i.first, i.last);
  return out;
}

}  // namespace

void bind_parts(py::module_& m) { m.def("granules_of", &granules_of, py::arg("producer"), py::arg("base"), py::arg("granule")); }

}  // namespace togsim
