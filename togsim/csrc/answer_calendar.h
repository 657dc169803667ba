// Answers of the DRAM channels by the cycle in which they leave. Channels report them ahead of time and not in order.
#ifndef TOGSIM_ANSWER_CALENDAR_H
#define TOGSIM_ANSWER_CALENDAR_H

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "clock.h"

namespace togsim {

struct Answer {
  Cycle cycle;  // DRAM cycle
  uint32_t channel;
  uint32_t transfer;
};

class AnswerCalendar {
 public:
  AnswerCalendar() : buckets_(kBuckets) {}

  // Not before the last take().
  void push(const Answer& answer) {
    if (answer.cycle < next_ + kBuckets) {
      bucket(answer.cycle).push_back(answer);
      ++near_;
    } else {
      far_.push_back(answer);
      first_far_ = std::min(first_far_, answer.cycle);
    }
  }

  // All answers before `end`, in order of time, then channel, then pushing: the same however the time is divided.
  template <typename Take>
  void take(Cycle end, Take take_one) {
    while (next_ < end) {
      if (near_ == 0) {
        next_ = std::min(end, first_far_);
        if (next_ == end) break;
      }
      if (first_far_ < next_ + kBuckets) fetch_far();
      std::vector<Answer>& now = bucket(next_);
      near_ -= now.size();
      for (size_t i = 1; i < now.size(); ++i) {
        for (size_t k = i; k > 0 && now[k].channel < now[k - 1].channel; --k) std::swap(now[k], now[k - 1]);
      }
      for (const Answer& answer : now) take_one(answer);
      now.clear();
      ++next_;
    }
  }

 private:
  static constexpr Cycle kBuckets = 256;  // more than a DRAM burst takes

  std::vector<Answer>& bucket(Cycle cycle) { return buckets_[static_cast<size_t>(cycle & (kBuckets - 1))]; }
  void fetch_far() {
    std::vector<Answer> all;
    all.swap(far_);
    first_far_ = kNever;
    for (const Answer& answer : all) push(answer);
  }

  std::vector<std::vector<Answer>> buckets_;
  std::vector<Answer> far_;
  Cycle first_far_ = kNever;
  Cycle next_ = 0;
  uint64_t near_ = 0;
};

}  // namespace togsim
#endif
