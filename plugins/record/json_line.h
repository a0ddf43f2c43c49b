#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace loupe::record {

/// Writes one line of JSON, member by member, at the end of a text. It builds no tree of JSON and no text for each
/// member, because a tick may have thousands of lines. Every number reads back unchanged; numbers that JSON lacks are
/// the strings "NaN", "Infinity", "-Infinity".
class JsonLine {
 public:
  /// @param text the line is appended to it; it must outlive this object
  JsonLine(std::string& text, const char* kind) : text_(text) { ((text_ += "{\"kind\":\"") += kind) += '"'; }

  /// Written without a point if it is whole.
  JsonLine& epoch(double epoch);
  JsonLine& text(const char* key, std::string_view value);
  /// Writes null for a text that is null or empty.
  JsonLine& optional_text(const char* key, const char* value);
  JsonLine& number(const char* key, double value);
  /// Written as people write it, without a power of ten.
  JsonLine& plain_number(const char* key, double value);
  JsonLine& list(const char* key, const double* values, std::size_t count);
  JsonLine& list(const char* key, const char* const* values, std::size_t count);
  template <class Whole>
  JsonLine& whole(const char* key, Whole value) {
    return raw(key, std::to_string(value));
  }
  /// Left out if it is 0, which means that nobody counted.
  JsonLine& count(const char* key, std::uint64_t value) { return value > 0 ? whole(key, value) : *this; }
  JsonLine& flag(const char* key, bool value) { return raw(key, value ? "true" : "false"); }
  JsonLine& nothing(const char* key) { return raw(key, "null"); }
  void done() { text_ += "}\n"; }

 private:
  void add_key(const char* key) { ((text_ += ",\"") += key) += "\":"; }
  void add_quoted(std::string_view value);
  void add_number(double value);
  JsonLine& raw(const char* key, std::string_view value);
  template <class Add>
  JsonLine& items(const char* key, std::size_t count, Add&& add);

  std::string& text_;
};

}  // namespace loupe::record
