// Python access to one network by itself, for tests and measurements.
#ifndef TOGSIM_PYTHON_NOC_H
#define TOGSIM_PYTHON_NOC_H

#include <pybind11/pybind11.h>

namespace togsim {

void bind_noc(pybind11::module_& m);

}  // namespace togsim
#endif
