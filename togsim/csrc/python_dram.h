// Python binding of the DRAM's configuration and parts.
#ifndef TOGSIM_PYTHON_DRAM_H
#define TOGSIM_PYTHON_DRAM_H

#include <pybind11/pybind11.h>

#include "channel.h"
#include "config.h"

namespace togsim {

// The keys of a machine that begin with dram_; togsim/config.py has checked their types.
void read_dram_config(const pybind11::dict& keys, Config& config);
pybind11::dict channel_counters(const ChannelStats& stats);
void bind_dram(pybind11::module_& m);

}  // namespace togsim
#endif
