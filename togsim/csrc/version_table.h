// Scratchpad occupancy of one work-item (docs/togsim.md, "Capacity").
//
// A version is what one instruction puts into some bytes: it exists from the issue of its opener to the issue of its last
// reader (without readers: to the opener's end). Overwriting bytes opens a new version beside the old one, so write-after-read
// is a question of space, not an edge.
//
// Instructions open out of program order. An opener that overtakes others claims their bytes as well, so those can always
// open later; with occupied + claimed <= share, the oldest unopened one only waits for older readers, and nothing deadlocks.
#ifndef TOGSIM_VERSION_TABLE_H
#define TOGSIM_VERSION_TABLE_H

#include <cstdint>
#include <vector>

namespace togsim {

class VersionTable {
 public:
  // Building. Instructions are numbered in program order.
  uint32_t add_version(uint32_t opener, int64_t bytes);
  void add_reader(uint32_t version, uint32_t reader);
  // Cut `version` in two: it keeps `keep` bytes, the new one has the rest and the same opener and readers.
  uint32_t split(uint32_t version, int64_t keep);
  void seal(uint32_t instructions, int64_t share);

  // Running.
  bool can_open(uint32_t instruction) const;
  void open(uint32_t instruction);
  // Reader `instruction` has issued. Returns whether bytes were freed.
  bool release_reads(uint32_t instruction);
  // Opener `instruction` has finished: versions that nobody reads go. Returns whether bytes were freed.
  bool release_unread(uint32_t instruction);

  int64_t needed(uint32_t instruction) const { return bytes_[instruction]; }
  int64_t occupied() const { return occupied_; }
  int64_t claimed() const { return claimed_; }
  int64_t share() const { return share_; }
  int64_t peak() const { return peak_; }

 private:
  struct Version {
    uint32_t opener;
    int64_t bytes;
    std::vector<uint32_t> readers;
    uint32_t waiting = 0;  // readers that have not issued
  };
  int64_t claim_after(uint32_t instruction) const;

  std::vector<Version> versions_;
  std::vector<std::vector<uint32_t>> reads_;   // instruction -> versions it reads
  std::vector<std::vector<uint32_t>> unread_;  // instruction -> its versions without readers
  std::vector<int64_t> bytes_;                 // instruction -> bytes it opens
  std::vector<int64_t> before_;                // bytes opened by all earlier instructions
  int64_t share_ = 0;
  int64_t occupied_ = 0;
  int64_t claimed_ = 0;
  int64_t peak_ = 0;
  uint32_t frontier_ = 0;  // instructions below it have opened or are claimed
};

}  // namespace togsim
#endif
