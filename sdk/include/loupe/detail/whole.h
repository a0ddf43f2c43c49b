#pragma once

// Checks that a struct of the other side has the members that this side reads: members beyond its `struct_size` must
// not be read. Check members newer than 1.0 where they are read.

#include <loupe/abi.h>
#include <loupe/detail/messages.h>
#include <loupe/error.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// The other side's struct as far as this side knows it: missing members are zero, newer ones are dropped. A member
/// that is cut off counts as missing.
template <class T>
T known_part(const T& other) {
  if (other.struct_size >= sizeof(T)) {  // the usual case, with a length known to the compiler
    T copy = other;
    copy.struct_size = static_cast<uint32_t>(sizeof copy);
    return copy;
  }
  T copy{};
  std::memcpy(&copy, &other, other.struct_size / alignof(T) * alignof(T));
  copy.struct_size = static_cast<uint32_t>(sizeof copy);
  return copy;
}

inline void need(bool there, const char* what) {
  if (!there) throw Error(std::string(what) + " is missing, or shorter than in ABI 1.0", LOUPE_INVALID);
}

// Each throws Error unless the struct has all members of ABI 1.0. Costs one comparison.
inline void need_whole(const loupe_host* host) {
  need(host != nullptr && LOUPE_REACHES(*host, get_extension), "the host");
}
inline void need_whole(const loupe_options* options) {
  if (options == nullptr) return;
  need(LOUPE_REACHES(*options, value_count), "the options");
  for (std::size_t i = 0; i < options->value_count; ++i) {
    const loupe_option_value* value = options->values[i];
    need(value != nullptr && LOUPE_REACHES(*value, map), "an option's value");
    if (value->type == LOUPE_TYPE_MAP) need_whole(value->map);
  }
}
inline void need_whole(const loupe_taps* taps) {
  need(taps != nullptr && LOUPE_REACHES(*taps, get_extension), "the taps");
}
inline void need_whole(const loupe_wiring* wiring) {
  need(wiring != nullptr && LOUPE_REACHES(*wiring, get_extension), "the wiring");
}
inline void need_whole(const loupe_sink* sink) {
  need(sink != nullptr && LOUPE_REACHES(*sink, get_extension), "the sink");
}
inline void need_whole(const loupe_module* module) {
  if (module == nullptr) return;
  need(LOUPE_REACHES(*module, parameter_count), "a module");
  need(module->model == nullptr || LOUPE_REACHES(*module->model, own_name), "a module's model");
  for (std::size_t i = 0; i < module->parameter_count; ++i)
    need(LOUPE_REACHES(*module->parameters[i], sizes), "a module's parameter");
}
inline void need_whole(const loupe_optimizer* optimizer) {
  if (optimizer == nullptr) return;
  need(LOUPE_REACHES(*optimizer, group_count), "an optimizer");
  for (std::size_t i = 0; i < optimizer->group_count; ++i) {
    need(LOUPE_REACHES(*optimizer->groups[i], settings), "an optimizer's group");
    need_whole(optimizer->groups[i]->settings);
  }
}
inline void need_whole(const loupe_tick* tick) {
  need(tick != nullptr && LOUPE_REACHES(*tick, optimizer_count), "the tick");
  for (std::size_t i = 0; i < tick->optimizer_count; ++i) need_whole(tick->optimizers[i]);
}
inline void need_whole(const loupe_step* step) {
  need(step != nullptr && LOUPE_REACHES(*step, optimizer), "the step");
  need_whole(step->optimizer);
}
inline void need_whole(const loupe_tensor* tensor) {
  need(tensor == nullptr || LOUPE_REACHES(*tensor, native_library), "a tensor");
}
inline void need_whole(const loupe_event* event) {
  need(event != nullptr && LOUPE_REACHES(*event, output_count), "the event");
  need_whole(event->tensor);
  need(event->measurement == nullptr || LOUPE_REACHES(*event->measurement, bin_count), "a measurement");
  need(event->module == nullptr || LOUPE_REACHES(*event->module, parameter_count), "a module");
  for (std::size_t i = 0; i < event->input_count; ++i) need_whole(event->inputs[i]);
  for (std::size_t i = 0; i < event->output_count; ++i) need_whole(event->outputs[i]);
}

// The same for messages to show, for which lenses may pass short structs: missing members become zero, but required
// members must be set.

template <class S, class Member>
bool is_there(const S&, const Member&) {
  return true;
}
template <class S>
bool is_there(const S& message, const messages::TextMember<S>& member) {
  return member.kind != messages::Text::needed || message.*member.at != nullptr;
}
template <class S, class Other>
bool is_there(const S& message, const messages::PointerMember<S, Other>& member) {
  need_whole(message.*member.at);
  return true;
}
template <class S, class Array, class Count>
bool is_there(const S& message, const messages::ArrayMember<S, Array, Count>& member) {
  const std::size_t size = member.size_in(message);
  if (size > 0 && message.*member.at == nullptr) return false;
  using Item = std::remove_const_t<std::remove_pointer_t<Array>>;
  for (std::size_t i = 0; i < size; ++i) {
    if constexpr (std::is_same_v<Item, const char*>) {
      if ((message.*member.at)[i] == nullptr) return false;
    } else if constexpr (std::is_pointer_v<Item>) {
      need_whole((message.*member.at)[i]);
    }
  }
  return true;
}

template <class S>
void need_named(const S& message) {
  each_member<S>([&](const auto& member) {
    if (is_there(message, member)) return;
    need(false,
         ("'" + std::string(member.key != nullptr ? member.key : "a list") + "' of the message to show").c_str());
  });
}
inline void need_named(const loupe_option_value& value) {
  need(value.name != nullptr, "the name of a setting of the run");
  need(value.type != LOUPE_TYPE_STRING || value.string != nullptr, "the text of a setting of the run");
  need(value.string_count == 0 || value.strings != nullptr, "the texts of a setting of the run");
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
