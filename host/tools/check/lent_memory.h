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

#include "services/tensor_lending.h"

namespace loupe::check {

/// Holds the data that one call lends a component: structs, texts, elements, and buffers to fill. After the call it is
/// overwritten or unmapped, which exposes components that keep pointers. Guarded memory ends at a page that cannot be
/// accessed, and elements cannot be written: doing so crashes, and `misuse_at` explains the crash.
class LentMemory {
 public:
  LentMemory();
  ~LentMemory();
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  /// Lends a struct of the ABI and fills in `struct_size`. The type that `resize` chose ends at a guard page.
  template <class T>
  const T* lend(const T& value) {
    const T* place = this->place<T>();
    settle(place, value);
    return place;
  }
  /// The same in two steps, for a struct that others point at before it is complete.
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
  /// Lends a struct that the component fills in.
  template <class T>
  T* lend_to_fill(T value) {
    const bool is_resized = resized_ && resized_->type == typeid(T);
    const T* place = static_cast<const T*>(at_the_end(is_resized ? resized_->size : sizeof(T)));
    settle(place, value);
    return const_cast<T*>(place);
  }
  /// Lends room for `count` values that the component fills in: numbers, characters, a pointer.
  /// @param what  never freed: "the buffer of values"
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
  /// Adds LibTorch's tensor of the elements lent last to the view, for a plugin that needs LibTorch. A component may
  /// keep a copy of that tensor, which keeps the elements.
  void add_native_tensor(loupe_tensor& view);
  const char* text(std::string_view text);
  template <class T>
  const T* array(const std::vector<T>& items) {
    if (items.empty()) return nullptr;
    void* memory = allocate(items.size() * sizeof(T));
    std::memcpy(memory, items.data(), items.size() * sizeof(T));
    return static_cast<const T*>(memory);
  }
  /// Bytes that end at a guard page.
  /// @param what  never freed
  void* guarded(std::size_t size, const char* what);
  /// Bytes that cannot be read, like those of a device.
  static const void* out_of_reach();

  /// Overwrites everything, so that it can be lent again.
  void scribble();
  /// Makes every later access crash.
  void take_away();

  /// Makes all of these lend every T with that `struct_size`; surplus bytes are garbage.
  template <class T>
  static void resize(std::size_t size) {
    resized_ = Resized{typeid(T), size};
  }
  static void resize_nothing() { resized_.reset(); }

  /// Explains a crash at that address: "it reached beyond the end of" "the buffer of values". Null if nothing is lent
  /// there. Safe in a signal handler.
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
  /// Makes the last guarded memory read-only.
  void seal();
  void destroy_natives();

  static std::optional<Resized> resized_;
  Area* shared_;  // the unguarded data
  std::size_t used_ = 0;
  std::vector<std::shared_ptr<Area>> guarded_;
  std::size_t next_guarded_ = 0;
  std::vector<const void*> natives_;
};

/// Loads the functions that lend LibTorch's tensors if a plugin brought LibTorch into this process. Returns why that
/// fails; empty if they are loaded or not needed.
std::string load_tensor_lending();

/// Null if the plugin does not use LibTorch.
const TensorLending* tensor_lending();

/// Makes LibTorch's tensor of the view at `place` and adds it to the view; does nothing without LibTorch, or for a type
/// that LibTorch lacks. The tensor keeps `memory` alive.
void add_native(loupe_tensor& view, void* place, const std::shared_ptr<const void>& memory);
/// Destroys a tensor made by add_native; copies of it stay valid. Null is allowed.
void destroy_native(const void* native);

}  // namespace loupe::check
