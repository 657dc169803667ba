#include "version_table.h"

#include <algorithm>

namespace togsim {

uint32_t VersionTable::add_version(uint32_t opener, int64_t bytes) {
  versions_.push_back({opener, 0, kEnd, bytes});
  return static_cast<uint32_t>(versions_.size() - 1);
}

void VersionTable::add_reader(uint32_t version, uint32_t reader) {
  uint32_t& newest = versions_[version].readers;
  if (newest != kEnd && readers_[newest].instruction == reader) return;  // readers come in program order
  readers_.push_back({reader, newest});
  newest = static_cast<uint32_t>(readers_.size() - 1);
}

uint32_t VersionTable::split(uint32_t version, int64_t keep) {
  Version rest = versions_[version];
  rest.bytes -= keep;
  versions_[version].bytes = keep;
  versions_.push_back(rest);
  return static_cast<uint32_t>(versions_.size() - 1);
}

// `each(emit)` calls emit(instruction, version) for every pair, the same ones every time.
template <typename Each>
VersionTable::Index VersionTable::index(uint32_t instructions, Each each) {
  Index made;
  made.start.assign(size_t{instructions} + 2, 0);
  each([&](uint32_t i, uint32_t) { ++made.start[i + 2]; });
  for (size_t i = 2; i < made.start.size(); ++i) made.start[i] += made.start[i - 1];
  made.versions.resize(made.start.back());
  each([&](uint32_t i, uint32_t v) { made.versions[made.start[i + 1]++] = v; });
  made.start.pop_back();
  return made;
}

void VersionTable::seal(uint32_t instructions, int64_t share, const Faults& faults) {
  share_ = share;
  faults_ = &faults;
  const auto count = static_cast<uint32_t>(versions_.size());
  reads_ = index(instructions, [&](auto emit) {
    for (uint32_t v = 0; v < count; ++v) {
      for (uint32_t r = versions_[v].readers; r != kEnd; r = readers_[r].next) emit(readers_[r].instruction, v);
    }
  });
  opens_ = index(instructions, [&](auto emit) {
    for (uint32_t v = 0; v < count; ++v) emit(versions_[v].opener, v);
  });
  for (const uint32_t v : reads_.versions) ++versions_[v].waiting;
  for (Version& v : versions_) v.waiting = (faults.bent(Rule::FreedAtFirstReader) ? std::min(v.waiting, 1u) : v.waiting) + 1;
  readers_ = {};
  before_.assign(size_t{instructions} + 1, 0);
  for (const Version& v : versions_) before_[v.opener + 1] += v.bytes;
  for (uint32_t i = 0; i < instructions; ++i) before_[i + 1] += before_[i];
}

bool VersionTable::can_open(uint32_t instruction) const {
  if (bytes(instruction) == 0 || instruction < frontier_ || faults_->bent(Rule::GateOpen)) return true;
  const int64_t claimed = faults_->bent(Rule::ClaimsIgnored) ? 0 : claim_after(instruction);
  return occupied_ + claimed + bytes(instruction) <= share_;
}

void VersionTable::open(uint32_t instruction) {
  if (bytes(instruction) == 0) return;
  if (instruction < frontier_) {
    claimed_ -= bytes(instruction);
  } else {
    claimed_ = claim_after(instruction);
    frontier_ = instruction + 1;
  }
  occupied_ += bytes(instruction);
  peak_ = std::max(peak_, occupied_);
}

bool VersionTable::release_reads(uint32_t instruction) {
  bool freed = false;
  for (const uint32_t v : opens_.of(instruction)) freed = (is_read(v) && has_issued(v)) || freed;
  if (faults_->bent(Rule::UnreadFreedAtIssue)) freed = drop_unread(instruction) || freed;
  if (!faults_->bent(Rule::FreedAtReaderDone)) freed = drop_reads(instruction) || freed;
  return freed;
}

bool VersionTable::release_unread(uint32_t instruction) {
  const bool reads = faults_->bent(Rule::FreedAtReaderDone) && drop_reads(instruction);
  if (faults_->bent(Rule::UnreadFreedAtIssue) || faults_->bent(Rule::UnreadNeverFreed)) return reads;
  return drop_unread(instruction) || reads;
}

// The opener or a reader of `version` has issued. Returns whether it was the last of them.
bool VersionTable::has_issued(uint32_t version) {
  if (--versions_[version].waiting > 0) return false;
  occupied_ -= versions_[version].bytes;
  return true;
}

bool VersionTable::drop_reads(uint32_t instruction) {
  bool freed = false;
  for (const uint32_t v : reads_.of(instruction)) freed = has_issued(v) || freed;
  return freed;
}

bool VersionTable::drop_unread(uint32_t instruction) {
  bool freed = false;
  for (const uint32_t v : opens_.of(instruction)) {
    if (is_read(v)) continue;
    occupied_ -= versions_[v].bytes;
    freed = true;
  }
  return freed;
}

}  // namespace togsim
