#pragma once

// Private to the host and the plugins of the same build: messages as JSON, with the member names of a record.

#include <loupe/detail/messages.h>

#include <cmath>
#include <type_traits>

namespace loupe {

/// A number as JSON; numbers that JSON lacks are the strings "NaN", "Infinity", "-Infinity".
template <class Json>
Json json_of(double value) {
  if (const char* name = non_finite_name(value)) return name;
  return value;
}
template <class Json>
Json number_or_null(double value) {
  return std::isnan(value) ? Json() : json_of<Json>(value);
}
template <class Json>
Json text_or_null(const char* text) {
  return text == nullptr || *text == '\0' ? Json() : Json(text);
}

namespace detail {

template <class Json, class S, class Member>
void add_member(Json&, const S&, const Member&) {}  // this member is not part of a line
template <class Json, class S>
void add_member(Json& json, const S& message, const messages::TextMember<S>& member) {
  json[member.key] = text_or_null<Json>(message.*member.at);
}
template <class Json, class S, class T>
void add_member(Json& json, const S& message, const messages::NumberMember<S, T>& member) {
  if constexpr (std::is_floating_point_v<T>) {
    json[member.key] = number_or_null<Json>(message.*member.at);
  } else {
    json[member.key] = message.*member.at;
  }
}
template <class Json, class S>
void add_member(Json& json, const S& message, const messages::OptionalMember<S>& member) {
  const bool is_there = (message.*member.flags & member.flag) != 0;
  json[member.key] = is_there ? number_or_null<Json>(message.*member.at) : Json();
}
template <class Json, class S>
void add_member(Json& json, const S& message, const messages::WordMember<S>& member) {
  json[member.key] = word_of(member.words, message.*member.at);
}

}  // namespace detail

/// Adds the members of a finding to an object, in the order of a record's line.
template <class Json>
void add_members(Json& json, const loupe_finding& finding) {
  detail::each_member<loupe_finding>([&](const auto& member) { detail::add_member(json, finding, member); });
}

}  // namespace loupe
