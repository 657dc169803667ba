// The DRAM that a machine asks for: a preset, the figures that the machine replaces, its policy; checked before anything runs.
#ifndef TOGSIM_DRAM_CHECK_H
#define TOGSIM_DRAM_CHECK_H

#include "config.h"
#include "dram_spec.h"

namespace togsim {

// Throws ConfigError: an unknown figure, a figure out of range, figures that contradict each other.
DramSpec dram_spec(const Config& config);

}  // namespace togsim
#endif
