#pragma once

#include <loupe/detail/tensor.h>
#include <loupe/draft/abi/tensor_math.h>
#include <loupe/host.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace loupe::ranks {

/// A 64-bit hash of bytes, as fast as memory is read, by four parallel multiplications. Different tensors have the same
/// hash with a probability of 2^-64, unless somebody constructs them to.
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

/// The fingerprint of a contiguous tensor in the processor's memory; 0 for other tensors.
inline uint64_t fingerprint_of(const TensorView& tensor) {
  if (!tensor || !tensor.is_cpu() || !tensor.is_contiguous() || tensor.raw()->data == nullptr) return 0;
  const auto bytes =
      static_cast<std::size_t>(tensor.numel()) * tensor.raw()->dtype_bits * tensor.raw()->dtype_lanes / 8;
  const uint64_t hash = fingerprint_of(tensor.raw()->data, bytes);
  return hash != 0 ? hash : 1;
}

/// Whether two fingerprints can be compared: both are known, and both come from the processor or both from a device,
/// which the highest bit shows.
inline bool are_comparable(uint64_t one, uint64_t other) {
  return one != 0 && other != 0 && (one ^ other) >> 63 == 0;
}

/// Fingerprints of tensors in any memory. For a tensor on a device, the device's queue computes a sum of its elements;
/// the sums are read together at a tick. Any thread.
class Prints {
 public:
  explicit Prints(const Host& host)
      : host_(host),
        service_(static_cast<const loupe_draft_fingerprint_service*>(host.get_extension(LOUPE_DRAFT_FINGERPRINTS_ID))) {
  }

  /// Returns 0 if unknown. Does not wait for a device: for a tensor on one, returns a placeholder that fill() replaces.
  uint64_t take(const TensorView& tensor) {
    if (!tensor) return 0;
    if (tensor.is_cpu()) {
      const uint64_t hash = fingerprint_of(tensor);
      return hash != 0 ? std::max<uint64_t>(hash & ~(on_device | is_place), 1) : 0;
    }
    loupe_retained* sum = nullptr;
    if (service_ == nullptr || service_->take(host_.context(), tensor.raw(), &sum, nullptr) != LOUPE_OK) {
      const std::lock_guard lock(mutex_);
      if (!std::exchange(told_, true))
        host_.info(
            "some tensors on devices are not compared between ranks, since the device cannot add up their elements as "
            "integers");
      return 0;
    }
    const std::lock_guard lock(mutex_);
    sums_.emplace_back(sum, Release{host_});
    return on_device | is_place | (first_ + sums_.size() - 1);
  }

  /// Reads the sums that were requested since the last call. Waits for devices.
  void read() {
    std::vector<std::unique_ptr<loupe_retained, Release>> sums;
    {
      const std::lock_guard lock(mutex_);
      sums.swap(sums_);
      read_first_ = first_;
      first_ += sums.size();
    }
    std::vector<const loupe_retained*> handles;
    for (const auto& each : sums) handles.push_back(each.get());
    numbers_.assign(sums.size(), 0);
    if (sums.empty()) return;
    detail::ErrorBuffer error;
    error.check(service_->read(host_.context(), handles.data(), handles.size(), numbers_.data(), error.get()));
    for (uint64_t& each : numbers_) each = fingerprint_of(&each, sizeof each);  // a sum may be a small number
  }
  /// Replaces placeholders by the numbers that read() has read; fingerprints taken since then become 0.
  void fill(std::vector<uint64_t>& prints) const {
    for (uint64_t& print : prints) {
      if ((print & on_device) == 0 || (print & is_place) == 0) continue;
      const uint64_t place = (print & ~(on_device | is_place)) - read_first_;
      print = place < numbers_.size() ? on_device | (numbers_[static_cast<std::size_t>(place)] & ~is_place) : 0;
    }
  }

 private:
  static constexpr uint64_t on_device = uint64_t{1} << 63, is_place = uint64_t{1} << 62;
  struct Release {
    Host host;
    void operator()(loupe_retained* kept) const { host.tensors().release(host.context(), kept); }
  };

  Host host_;
  const loupe_draft_fingerprint_service* service_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<loupe_retained, Release>> sums_;
  uint64_t first_ = 0;  ///< the placeholder of the first of sums_
  uint64_t read_first_ = 0;
  std::vector<uint64_t> numbers_;
  bool told_ = false;
};

}  // namespace loupe::ranks
