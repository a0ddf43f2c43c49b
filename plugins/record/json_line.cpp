#include "record/json_line.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace loupe::record {

JsonLine& JsonLine::epoch(double epoch) {
  add_key("epoch");
  if (const char* name = non_finite_name(epoch)) {
    add_quoted(name);
  } else {
    append_number(text_, epoch);
  }
  return *this;
}

JsonLine& JsonLine::text(const char* key, std::string_view value) {
  add_key(key);
  add_quoted(value);
  return *this;
}

JsonLine& JsonLine::optional_text(const char* key, const char* value) {
  return value == nullptr || *value == '\0' ? nothing(key) : text(key, value);
}

JsonLine& JsonLine::number(const char* key, double value) {
  add_key(key);
  add_number(value);
  return *this;
}

JsonLine& JsonLine::plain_number(const char* key, double value) {
  return std::isfinite(value) ? raw(key, nlohmann::json(value).dump()) : number(key, value);
}

template <class Add>
JsonLine& JsonLine::items(const char* key, std::size_t count, Add&& add) {
  add_key(key);
  text_ += '[';
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text_ += ',';
    add(i);
  }
  text_ += ']';
  return *this;
}

JsonLine& JsonLine::list(const char* key, const double* values, std::size_t count) {
  return items(key, count, [&](std::size_t i) { add_number(values[i]); });
}

JsonLine& JsonLine::list(const char* key, const char* const* values, std::size_t count) {
  return items(key, count, [&](std::size_t i) { add_quoted(values[i]); });
}

JsonLine& JsonLine::raw(const char* key, std::string_view value) {
  add_key(key);
  text_ += value;
  return *this;
}

void JsonLine::add_quoted(std::string_view value) {
  const auto plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (std::all_of(value.begin(), value.end(), plain)) {
    ((text_ += '"') += value) += '"';
  } else {
    // Names from a model may contain any bytes; U+FFFD replaces invalid UTF-8.
    text_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

void JsonLine::add_number(double value) {
  if (const char* name = non_finite_name(value)) return add_quoted(name);
  const std::size_t begin = text_.size();
  append_number(text_, value);
  // Without a fraction some readers would take it for an integer, and lose the sign of -0.
  if (text_.find_first_of(".e", begin) == std::string::npos) text_ += ".0";
}

}  // namespace loupe::record
