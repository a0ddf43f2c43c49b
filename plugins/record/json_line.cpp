#include "record/json_line.h"

#include <loupe/number_text.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace loupe::record {

JsonLine& JsonLine::epoch(double epoch) {
  const char* name = non_finite_name(epoch);
  return raw("epoch", name != nullptr ? quoted(name) : number_text(epoch));
}

JsonLine& JsonLine::optional_text(const char* key, const char* value) {
  return value == nullptr || *value == '\0' ? nothing(key) : text(key, value);
}

JsonLine& JsonLine::optional_number(const char* key, double value) {
  return std::isnan(value) ? nothing(key) : number(key, value);
}

JsonLine& JsonLine::numbers(const char* key, const double* values, std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (i > 0 ? "," : "") + number_of(values[i]);
  return raw(key, '[' + list + ']');
}

JsonLine& JsonLine::texts(const char* key, const char* const* values, std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (i > 0 ? "," : "") + quoted(values[i]);
  return raw(key, '[' + list + ']');
}

JsonLine& JsonLine::raw(const char* key, const std::string& value) {
  ((((text_ += ",\"") += key) += "\":") += value);
  return *this;
}

std::string JsonLine::quoted(std::string_view value) {
  const auto plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (!std::all_of(value.begin(), value.end(), plain)) {
    // Names from a model may hold anything; a byte that is no UTF-8 becomes U+FFFD.
    return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  std::string text;
  text.reserve(value.size() + 2);
  return ((text += '"') += value) += '"';
}

std::string JsonLine::number_of(double value) {
  if (const char* name = non_finite_name(value)) return quoted(name);
  std::string text = number_text(value);
  // Otherwise some readers take it for an integer, and lose the sign of -0.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace loupe::record
