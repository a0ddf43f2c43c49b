#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace loupe::record {

/// Writes one line of JSON member by member behind a text: without a tree of JSON or a text for each member, for a tick
/// may have many thousands of lines. Every number reads back as the same one; those that JSON lacks are the strings
/// "NaN", "Infinity", "-Infinity".
class JsonLine {
 public:
  /// @param text outlives the line, which is added to it
  JsonLine(std::string& text, const char* kind) : text_(text) { ((text_ += "{\"kind\":\"") += kind) += '"'; }

  /// Written without a point where it is whole.
  JsonLine& epoch(double epoch);
  JsonLine& text(const char* key, std::string_view value);
  /// null for a text that is null or empty.
  JsonLine& optional_text(const char* key, const char* value);
  JsonLine& number(const char* key, double value);
  /// Without a power of ten, as people write it.
  JsonLine& plain_number(const char* key, double value);
  JsonLine& list(const char* key, const double* values, std::size_t count);
  JsonLine& list(const char* key, const char* const* values, std::size_t count);
  template <class Whole>
  JsonLine& whole(const char* key, Whole value) {
    return raw(key, std::to_string(value));
  }
  /// Left out where it is 0, for nobody counted.
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
