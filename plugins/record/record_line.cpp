#include "record/record_line.h"

#include <loupe/number_text.h>

#include <loupe/model_json.h>
#include <loupe/utf8.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace loupe::record {
namespace {

using Json = nlohmann::ordered_json;

Json limit(double value) {
  if (std::isnan(value)) return nullptr;
  if (const char* name = non_finite_name(value)) return name;
  return value;
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
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Writes the lines of a tick, of which there may be many thousands: without a tree of JSON for each.
class Line {
 public:
  explicit Line(const char* kind) : text_(std::string("{\"kind\":\"") + kind + '"') {}

  Line& epoch(double epoch) {
    const char* name = non_finite_name(epoch);
    return raw("epoch", name != nullptr ? quoted(name) : number_text(epoch));
  }
  Line& text(const char* key, std::string_view value) { return raw(key, quoted(value)); }
  Line& number(const char* key, double value) { return raw(key, number_of(value)); }
  Line& numbers(const char* key, const double* values, std::size_t count) {
    std::string list;
    for (std::size_t i = 0; i < count; ++i) list += (i > 0 ? "," : "") + number_of(values[i]);
    return raw(key, '[' + list + ']');
  }
  std::string done() { return std::move(text_ += "}\n"); }

 private:
  Line& raw(const char* key, const std::string& value) {
    ((((text_ += ",\"") += key) += "\":") += value);
    return *this;
  }
  static std::string quoted(std::string_view value) {
    const auto plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
    if (!std::all_of(value.begin(), value.end(), plain)) return text_of(value);
    std::string text;
    text.reserve(value.size() + 2);
    return ((text += '"') += value) += '"';
  }
  static std::string number_of(double value) {
    if (const char* name = non_finite_name(value)) return quoted(name);
    std::string text = number_text(value);
    // Otherwise some readers take it for an integer, and lose the sign of -0.
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }

  std::string text_;
};

// Lines just as they are written above need no parser, which takes most of the time over a long record.
bool read_own(OldLine& line) {
  constexpr std::string_view before_kind = "{\"kind\":\"", before_epoch = "\",\"epoch\":";
  const std::string_view text = line.text;
  if (text.substr(0, before_kind.size()) != before_kind) return false;
  const std::size_t end = text.find('"', before_kind.size());
  if (end == std::string_view::npos || text.substr(end, before_epoch.size()) != before_epoch) return false;
  double epoch = 0;
  const auto parsed = std::from_chars(text.data() + end + before_epoch.size(), text.data() + text.size(), epoch);
  if (parsed.ec != std::errc()) return false;
  line.epoch = epoch;
  line.closes_epoch = text.substr(before_kind.size(), end - before_kind.size()) == "tick";
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
  bool complete() const { return kind == "run" || kind == "tag" || kind == "model" || (!kind.empty() && epoch); }

  int depth_ = 0;
  std::string key_;
};

}  // namespace

std::string run_line(const Run& run) {
  return text_of({{"kind", "run"},
                  {"format", format_version},
                  {"name", run.name},
                  {"started", run.started},
                  {"resumed", (run.flags & LOUPE_RUN_RESUMED) != 0},
                  {"loupe_version", run.loupe_version},
                  {"libtorch_version", run.libtorch_version},
                  {"config", run.config}}) +
         '\n';
}

std::string model_line(const Model& model) {
  Json line{{"kind", "model"}};
  line.update(Json::parse(valid_utf8(model_json(model))));
  return text_of(line) + '\n';
}

std::string tag_line(const Tag& tag) {
  return text_of({{"kind", "tag"},
                  {"tag", tag.id},
                  {"type", type_name(tag.type)},
                  {"log_y", tag.log_y != 0},
                  {"big", tag.big != 0},
                  {"annotate", tag.annotate != 0},
                  {"y_minimum", limit(tag.y_minimum)},
                  {"y_maximum", limit(tag.y_maximum)}}) +
         '\n';
}

std::string value_line(double epoch, const Value& value) {
  return Line("value")
      .epoch(epoch)
      .text("tag", value.tag)
      .text("layer", layer_of(value))
      .text("line", value.line)
      .number("value", value.value)
      .done();
}

std::string range_line(double epoch, const Range& range) {
  return Line("range")
      .epoch(epoch)
      .text("tag", range.tag)
      .text("layer", layer_of(range))
      .text("low_name", range.low_name)
      .text("high_name", range.high_name)
      .number("low", range.low)
      .number("high", range.high)
      .done();
}

std::string histogram_line(double epoch, const Histogram& histogram) {
  return Line("histogram")
      .epoch(epoch)
      .text("tag", histogram.tag)
      .text("layer", layer_of(histogram))
      .text("line", histogram.line)
      .numbers("edges", histogram.edges, histogram.bin_count + 1)
      .numbers("counts", histogram.counts, histogram.bin_count)
      .done();
}

std::string tick_line(double epoch, const std::string& time) {
  return Line("tick").epoch(epoch).text("time", time).done();
}

bool read_line(std::istream& input, OldLine& line) {
  if (!std::getline(input, line.text) || input.eof()) return false;
  if (!read_own(line)) {
    KindAndEpoch found;
    nlohmann::json::sax_parse(line.text, &found);
    line.epoch = found.epoch;
    line.closes_epoch = found.kind == "tick";
  }
  line.text += '\n';
  return true;
}

}  // namespace loupe::record
