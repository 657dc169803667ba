#include "version_table.h"

#include <algorithm>

namespace togsim {

uint32_t VersionTable::add_version(uint32_t opener, int64_t bytes) {
  versions_.push_back({opener, bytes, {}, 0});
  return static_cast<uint32_t>(versions_.size() - 1);
}

void VersionTable::add_reader(uint32_t version, uint32_t reader) {
  std::vector<uint32_t>& readers = versions_[version].readers;
  if (readers.empty() || readers.back() != reader) readers.push_back(reader);  // readers come in program order
}

uint32_t VersionTable::split(uint32_t version, int64_t keep) {
  Version rest = versions_[version];
  rest.bytes -= keep;
  versions_[version].bytes = keep;
  versions_.push_back(std::move(rest));
  return static_cast<uint32_t>(versions_.size() - 1);
}

void VersionTable::seal(uint32_t instructions, int64_t share) {
  share_ = share;
  reads_.assign(instructions, {});
  unread_.assign(instructions, {});
  bytes_.assign(instructions, 0);
  before_.assign(size_t{instructions} + 1, 0);
  for (uint32_t v = 0; v < versions_.size(); ++v) {
    Version& version = versions_[v];
    bytes_[version.opener] += version.bytes;
    version.waiting = static_cast<uint32_t>(version.readers.size());
    for (const uint32_t reader : version.readers) reads_[reader].push_back(v);
    if (version.readers.empty()) unread_[version.opener].push_back(v);
  }
  for (uint32_t i = 0; i < instructions; ++i) before_[i + 1] = before_[i] + bytes_[i];
}

int64_t VersionTable::claim_after(uint32_t instruction) const { return claimed_ + (before_[instruction] - before_[frontier_]); }

bool VersionTable::can_open(uint32_t instruction) const {
  if (bytes_[instruction] == 0 || instruction < frontier_) return true;
  return occupied_ + claim_after(instruction) + bytes_[instruction] <= share_;
}

void VersionTable::open(uint32_t instruction) {
  if (bytes_[instruction] == 0) return;
  if (instruction < frontier_) {
    claimed_ -= bytes_[instruction];
  } else {
    claimed_ = claim_after(instruction);
    frontier_ = instruction + 1;
  }
  occupied_ += bytes_[instruction];
  peak_ = std::max(peak_, occupied_);
}

bool VersionTable::release_reads(uint32_t instruction) {
  bool freed = false;
  for (const uint32_t v : reads_[instruction]) {
    if (--versions_[v].waiting > 0) continue;
    occupied_ -= versions_[v].bytes;
    freed = true;
  }
  return freed;
}

bool VersionTable::release_unread(uint32_t instruction) {
  for (const uint32_t v : unread_[instruction]) occupied_ -= versions_[v].bytes;
  return !unread_[instruction].empty();
}

}  // namespace togsim
