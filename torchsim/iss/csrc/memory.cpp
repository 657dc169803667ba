#include "memory.hpp"

#include <cinttypes>

namespace torchsim::iss {

Memory::Memory(std::size_t spad_bytes_per_lane, unsigned lanes)
    : lanes_(lanes), spad_(spad_bytes_per_lane, lanes), stack_(kStackBytes, lanes), image_(8) {}

void Memory::reset(std::span<const u8> image, u64 base, u8 spad_fill, bool track) {
  image_.resize(image.size() + 8);
  std::copy(image.begin(), image.end(), image_.begin());
  std::fill(image_.end() - 8, image_.end(), u8{0});
  base_ = base;
  size_ = image.size();
  spad_.reset(spad_fill);
  stack_.reset(0);
  tracking_ = track;
  if (track) {
    if (!initialised_) initialised_.emplace(spad_.bytes(), lanes_);
    initialised_->reset(0);
  }
}

void Memory::misaligned(u64 address, u64 align) {
  raise(Cause::misaligned_access, "address 0x%" PRIx64 " is not a multiple of %" PRIu64, address, align);
}

void Memory::refuse(u64 address, u64 bytes, Access access) const {
  static constexpr const char* kNames[] = {"scalar load", "scalar store", "vector load", "vector store"};
  const char* what = kNames[static_cast<unsigned>(access)];
  if (address >= kTensorBase)
    raise(Cause::tensor_access_without_dma, "%s of %" PRIu64 " bytes at 0x%" PRIx64 ": tensors are reached by DMA only", what, bytes,
          address);
  if (address - base_ < kImageWindow) {
    if (access == Access::vector_store)
      raise(Cause::vector_store_to_image, "vector store of %" PRIu64 " bytes at 0x%" PRIx64, bytes, address);
    raise(Cause::image_out_of_range, "%s of %" PRIu64 " bytes at 0x%" PRIx64 "; the image ends at 0x%" PRIx64, what, bytes, address,
          base_ + size_);
  }
  if (address - (kStackBase - kStackGuard) < 2 * kStackGuard + kStackBytes)
    raise(Cause::stack_overflow, "%s of %" PRIu64 " bytes at 0x%" PRIx64 "; the stack is [0x%" PRIx64 ", 0x%" PRIx64 ")", what, bytes,
          address, kStackBase, kStackBase + kStackBytes);
  if (address - kSpadBase < kStackBase - kSpadBase)
    raise(Cause::scratchpad_out_of_range, "%s of %" PRIu64 " bytes at scratchpad offset 0x%" PRIx64 "; a lane has 0x%zx bytes", what, bytes,
          address - kSpadBase, spad_.bytes());
  raise(Cause::unmapped_address, "%s of %" PRIu64 " bytes at 0x%" PRIx64, what, bytes, address);
}

}  // namespace torchsim::iss
