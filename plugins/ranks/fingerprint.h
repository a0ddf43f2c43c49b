#pragma once

#include <loupe/detail/tensor.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace loupe::ranks {

/// 64 bits of bytes: four lanes of multiplications, as quick as the memory is read. Two tensors that differ have the
/// same with a chance of 2^-64; it is no protection against somebody who wants that.
inline uint64_t fingerprint_of(const void* data, std::size_t size) {
  constexpr uint64_t factor = 0x9e3779b97f4a7c15u;
  uint64_t lanes[4] = {1, 2, 3, 4};
  const char* bytes = static_cast<const char*>(data);
  std::size_t left = size;
  for (; left >= sizeof lanes; left -= sizeof lanes, bytes += sizeof lanes) {
    uint64_t words[4];
    std::memcpy(words, bytes, sizeof words);
    for (int i = 0; i < 4; ++i) {
      lanes[i] = (lanes[i] ^ words[i]) * factor;
      lanes[i] ^= lanes[i] >> 32;
    }
  }
  uint64_t tail[4] = {};
  if (left > 0) std::memcpy(tail, bytes, left);
  uint64_t hash = size * factor;
  for (int i = 0; i < 4; ++i) {
    hash = (hash ^ lanes[i]) * factor;
    hash = (hash ^ (hash >> 29) ^ tail[i]) * factor;
  }
  return hash ^ (hash >> 32);
}

inline uint64_t fingerprint_of(std::string_view text) {
  return fingerprint_of(text.data(), text.size());
}

/// Of a tensor in the processor's memory without gaps; 0 for others, which cannot be told.
inline uint64_t fingerprint_of(const TensorView& tensor) {
  if (!tensor || !tensor.is_cpu() || !tensor.is_contiguous() || tensor.raw()->data == nullptr) return 0;
  const auto bytes =
      static_cast<std::size_t>(tensor.numel()) * tensor.raw()->dtype_bits * tensor.raw()->dtype_lanes / 8;
  const uint64_t hash = fingerprint_of(tensor.raw()->data, bytes);
  return hash != 0 ? hash : 1;
}

/// Whether two tell anything of each other: both are known, and are of tensors on the processor, or both on a device,
/// which the highest bit tells.
inline bool are_comparable(uint64_t one, uint64_t other) {
  return one != 0 && other != 0 && (one ^ other) >> 63 == 0;
}

}  // namespace loupe::ranks
