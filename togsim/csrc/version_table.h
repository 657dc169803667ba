// Scratchpad occupancy of one work-item (docs/togsim.md, "Capacity").
//
// A version is what one instruction puts into some bytes: it exists from the issue of its opener to the issue of its last
// reader (without readers: to the opener's end). A matmul that adds to a sum may issue before the matmul that opened it, so
// opener and readers are counted alike: the last of them to issue frees the bytes. Overwriting bytes opens a new version beside the old one, so write-after-read
// is a question of space, not an edge.
//
// Instructions open out of program order. An opener that overtakes others claims their bytes as well, so those can always
// open later; with occupied + claimed <= share, the oldest unopened one only waits for older readers, and nothing deadlocks.
#ifndef TOGSIM_VERSION_TABLE_H
#define TOGSIM_VERSION_TABLE_H

#include <cstdint>
#include <span>
#include <vector>

#include "faults.h"

namespace togsim {

class VersionTable {
 public:
  // Building. Instructions are numbered in program order.
  uint32_t add_version(uint32_t opener, int64_t bytes);
  void add_reader(uint32_t version, uint32_t reader);
  // Cut `version` in two: it keeps `keep` bytes, the new one has the rest and the same opener and readers.
  uint32_t split(uint32_t version, int64_t keep);
  // `faults` must outlive the table.
  void seal(uint32_t instructions, int64_t share, const Faults& faults);

  // Running.
  bool can_open(uint32_t instruction) const;
  void open(uint32_t instruction);
  // Reader `instruction` has issued. Returns whether bytes were freed.
  bool release_reads(uint32_t instruction);
  // Opener `instruction` has finished: versions that nobody reads go. Returns whether bytes were freed.
  bool release_unread(uint32_t instruction);

  int64_t needed(uint32_t instruction) const { return bytes(instruction); }
  int64_t occupied() const { return occupied_; }
  int64_t claimed() const { return claimed_; }
  int64_t share() const { return share_; }
  int64_t peak() const { return peak_; }

 private:
  static constexpr uint32_t kEnd = UINT32_MAX;
  struct Version {
    uint32_t opener;
    uint32_t waiting;  // opener and readers that have not issued
    uint32_t readers;  // newest entry of its list
    int64_t bytes;
  };
  // Readers, newest first. An entry never changes, so the two parts of a version that was cut share what they had in common.
  struct Reader {
    uint32_t instruction;
    uint32_t next;
  };
  // Instruction -> versions, as one array.
  struct Index {
    std::vector<uint32_t> start;
    std::vector<uint32_t> versions;
    std::span<const uint32_t> of(uint32_t instruction) const {
      return std::span(versions).subspan(start[instruction], start[instruction + 1] - start[instruction]);
    }
  };
  template <typename Each>
  static Index index(uint32_t instructions, Each each);
  int64_t bytes(uint32_t instruction) const { return before_[instruction + 1] - before_[instruction]; }
  int64_t claim_after(uint32_t instruction) const { return claimed_ + (before_[instruction] - before_[frontier_]); }
  bool is_read(uint32_t version) const { return versions_[version].readers != kEnd; }
  bool has_issued(uint32_t version);
  bool drop_reads(uint32_t instruction);
  bool drop_unread(uint32_t instruction);

  std::vector<Version> versions_;
  std::vector<Reader> readers_;  // only while building
  Index reads_;                  // versions that an instruction reads
  Index opens_;                  // versions that it opens
  std::vector<int64_t> before_;  // bytes opened by all earlier instructions
  int64_t share_ = 0;
  int64_t occupied_ = 0;
  int64_t claimed_ = 0;
  int64_t peak_ = 0;
  uint32_t frontier_ = 0;  // instructions below it have opened or are claimed
  const Faults* faults_ = nullptr;
};

}  // namespace togsim
#endif
