// Records between C++ and the tuples that togsim/records.py wraps.
#ifndef TOGSIM_PYTHON_RECORDS_H
#define TOGSIM_PYTHON_RECORDS_H

#include <pybind11/pybind11.h>

#include "producer.h"

namespace togsim {

// All records of a producer: ("begin", item, iv) | ("dma", ...) | ("compute", ...) | ("bar", ...) | ("end", item).
pybind11::list records_to_python(const Producer& producer);

// The inverse, for SyntheticProducer. Throws TraceError if the sequence is not begin (record)* end, repeated.
std::vector<SyntheticProducer::Item> items_from_python(const pybind11::sequence& records);

}  // namespace togsim
#endif
