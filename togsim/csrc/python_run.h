// Running a producer from Python: conversions of options and results.
#ifndef TOGSIM_PYTHON_RUN_H
#define TOGSIM_PYTHON_RUN_H

#include <pybind11/pybind11.h>

namespace togsim {

void bind_run(pybind11::module_& m);

}  // namespace togsim
#endif
