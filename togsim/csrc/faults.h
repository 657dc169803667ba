// Deliberate faults, so that a test can show that an oracle notices them. All off by default; see docs/togsim-faults.md.
//
// The tables below are the enumeration: oracles/trace_analysis reads them through the binding, so a new entry is campaigned as
// soon as the code acts on it. Without faults every hook is one comparison of a constant, outside all inner loops.
#ifndef TOGSIM_FAULTS_H
#define TOGSIM_FAULTS_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "op.h"

namespace togsim {

// Why a core must look at its ready instructions again.
enum class Wake : uint8_t { Ready, DramResponse, SpadFreed, WeightSlotFreed, QueueFreed, Dispatched, Issued };
inline constexpr std::array<const char*, 7> kWakeNames{"ready",       "dram_response", "spad_freed", "weight_slot_freed",
                                                       "queue_freed", "dispatched",    "issued"};

// Why an instruction depends on another.
enum class Why : uint8_t { Read, Seed, Weights, Transfer, Stored };
inline constexpr std::array<const char*, 5> kWhyNames{"read", "seed", "weights", "transfer", "stored"};

struct EdgeKind {
  Why why;
  Op producer;
  Op consumer;
  bool operator==(const EdgeKind&) const = default;
};

// A rule of bridge, capacity or units that is bent.
enum class Rule : uint8_t {
  // dependencies
  AccumulateReplaces,
  AccumulateWaits,
  WritersPileUp,
  InPlaceKeepsWriters,
  BytesRounded,
  PlacesByName,
  WaitTakesNewest,
  WaitTakesAll,
  StoredByBox,
  StoredFirstOnly,
  WeightsOfFirstPreload,
  // capacity
  InPlaceOpens,
  StoreIsNoReader,
  FreedAtFirstReader,
  FreedAtReaderDone,
  UnreadFreedAtIssue,
  UnreadNeverFreed,
  GateOpen,
  ClaimsIgnored,
  // units
  SlotFreedAfterFirst,
  SlotFreedAtIssue,
  SlotFreedAtFinish,
  SlotFreedByLastIssued,
  PreloadsOutOfOrder,
  ArraysNotInTurn,
  LargeItemsTogether,
  // machine
  MemoryFrozen,
  LaunchesTogether,
  PartitionsIgnored,
  GranulesRepeated,
};
inline constexpr std::array<const char*, 30> kRuleNames{
    "accumulate_replaces",
    "accumulate_waits",
    "writers_pile_up",
    "in_place_keeps_writers",
    "bytes_rounded",
    "places_by_name",
    "wait_takes_newest",
    "wait_takes_all",
    "stored_by_box",
    "stored_first_only",
    "weights_of_first_preload",
    "in_place_opens",
    "store_is_no_reader",
    "freed_at_first_reader",
    "freed_at_reader_done",
    "unread_freed_at_issue",
    "unread_never_freed",
    "gate_open",
    "claims_ignored",
    "slot_freed_after_first",
    "slot_freed_at_issue",
    "slot_freed_at_finish",
    "slot_freed_by_last_issued",
    "preloads_out_of_order",
    "arrays_not_in_turn",
    "large_items_together",
    "memory_frozen",
    "launches_together",
    "partitions_ignored",
    "granules_repeated",
};

// A figure that a fault may shift.
enum class Figure : uint8_t {
  VectorCycles,
  MatmulCycles,
  PreloadCycles,
  VectorOverlapping,
  MatmulOverlapping,
  PreloadOverlapping,
  PipeEmpty,
  PipeBusy,
  SlotFree,
  WeightSlots,
  SystolicArrays,
  DmaQueueDepth,
  DmaPorts,
  DataArrival,
  SpadBytes,
  Share,
  Footprint,
  WorkItems,
  IcntLatency,
  DramLatency,
};
inline constexpr std::array<const char*, 20> kFigureNames{
    "vector_cycles", "matmul_cycles", "preload_cycles", "vector_overlapping", "matmul_overlapping", "preload_overlapping", "pipe_empty",
    "pipe_busy",     "slot_free",     "weight_slots",   "systolic_arrays",    "dma_queue_depth",    "dma_ports",           "data_arrival",
    "spad_bytes",    "share",         "footprint",      "work_items",         "icnt_latency",       "dram_latency"};

struct Config;

struct Faults {
  std::array<bool, kWakeNames.size()> skip_dirty{};   // this wake-up does not mark the core
  int64_t drop_dependency = -1;                       // the n-th dependency of every work-item is not recorded
  std::optional<EdgeKind> drop_edges;                 // dependencies of this kind are not recorded
  std::optional<EdgeKind> relabel_edges;              // ... name the other event
  std::array<bool, kRuleNames.size()> bend_rule{};    // this rule is bent
  std::array<int64_t, kFigureNames.size()> shifts{};  // added to this figure

  bool bent(Rule rule) const { return bend_rule[static_cast<size_t>(rule)]; }
  int64_t shift(Figure figure) const { return shifts[static_cast<size_t>(figure)]; }
  // A count of cycles that is never negative.
  int64_t shifted(int64_t cycles, Figure figure) const { return std::max<int64_t>(0, cycles + shift(figure)); }

  // Throws ConfigError for an unknown fault or name.
  void set(const std::string& fault, const std::string& name, int64_t number);
  // Shift the figures that the machine description holds.
  void apply(Config& config) const;
};

}  // namespace togsim
#endif
