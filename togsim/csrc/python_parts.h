// Single components on their own, from Python, for tests and comparisons with other models.
#ifndef TOGSIM_PYTHON_PARTS_H
#define TOGSIM_PYTHON_PARTS_H

#include <pybind11/pybind11.h>

namespace togsim {

void bind_parts(pybind11::module_& m);

}  // namespace togsim
#endif
