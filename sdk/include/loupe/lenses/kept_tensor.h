#ifndef LOUPE_LENSES_KEPT_TENSOR_H
#define LOUPE_LENSES_KEPT_TENSOR_H

#include <loupe/host.h>

#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// A copy of an event's tensor, on the same device, that outlives the event. Move-only. From a hook: it allocates, but
/// waits for no device. Every member throws Error where the host does not offer it.
class KeptTensor {
 public:
  static constexpr int64_t all = -1;
  /// @param item which item along dimension 0; `all` of them
  KeptTensor(const Host& host, const loupe_tensor& tensor, int64_t item = all) : host_(host) {
    detail::ErrorBuffer error;
    error.check(host.tensors().clone(host.context(), &tensor, item, &kept_, error.get()));
  }
  KeptTensor(KeptTensor&& other) noexcept : host_(other.host_), kept_(std::exchange(other.kept_, nullptr)) {}
  KeptTensor& operator=(KeptTensor&& other) noexcept {
    std::swap(kept_, other.kept_);
    return *this;
  }
  ~KeptTensor() {
    if (kept_ != nullptr) host_.tensors().release(host_.context(), kept_);
  }

  const loupe_tensor& view() const { return *host_.tensors().view(host_.context(), kept_); }
  /// Becomes the LOUPE_AGGREGATE_SUM, MEAN, MAX or MIN of the `count` tensors folded so far and one more of the same
  /// shape.
  void fold(const loupe_tensor& tensor, uint32_t aggregation, uint64_t count) {
    detail::ErrorBuffer error;
    error.check(host_.math().fold(host_.context(), kept_, &tensor, aggregation, count, error.get()));
  }
  /// Writes a file that C++'s torch::load and Python's torch.load read: a list, or the first tensor alone.
  static void save(const Host& host, const std::vector<KeptTensor>& tensors, bool as_list, const std::string& path) {
    std::vector<const loupe_retained*> handles;
    for (const KeptTensor& tensor : tensors) handles.push_back(tensor.kept_);
    detail::ErrorBuffer error;
    error.check(host.files().save(host.context(), handles.data(), handles.size(), as_list, path.c_str(), error.get()));
  }

 private:
  Host host_;
  loupe_retained* kept_ = nullptr;
};

}  // namespace loupe

#endif
