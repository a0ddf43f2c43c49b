#pragma once

#include <loupe/abi.h>
#include <loupe/text/number_text.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loupe {
inline namespace v1_0 {

/// The word for a constant of the boundary, for people and for files.
struct Word {
  uint32_t value;
  const char* word;
};

inline constexpr Word severity_words[] = {
    {LOUPE_SEVERITY_INFO, "info"}, {LOUPE_SEVERITY_WARNING, "warning"}, {LOUPE_SEVERITY_ERROR, "error"}};
inline constexpr Word finding_state_words[] = {
    {LOUPE_FINDING_RAISED, "raised"}, {LOUPE_FINDING_CHANGED, "changed"}, {LOUPE_FINDING_GONE, "gone"}};
inline constexpr Word note_words[] = {
    {LOUPE_NOTE_TRAINER, "trainer"},      {LOUPE_NOTE_QUARANTINE, "quarantine"}, {LOUPE_NOTE_COST, "cost"},
    {LOUPE_NOTE_GUESS, "guess"},          {LOUPE_NOTE_INCIDENT, "incident"},     {LOUPE_NOTE_RANKS, "ranks"},
    {LOUPE_NOTE_UNOBSERVED, "unobserved"}};
inline constexpr Word tick_words[] = {
    {LOUPE_TICK_EPOCH, "epoch"}, {LOUPE_TICK_STEPS, "steps"}, {LOUPE_TICK_SECONDS, "seconds"}, {LOUPE_TICK_END, "end"}};
inline constexpr Word ending_words[] = {
    {LOUPE_END_COMPLETED, "completed"}, {LOUPE_END_INTERRUPTED, "interrupted"}, {LOUPE_END_FAILED, "failed"}};

inline constexpr Word tag_type_words[] = {
    {LOUPE_SCALE_NUMERICAL, "numerical"}, {LOUPE_SCALE_PROBABILITY, "probability"}, {LOUPE_SCALE_RELATION, "relation"}};

/// One of the lists above.
struct Words {
  template <std::size_t size>
  constexpr Words(const Word (&words)[size]) : first(words), count(size) {}
  constexpr const Word* begin() const { return first; }
  constexpr const Word* end() const { return first + count; }

  const Word* first;
  std::size_t count;
};

/// The word of a value. A later version's value, which has no word yet, is written as a number: "7".
inline std::string word_of(const Words& words, uint32_t value) {
  for (const Word& each : words) {
    if (each.value == value) return each.word;
  }
  return std::to_string(value);
}

/// The value of such a word; none for another text.
inline std::optional<uint32_t> value_called(const Words& words, std::string_view word) {
  for (const Word& each : words) {
    if (each.word == word) return each.value;
  }
  uint32_t value = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || parsed.ec != std::errc() || parsed.ptr != word.data() + word.size()) return std::nullopt;
  return value;
}

/// A text of the boundary; empty for null.
inline std::string text_of(const char* text) {
  return text != nullptr ? text : "";
}

/// A finding's message with its place in the program's source: "the output is NaN (net.cpp:120)".
inline std::string message_with_place(const std::string& message, const std::string& file, uint32_t line) {
  if (file.empty()) return message;
  return message + " (" + file + (line > 0 ? ":" + std::to_string(line) : "") + ")";
}
inline std::string message_with_place(const loupe_finding& finding) {
  return message_with_place(text_of(finding.message), text_of(finding.file), finding.line);
}

/// A setting as people write it: "0.001", "true", "flip, crop".
inline std::string setting_text(const loupe_option_value& value) {
  switch (value.type) {
    case LOUPE_TYPE_BOOLEAN:
      return value.integer != 0 ? "true" : "false";
    case LOUPE_TYPE_INTEGER:
      return std::to_string(value.integer);
    case LOUPE_TYPE_NUMBER:
      return number_text(value.number);
    case LOUPE_TYPE_STRING:
      return value.string != nullptr ? value.string : "";
    default:
      std::string all;
      for (std::size_t i = 0; i < value.string_count; ++i) all += (i == 0 ? "" : ", ") + std::string(value.strings[i]);
      return all;
  }
}

}  // namespace v1_0
}  // namespace loupe
