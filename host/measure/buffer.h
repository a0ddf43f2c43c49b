#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace loupe::measure {

/// Memory that is kept and only ever grown, aligned for the widest vectors and never cleared: what it holds after
/// `reserve` is unspecified.
class Buffer {
 public:
  /// Makes room for `bytes`; what was held is lost where that takes new memory. Throws std::bad_alloc.
  void reserve(size_t bytes) {
    if (bytes <= capacity_) return;
    memory_.reset();
    capacity_ = 0;
    memory_.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment})));
    capacity_ = bytes;
  }

  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(memory_.get());
  }

  size_t capacity() const { return capacity_; }

 private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
  };

  std::unique_ptr<std::byte, Free> memory_;
  size_t capacity_ = 0;
};

}  // namespace loupe::measure
