#pragma once

// Deep copies of messages that are borrowed for a call, for code that needs them longer.

#include <loupe/detail/messages.h>
#include <loupe/detail/whole.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// Copies messages whole.
/// @tparam Memory  has `void* take(std::size_t size, std::size_t alignment)`, and outlives the copies
template <class Memory>
class Copier {
 public:
  explicit Copier(Memory& memory) : memory_(memory) {}

  /// Returns null for null.
  template <class S>
  S* copy(const S* original) {
    if (original == nullptr) return nullptr;
    S* const copied = new (memory_.take(sizeof(S), alignof(S))) S(known_part(*original));
    leave_out(*copied);
    const S known = *copied;
    each_member<S>([&](const auto& member) { keep(*copied, member); });
    complete(*copied, known);
    return copied;
  }
  const char* copy(const char* text) {
    if (text == nullptr) return nullptr;
    const std::size_t size = std::strlen(text) + 1;
    return static_cast<const char*>(std::memcpy(memory_.take(size, 1), text, size));
  }

 private:
  static double copy(double number) { return number; }
  static int64_t copy(int64_t number) { return number; }

  template <class S, class Member>
  void keep(S&, const Member&) {}  // stored in the struct itself
  template <class S>
  void keep(S& message, const messages::TextMember<S>& member) {
    message.*member.at = copy(message.*member.at);
  }
  template <class S, class Other>
  void keep(S& message, const messages::PointerMember<S, Other>& member) {
    message.*member.at = copy(message.*member.at);
  }
  template <class S, class Array, class Count>
  void keep(S& message, const messages::ArrayMember<S, Array, Count>& member) {
    const Array items = message.*member.at;
    if (items == nullptr) return;
    using Item = std::remove_const_t<std::remove_pointer_t<Array>>;
    const std::size_t size = member.size_in(message);
    auto* const copies = static_cast<Item*>(memory_.take(size * sizeof(Item), alignof(Item)));
    for (std::size_t i = 0; i < size; ++i) new (copies + i) Item(copy(items[i]));
    message.*member.at = copies;
  }

  template <class S>
  static void leave_out(S&) {}
  /// Drops the module: it lives only while attached, and a copy cannot know that.
  static void leave_out(loupe_finding& finding) {
    if (finding.layer == nullptr && finding.module != nullptr) finding.layer = finding.module->name;
    finding.module = nullptr;
  }
  static void leave_out(loupe_module& module) {
    module.parent = nullptr;
    module.model = nullptr;
  }
  static void leave_out(loupe_optimizer& optimizer) { optimizer.model = nullptr; }
  static void leave_out(loupe_parameter_group& group) {
    group.parameters = nullptr;
    group.parameter_count = 0;
  }
  static void leave_out(loupe_option_value& value) {
    if (value.type != LOUPE_TYPE_MAP) value.map = nullptr;
  }

  template <class S>
  static void complete(S&, const S&) {}
  /// The copies of its modules point at each other.
  static void complete(loupe_model& model, const loupe_model& original) {
    std::unordered_map<const loupe_module*, const loupe_module*> copy_of;
    for (std::size_t i = 0; i < model.module_count; ++i) copy_of[original.modules[i]] = model.modules[i];
    for (std::size_t i = 0; i < model.module_count; ++i) {
      const loupe_module before = known_part(*original.modules[i]);
      auto& copied = const_cast<loupe_module&>(*model.modules[i]);  // made by this copier
      const auto parent = copy_of.find(before.parent);
      if (parent != copy_of.end()) copied.parent = parent->second;
      if (before.model != nullptr) copied.model = &model;
    }
  }

  Memory& memory_;
};

/// A struct of the ABI with all that it points at. It cannot be copied or moved.
template <class T>
class Owned {
 public:
  explicit Owned(const T& other) : value_(*Copier(pieces_).copy(&other)) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  const T& get() const { return value_; }

 private:
  struct Pieces {
    std::vector<std::unique_ptr<std::byte[]>> all;
    void* take(std::size_t size, std::size_t) { return all.emplace_back(new std::byte[size]).get(); }
  };

  Pieces pieces_;
  const T& value_;
};

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
