// Event-indexed dependencies of one work-item: an instruction waits for ISSUE or DONE of others.
#ifndef TOGSIM_DEPENDENCY_STORE_H
#define TOGSIM_DEPENDENCY_STORE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace togsim {

enum class Event : uint8_t { Issue = 0, Done = 1 };
inline const char* event_name(Event event) { return event == Event::Issue ? "ISSUE" : "DONE"; }

class DependencyStore {
 public:
  struct Edge {
    uint32_t producer;
    Event event;
    uint32_t consumer;
  };

  explicit DependencyStore(uint32_t instructions = 0) { grow(instructions); }

  void grow(uint32_t instructions) {
    for (auto& heads : head_) heads.resize(instructions, kEnd);
    pending_.resize(instructions, 0);
  }

  void add_dep(uint32_t producer, Event event, uint32_t consumer) {
    uint32_t& head = head_[static_cast<size_t>(event)][producer];
    links_.push_back({consumer, head});
    head = static_cast<uint32_t>(links_.size() - 1);
    ++pending_[consumer];
  }

  // Report that `event` of `producer` happened; `on_ready(consumer)` for each instruction that waits for nothing more.
  template <typename OnReady>
  void fire(uint32_t producer, Event event, OnReady on_ready) {
    uint32_t& head = head_[static_cast<size_t>(event)][producer];
    const uint32_t first = head;
    head = kEnd;
    for (uint32_t link = first; link != kEnd; link = links_[link].next) {
      const uint32_t consumer = links_[link].consumer;
      if (--pending_[consumer] == 0) on_ready(consumer);
    }
  }

  uint32_t pending(uint32_t instruction) const { return pending_[instruction]; }

  // Dependencies that have not fired, by producer.
  std::vector<Edge> edges() const {
    std::vector<Edge> all;
    for (uint32_t p = 0; p < pending_.size(); ++p) {
      for (const Event event : {Event::Issue, Event::Done}) {
        for (uint32_t l = head_[static_cast<size_t>(event)][p]; l != kEnd; l = links_[l].next)
          all.push_back({p, event, links_[l].consumer});
      }
    }
    return all;
  }

 private:
  static constexpr uint32_t kEnd = UINT32_MAX;
  struct Link {
    uint32_t consumer;
    uint32_t next;
  };
  std::array<std::vector<uint32_t>, 2> head_;
  std::vector<Link> links_;
  std::vector<uint32_t> pending_;
};

}  // namespace togsim
#endif
