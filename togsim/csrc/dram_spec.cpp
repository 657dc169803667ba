#include "dram_spec.h"

#include "error.h"

namespace togsim {

DramSpec dram_preset(const std::string& name) {
  if (name == "hbm2") {
    // JESD235 HBM2, 8 Gb, 2 Gb/s pins, pseudo-channel mode; figures as exported by Ramulator 2.1 (HBM2_8Gb, HBM2_2000Mbps).
    return {.name = "HBM2",
            .organization = {.pseudo_channels = 2, .bank_groups = 4, .banks = 4, .row_bits = 16, .column_bits = 5, .transaction_bytes = 32},
            .timing = {.CL = 14,
                       .CWL = 5,
                       .BL = 2,
                       .RCDRD = 14,
                       .RCDWR = 12,
                       .RP = 14,
                       .RAS = 34,
                       .RC = 48,
                       .WR = 16,
                       .RTP = 5,
                       .CCDS = 2,
                       .CCDL = 4,
                       .RRDS = 4,
                       .RRDL = 4,
                       .WTRS = 6,
                       .WTRL = 8,
                       .FAW = 15,
                       .RFC = 350,
                       .REFI = 3900,
                       .ACT = 2},
            .dual_command_bus = true};
  }
  if (name == "ddr4") {
    // JESD79-4 DDR4-3200AA, 8 Gb x8, one rank; figures as exported by Ramulator 2.1 (DDR4_8Gb_x8, DDR4_3200AA).
    return {.name = "DDR4",
            .organization = {.pseudo_channels = 1, .bank_groups = 4, .banks = 4, .row_bits = 16, .column_bits = 7, .transaction_bytes = 64},
            .timing = {.CL = 22,
                       .CWL = 16,
                       .BL = 4,
                       .RCDRD = 22,
                       .RCDWR = 22,
                       .RP = 22,
                       .RAS = 52,
                       .RC = 74,
                       .WR = 24,
                       .RTP = 12,
                       .CCDS = 4,
                       .CCDL = 8,
                       .RRDS = 4,
                       .RRDL = 8,
                       .WTRS = 4,
                       .WTRL = 12,
                       .FAW = 34,
                       .RFC = 576,
                       .REFI = 12480},
            .dual_command_bus = false};
  }
  throw ConfigError("unknown DRAM", {"hbm2, ddr4 or simple", name, "dram_type", "correct the machine file"});
}

}  // namespace togsim
