#ifndef LOUPE_CHECK_LENT_MEMORY_H
#define LOUPE_CHECK_LENT_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <typeinfo>
#include <vector>

namespace loupe::check {

/// What one call lends a component: structs, texts and elements. When the call is over it is overwritten, or taken away
/// for good, so that a component that keeps a pointer is found out.
class LentMemory {
 public:
  LentMemory();
  ~LentMemory();
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  /// A struct of the ABI; `struct_size` is filled in. The one that `resize` chose ends where no one may read.
  template <class T>
  const T* lend(T value) {
    value.struct_size = sizeof(T);
    if (resized_ && resized_->type == typeid(T)) {
      value.struct_size = static_cast<uint32_t>(resized_->size);
      return static_cast<const T*>(at_the_end(&value, sizeof(T), resized_->size));
    }
    void* memory = allocate(sizeof(T));
    std::memcpy(memory, &value, sizeof(T));
    return static_cast<const T*>(memory);
  }
  const char* text(std::string_view text);
  template <class T>
  const T* array(const std::vector<T>& items) {
    if (items.empty()) return nullptr;
    void* memory = allocate(items.size() * sizeof(T));
    std::memcpy(memory, items.data(), items.size() * sizeof(T));
    return static_cast<const T*>(memory);
  }
  /// Bytes whose end is the last that may be read or written.
  void* guarded(std::size_t size);
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

 private:
  struct Resized {
    std::type_index type;
    std::size_t size;
  };
  void* allocate(std::size_t size);
  void* at_the_end(const void* value, std::size_t known, std::size_t size);

  static std::optional<Resized> resized_;
  char* base_;
  std::size_t used_ = 0;
  std::vector<char*> guarded_;  // mapped apart
  std::size_t next_guarded_ = 0;
};

}  // namespace loupe::check

#endif
