// What an earlier run left in a record, for a run that goes on with it.

#include <loupe/files/readable.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "record/record_line.h"

namespace loupe::record {
namespace {

void take(OldLine& line, std::string_view kind, std::optional<double> epoch) {
  line.epoch = epoch;
  line.closes_epoch = kind == "tick";
  line.stands_alone = kind == "finding" || kind == "note" || kind == "end";
}

// Lines just as JsonLine writes them need no parser, which takes most of the time over a long record.
bool read_own(OldLine& line) {
  constexpr std::string_view before_kind = "{\"kind\":\"", before_epoch = "\",\"epoch\":";
  const std::string_view text = line.text;
  if (text.substr(0, before_kind.size()) != before_kind) return false;
  const std::size_t end = text.find('"', before_kind.size());
  if (end == std::string_view::npos || text.substr(end, before_epoch.size()) != before_epoch) return false;
  double epoch = 0;
  const auto parsed = std::from_chars(text.data() + end + before_epoch.size(), text.data() + text.size(), epoch);
  if (parsed.ec != std::errc()) return false;
  take(line, text.substr(before_kind.size(), end - before_kind.size()), epoch);
  return true;
}

/// Takes `kind` and `epoch` from a line and stops as soon as it has them: records are long.
class KindAndEpoch : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::string kind;
  std::optional<double> epoch;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return take(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return take(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return take(value); }
  bool string(string_t& value) override {
    if (depth_ == 1 && key_ == "kind") kind = value;
    return !complete();
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    ++depth_;
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ == 1) key_ = value;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override { return ++depth_ > 0; }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  bool take(double value) {
    if (depth_ == 1 && key_ == "epoch") epoch = value;
    return !complete();
  }
  bool complete() const {
    return kind == "run" || kind == "tag" || kind == "model" || kind == "hyperparameter" || (!kind.empty() && epoch);
  }

  int depth_ = 0;
  std::string key_;
};

}  // namespace

bool read_old_line(std::istream& input, OldLine& line) {
  if (!read_line(input, line.text) || input.eof()) return false;
  if (!read_own(line)) {
    KindAndEpoch found;
    nlohmann::json::sax_parse(line.text, &found);
    take(line, found.kind, found.epoch);
  }
  line.text += '\n';
  return true;
}

}  // namespace loupe::record
