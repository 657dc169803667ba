#include "writer_map.h"

#include <algorithm>
#include <utility>

namespace togsim {

std::vector<Bytes> arena_bytes(const std::vector<Range>& ranges) {
  std::vector<Bytes> all;
  for (const Range& r : ranges) {
    if (!is_weights(r) && r.length > 0) all.push_back({arena_begin(r), arena_end(r)});
  }
  std::sort(all.begin(), all.end(), [](const Bytes& a, const Bytes& b) { return a.begin < b.begin; });
  std::vector<Bytes> merged;
  for (const Bytes& b : all) {
    if (!merged.empty() && b.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, b.end);
    } else {
      merged.push_back(b);
    }
  }
  return merged;
}

std::vector<Bytes> intersection(const std::vector<Bytes>& a, const std::vector<Bytes>& b) {
  std::vector<Bytes> both;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Bytes common{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (common.begin < common.end) both.push_back(common);
    a[i].end < b[j].end ? ++i : ++j;
  }
  return both;
}

bool names_weights(const std::vector<Range>& ranges) { return std::any_of(ranges.begin(), ranges.end(), is_weights); }

int64_t total(const std::vector<Bytes>& bytes) {
  int64_t sum = 0;
  for (const Bytes& b : bytes) sum += b.end - b.begin;
  return sum;
}

void WriterMap::cut(int64_t at) {
  auto it = map_.upper_bound(at);
  if (it == map_.begin()) return;
  --it;
  if (it->first == at || it->second.end <= at) return;
  Segment right = it->second;
  right.version = versions_.split(it->second.version, at - it->first);
  it->second.end = at;
  map_.emplace(at, std::move(right));
}

std::vector<Bytes> WriterMap::gaps(Bytes bytes) const {
  std::vector<Bytes> free;
  int64_t from = bytes.begin;
  auto it = map_.upper_bound(bytes.begin);
  if (it != map_.begin()) --it;
  for (; it != map_.end() && it->first < bytes.end; ++it) {
    if (it->second.end <= from) continue;
    if (it->first > from) free.push_back({from, it->first});
    from = std::max(from, it->second.end);
  }
  if (from < bytes.end) free.push_back({from, bytes.end});
  return free;
}

void WriterMap::assign(Bytes bytes, Segment segment) {
  cut(bytes.begin);
  cut(bytes.end);
  map_.erase(map_.lower_bound(bytes.begin), map_.lower_bound(bytes.end));
  segment.end = bytes.end;
  map_.emplace(bytes.begin, std::move(segment));
}

}  // namespace togsim
