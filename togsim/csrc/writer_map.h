// Who wrote which scratchpad bytes: disjoint segments of the arena, each with its set of writers and its version.
#ifndef TOGSIM_WRITER_MAP_H
#define TOGSIM_WRITER_MAP_H

#include <cstdint>
#include <map>
#include <vector>

#include "record.h"
#include "version_table.h"

namespace togsim {

struct Segment {
  int64_t end = 0;
  std::vector<uint32_t> writers;  // what overwrote the bytes last
  std::vector<uint32_t> added;    // matmuls that added to that since, apart because their number grows with the length of a sum
  uint32_t version = 0;
  int32_t in_flight = -1;  // asynchronous load whose barrier has not been seen
};

// Half-open byte interval of the arena.
struct Bytes {
  int64_t begin;
  int64_t end;
};

// Union of ranges (weights left out) as disjoint ascending intervals.
std::vector<Bytes> arena_bytes(const std::vector<Range>& ranges);
std::vector<Bytes> intersection(const std::vector<Bytes>& a, const std::vector<Bytes>& b);
bool names_weights(const std::vector<Range>& ranges);
int64_t total(const std::vector<Bytes>& bytes);

class WriterMap {
 public:
  using Map = std::map<int64_t, Segment>;

  explicit WriterMap(VersionTable& versions) : versions_(versions) {}

  // Visit the segments inside `bytes`, cut at its ends. visit(begin, segment).
  template <typename Visit>
  void each(Bytes bytes, Visit visit) {
    cut(bytes.begin);
    cut(bytes.end);
    for (auto it = map_.lower_bound(bytes.begin); it != map_.end() && it->first < bytes.end; ++it) visit(it->first, it->second);
  }

  // Parts of `bytes` that nobody has written.
  std::vector<Bytes> gaps(Bytes bytes) const;
  // Replace whatever lies in `bytes` by one segment.
  void assign(Bytes bytes, Segment segment);

 private:
  void cut(int64_t at);

  VersionTable& versions_;
  Map map_;
};

}  // namespace togsim
#endif
