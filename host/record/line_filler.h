#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/record_line.h"

namespace loupe::replay {

/// The members that lines have, of all kinds together. Words, which stand for numbers, come first.
enum class Field : std::size_t {
  kind,
  type,
  severity,
  state,
  about,
  reason,
  how,
  epoch,
  tag,
  layer,
  line,
  value,
  low_name,
  high_name,
  low,
  high,
  edges,
  counts,
  log_y,
  big,
  annotate,
  y_minimum,
  y_maximum,
  title,
  unit,
  description,
  healthy,
  advice,
  rule,
  parameter,
  message,
  source,
  id,
  caused_by,
  file,
  file_line,
  finding,
  threshold,
  first_step,
  last_step,
  first_epoch,
  last_epoch,
  count,
  text,
  step,
  time,
  timestamp,
  elapsed,
  incomplete,
  events,
  unknown
};
constexpr std::size_t word_count = static_cast<std::size_t>(Field::epoch);

std::string_view name_of(Field field);

/// A set of fields, a bit each.
using Fields = std::uint64_t;
template <class... Each>
constexpr Fields fields(Each... each) {
  return ((Fields{1} << static_cast<std::size_t>(each)) | ... | Fields{0});
}

/// NaN or an infinity by the name that a record gives it.
std::optional<double> number_named(std::string_view text);

/// Fills a RecordLine without a tree of JSON: records are long.
class LineFiller : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit LineFiller(RecordLine& line) : line_(line) {}

  std::string fault;  ///< why the parsing was stopped
  Fields given = 0;   ///< what the line has
  Fields nulls = 0;   ///< of these, what is null: NaN or an empty text
  const std::string& word(Field field) const { return words_[static_cast<std::size_t>(field)]; }

  bool null() override;
  bool boolean(bool flag) override;
  bool number_integer(number_integer_t number) override;
  bool number_unsigned(number_unsigned_t number) override;
  bool number_float(number_float_t number, const string_t&) override { return take(number); }
  bool string(string_t& text) override;
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override;
  bool key(string_t& name) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override;

 private:
  bool at_field() const { return depth_ == 1 && field_ != Field::unknown; }
  bool in_list() const { return list_ != nullptr; }
  std::string* text_here();
  /// What the field at hand is kept in, where it is of that type; else null.
  template <class Type>
  Type* here();
  template <class Type>
  bool put(Type* into, const Type& what);
  bool take(double number);
  bool wrong();
  bool fail(const std::string& what);

  RecordLine& line_;
  Field field_ = Field::unknown;
  std::array<std::string, word_count> words_;
  std::vector<double>* list_ = nullptr;
  int depth_ = 0;
};

}  // namespace loupe::replay
