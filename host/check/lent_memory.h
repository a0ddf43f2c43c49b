#pragma once

#include <loupe/abi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <typeinfo>
#include <vector>

#include "torch/tensor/tensor_lending.h"

namespace loupe::check {

/// What one call lends a component: structs, texts, elements, and buffers to fill. When the call is over it is
/// overwritten, or taken away for good, so that a component that keeps a pointer is found out. What is lent by itself
/// ends where nobody may read or write, and elements cannot be written: whoever does crashes, and `misuse_at` says of
/// what.
class LentMemory {
 public:
  LentMemory();
  ~LentMemory();
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  /// A struct of the ABI; `struct_size` is filled in. The one that `resize` chose ends where no one may read.
  template <class T>
  const T* lend(const T& value) {
    const T* place = this->place<T>();
    settle(place, value);
    return place;
  }
  /// The same in two steps, for what others point at before all of it is known.
  template <class T>
  const T* place() {
    const bool is_resized = resized_ && resized_->type == typeid(T);
    return static_cast<const T*>(is_resized ? at_the_end(resized_->size) : allocate(sizeof(T)));
  }
  template <class T>
  void settle(const T* place, T value) {
    const bool is_resized = resized_ && resized_->type == typeid(T);
    const std::size_t size = is_resized ? resized_->size : sizeof(T);
    value.struct_size = static_cast<uint32_t>(size);
    std::memcpy(const_cast<T*>(place), &value, std::max(std::min(sizeof(T), size), sizeof(uint32_t)));
  }
  /// A struct that the component fills in.
  template <class T>
  T* lend_to_fill(T value) {
    const bool is_resized = resized_ && resized_->type == typeid(T);
    const T* place = static_cast<const T*>(at_the_end(is_resized ? resized_->size : sizeof(T)));
    settle(place, value);
    return const_cast<T*>(place);
  }
  /// Room for `count` of them that the component fills in: numbers, characters, a pointer.
  /// @param what  lives for good: "the buffer of values"
  template <class T>
  T* buffer(std::size_t count, const char* what) {
    return static_cast<T*>(guarded(count * sizeof(T), what));
  }
  /// A tensor's elements, as `fill(void*)` writes them.
  template <class Fill>
  const void* elements(std::size_t size, Fill&& fill) {
    void* memory = guarded(size, "a tensor's elements");
    fill(memory);
    seal();
    return memory;
  }
  /// Gives the view of the elements that were lent last LibTorch's tensor of them, for a plugin that needs LibTorch. A
  /// copy of that tensor may be kept, and keeps the elements.
  void add_native_tensor(loupe_tensor& view);
  const char* text(std::string_view text);
  template <class T>
  const T* array(const std::vector<T>& items) {
    if (items.empty()) return nullptr;
    void* memory = allocate(items.size() * sizeof(T));
    std::memcpy(memory, items.data(), items.size() * sizeof(T));
    return static_cast<const T*>(memory);
  }
  /// Bytes whose end is the last that may be read or written.
  /// @param what  lives for good
  void* guarded(std::size_t size, const char* what);
  /// Bytes that no one may read, as a device's are.
  static const void* out_of_reach();

  /// Overwrites everything, to be lent anew.
  void scribble();
  /// Whoever touches it from now on crashes.
  void take_away();

  /// From now on every T is lent with that `struct_size`, by all of these; what it has too much holds no sense.
  template <class T>
  static void resize(std::size_t size) {
    resized_ = Resized{typeid(T), size};
  }
  static void resize_nothing() { resized_.reset(); }

  /// What somebody did wrong who crashes at that address: "it reached beyond the end of" "the buffer of values". Null
  /// where nothing is lent there. For a handler of signals.
  struct Misuse {
    const char *deed, *what;
  };
  static Misuse misuse_at(const void* address);

 private:
  struct Area;
  struct Resized {
    std::type_index type;
    std::size_t size;
  };
  void* allocate(std::size_t size);
  void* at_the_end(std::size_t size);
  /// Nobody writes to what was guarded last.
  void seal();
  void destroy_natives();

  static std::optional<Resized> resized_;
  Area* shared_;  // by all that is not guarded
  std::size_t used_ = 0;
  std::vector<std::shared_ptr<Area>> guarded_;
  std::size_t next_guarded_ = 0;
  std::vector<const void*> natives_;
};

/// Loads what lends LibTorch's tensors, where a plugin that was loaded brought LibTorch into this process. Returns why
/// that cannot be; empty where it is done, or is not needed.
std::string load_tensor_lending();

/// Null for plugins without LibTorch.
const TensorLending* tensor_lending();

/// Makes LibTorch's tensor of the view at `place` and refers the view to it; does nothing without LibTorch, or for a
/// type that LibTorch lacks. The tensor keeps `memory`.
void add_native(loupe_tensor& view, void* place, const std::shared_ptr<const void>& memory);
/// Destroys a tensor made by add_native; copies of it stay valid. Null is allowed.
void destroy_native(const void* native);

}  // namespace loupe::check
