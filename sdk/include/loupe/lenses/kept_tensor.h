#pragma once

#include <loupe/host.h>

#include <utility>

namespace loupe {
inline namespace v1_0 {

/// A copy of an event's tensor, on the same device, that outlives the event. Move-only. It may be used in a hook: it
/// allocates, but waits for no device. Every member throws Error if the host does not offer the service.
class KeptTensor {
 public:
  KeptTensor(const Host& host, const loupe_tensor& tensor) : host_(host) {
    detail::ErrorBuffer error;
    error.check(host.tensors().clone(host.context(), &tensor, &kept_, error.get()));
  }
  /// Takes ownership of a handle from a service.
  KeptTensor(const Host& host, loupe_retained* kept) : host_(host), kept_(kept) {}
  KeptTensor(KeptTensor&& other) noexcept : host_(other.host_), kept_(std::exchange(other.kept_, nullptr)) {}
  KeptTensor& operator=(KeptTensor&& other) noexcept {
    std::swap(kept_, other.kept_);
    return *this;
  }
  ~KeptTensor() {
    if (kept_ != nullptr) host_.tensors().release(host_.context(), kept_);
  }

  const loupe_tensor& view() const { return *host_.tensors().view(host_.context(), kept_); }
  /// The handle, for services that take one.
  loupe_retained* raw() const { return kept_; }

 private:
  Host host_;
  loupe_retained* kept_ = nullptr;
};

}  // namespace v1_0
}  // namespace loupe
