#include "dma_engine.h"

#include <utility>

namespace togsim {

bool DmaEngine::start(Step& did) {
  const bool store = loads_.empty();
  std::deque<DmaJob>& from = store ? stores_ : loads_;
  if (from.empty()) return false;
  const DmaJob job = from.front();
  from.pop_front();
  const Transfer& transfer = job.item->transfers[static_cast<size_t>(job.item->code[job.instruction].dma)];
  Current next{job, store, touched_granules(transfer, static_cast<uint64_t>(memory_.granule())), 0};
  next.requests = count(next.granules);
  if (!next.granules.empty()) next.next = next.granules.front().first;
  current_ = std::move(next);
  did.started = job;
  did.freed_queue = true;
  return true;
}

}  // namespace togsim
