#ifndef LOUPE_RECORD_JSON_LINE_H
#define LOUPE_RECORD_JSON_LINE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace loupe::record {

/// Writes one line of JSON member by member: without a tree of JSON for each, for a tick may have many thousands.
/// Every number reads back as the same one; those that JSON lacks are the strings "NaN", "Infinity", "-Infinity".
class JsonLine {
 public:
  explicit JsonLine(const char* kind) : text_(std::string("{\"kind\":\"") + kind + '"') {}

  /// Written without a point where it is whole.
  JsonLine& epoch(double epoch);
  JsonLine& text(const char* key, std::string_view value) { return raw(key, quoted(value)); }
  /// null for a text that is null or empty.
  JsonLine& optional_text(const char* key, const char* value);
  JsonLine& number(const char* key, double value) { return raw(key, number_of(value)); }
  /// null for NaN.
  JsonLine& optional_number(const char* key, double value);
  JsonLine& numbers(const char* key, const double* values, std::size_t count);
  JsonLine& texts(const char* key, const char* const* values, std::size_t count);
  JsonLine& whole(const char* key, std::uint64_t value) { return raw(key, std::to_string(value)); }
  /// Left out where it is 0, for nobody counted.
  JsonLine& count(const char* key, std::uint64_t value) { return value > 0 ? whole(key, value) : *this; }
  JsonLine& integer(const char* key, std::int64_t value) { return raw(key, std::to_string(value)); }
  JsonLine& flag(const char* key, bool value) { return raw(key, value ? "true" : "false"); }
  JsonLine& nothing(const char* key) { return raw(key, "null"); }
  /// With its line end.
  std::string done() { return std::move(text_ += "}\n"); }

 private:
  JsonLine& raw(const char* key, const std::string& value);
  static std::string quoted(std::string_view value);
  static std::string number_of(double value);

  std::string text_;
};

}  // namespace loupe::record

#endif
