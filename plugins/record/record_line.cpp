#include "record/record_line.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "common/number_text.h"

namespace loupe::record {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (const char* name = non_finite_name(value)) return name;
  return value;
}

Json epoch_number(double epoch) {
  // Beyond 2^53 a double holds no odd integers, and most readers of JSON none at all.
  if (std::abs(epoch) < 9007199254740992.0 && epoch == std::trunc(epoch)) return static_cast<std::int64_t>(epoch);
  return number(epoch);
}

Json numbers(const double* values, std::size_t count) {
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back(number(values[i]));
  return list;
}

Json limit(double value) {
  return std::isnan(value) ? Json() : number(value);
}

const char* type_name(std::uint32_t type) {
  switch (type) {
    case LOUPE_TAG_PROBABILITY:
      return "probability";
    case LOUPE_TAG_RELATION:
      return "relation";
    default:
      return "numerical";
  }
}

// Names from a model may hold anything; a byte that is no UTF-8 becomes U+FFFD.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
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
  bool complete() const { return kind == "run" || kind == "tag" || (!kind.empty() && epoch); }

  int depth_ = 0;
  std::string key_;
};

}  // namespace

std::string run_line(const Run& run) {
  // A run without models has "", which is no JSON.
  Json models = *run.models == '\0' ? Json::array() : Json::parse(run.models, nullptr, false);
  if (models.is_discarded()) models = run.models;
  return line_of({{"kind", "run"},
                  {"format", format_version},
                  {"name", run.name},
                  {"started", run.started},
                  {"resumed", run.resumed != 0},
                  {"loupe_version", run.loupe_version},
                  {"libtorch_version", run.libtorch_version},
                  {"config", run.config},
                  {"models", models}});
}

std::string tag_line(const Tag& tag) {
  return line_of({{"kind", "tag"},
                  {"tag", tag.name},
                  {"type", type_name(tag.type)},
                  {"log_y", tag.log_y != 0},
                  {"big", tag.big != 0},
                  {"annotate", tag.annotate != 0},
                  {"y_minimum", limit(tag.y_minimum)},
                  {"y_maximum", limit(tag.y_maximum)}});
}

std::string value_line(double epoch, const Value& value) {
  return line_of({{"kind", "value"},
                  {"epoch", epoch_number(epoch)},
                  {"tag", value.tag},
                  {"layer", value.layer},
                  {"line", value.line},
                  {"value", number(value.value)}});
}

std::string range_line(double epoch, const Range& range) {
  return line_of({{"kind", "range"},
                  {"epoch", epoch_number(epoch)},
                  {"tag", range.tag},
                  {"layer", range.layer},
                  {"low_name", range.low_name},
                  {"high_name", range.high_name},
                  {"low", number(range.low)},
                  {"high", number(range.high)}});
}

std::string histogram_line(double epoch, const Histogram& histogram) {
  return line_of({{"kind", "histogram"},
                  {"epoch", epoch_number(epoch)},
                  {"tag", histogram.tag},
                  {"layer", histogram.layer},
                  {"line", histogram.line},
                  {"edges", numbers(histogram.edges, histogram.bin_count + 1)},
                  {"counts", numbers(histogram.counts, histogram.bin_count)}});
}

std::string tick_line(double epoch, const std::string& time) {
  return line_of({{"kind", "tick"}, {"epoch", epoch_number(epoch)}, {"time", time}});
}

bool read_line(std::istream& input, OldLine& line) {
  if (!std::getline(input, line.text) || input.eof()) return false;
  KindAndEpoch found;
  nlohmann::json::sax_parse(line.text, &found);
  line.text += '\n';
  line.epoch = found.epoch;
  line.closes_epoch = found.kind == "tick";
  return true;
}

}  // namespace loupe::record
