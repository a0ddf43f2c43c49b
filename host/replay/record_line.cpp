#include "replay/record_line.h"

#include <loupe/abi.h>
#include <loupe/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "config/suggestion.h"

namespace loupe::replay {
namespace {

using Kind = RecordLine::Kind;

constexpr int newest_format = 2;

enum Field : std::size_t {
  kind,
  epoch,
  tag,
  layer,
  line_name,
  value,
  low_name,
  high_name,
  low,
  high,
  edges,
  counts,
  type,
  log_y,
  big,
  annotate,
  y_minimum,
  y_maximum,
  field_count
};
constexpr std::array<std::string_view, field_count> field_names = {
    "kind", "epoch", "tag",    "layer", "line",  "value", "low_name", "high_name", "low",
    "high", "edges", "counts", "type",  "log_y", "big",   "annotate", "y_minimum", "y_maximum"};

struct KindOfLine {
  std::string_view name;
  Kind kind;
  std::uint32_t fields;  // what it must have, a bit each
};

template <class... Fields>
constexpr std::uint32_t fields(Fields... each) {
  return ((std::uint32_t{1} << each) | ... | 0u);
}

constexpr std::array<KindOfLine, 7> kinds = {{
    {"value", Kind::value, fields(epoch, tag, layer, line_name, value)},
    {"range", Kind::range, fields(epoch, tag, layer, low_name, high_name, low, high)},
    {"histogram", Kind::histogram, fields(epoch, tag, layer, line_name, edges, counts)},
    {"tick", Kind::tick, fields(epoch)},
    {"tag", Kind::tag, fields(tag, type, log_y, big, annotate, y_minimum, y_maximum)},
    {"model", Kind::model, 0},
    {"run", Kind::run, 0},
}};

std::optional<double> number_named(std::string_view text) {
  if (text == "NaN") return NAN;
  if (text == "Infinity") return INFINITY;
  if (text == "-Infinity") return -INFINITY;
  return std::nullopt;
}

/// Fills a RecordLine without a tree of JSON: records are long.
class Filler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Filler(RecordLine& line) : line_(line) {}

  std::string kind_name, type_name, fault;
  std::uint32_t given = 0;

  bool null() override {
    if (!at_field()) return true;
    double* number = number_of(field_);
    const bool limit = field_ == y_minimum || field_ == y_maximum;
    return limit ? put<double>(number, NAN) : wrong();
  }
  bool boolean(bool flag) override {
    if (!at_field()) return true;
    return field_ == log_y      ? put(&line_.log_y, flag)
           : field_ == big      ? put(&line_.big, flag)
           : field_ == annotate ? put(&line_.annotate, flag)
                                : wrong();
  }
  bool number_integer(number_integer_t number) override { return take(static_cast<double>(number)); }
  bool number_unsigned(number_unsigned_t number) override { return take(static_cast<double>(number)); }
  bool number_float(number_float_t number, const string_t&) override { return take(number); }
  bool string(string_t& text) override {
    if (in_list()) {
      const auto number = number_named(text);
      return number ? take(*number) : wrong();
    }
    if (!at_field()) return true;
    if (std::string* into = text_of(field_)) {
      into->swap(text);
      given |= fields(field_);
      return true;
    }
    const auto number = number_named(text);
    return number ? take(*number) : wrong();
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    if (depth_ > 0 && (at_field() || in_list())) return wrong();
    ++depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    const auto found = std::find(field_names.begin(), field_names.end(), name);
    field_ = static_cast<Field>(found - field_names.begin());
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0) return fail("this line is no JSON object");
    if (in_list()) return wrong();
    if (at_field()) {
      list_ = field_ == edges ? &line_.edges : field_ == counts ? &line_.counts : nullptr;
      if (list_ == nullptr) return wrong();
      list_->clear();
      given |= fields(field_);
    }
    ++depth_;
    return true;
  }
  bool end_array() override {
    list_ = nullptr;
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    return fail("this line is no JSON, from its character " + std::to_string(position) + " on");
  }

 private:
  bool at_field() const { return depth_ == 1 && field_ != field_count; }
  bool in_list() const { return list_ != nullptr; }

  bool take(double number) {
    if (in_list()) {
      list_->push_back(number);
      return true;
    }
    if (depth_ == 0) return fail("this line is no JSON object");
    return at_field() ? put(number_of(field_), number) : true;
  }
  template <class T>
  bool put(T* into, T what) {
    if (into == nullptr) return wrong();
    *into = what;
    given |= fields(field_);
    return true;
  }
  bool wrong() { return fail("'" + std::string(field_names[field_]) + "' cannot have that value"); }
  bool fail(const std::string& what) {
    fault = what;
    return false;
  }

  std::string* text_of(Field field) {
    switch (field) {
      case kind:
        return &kind_name;
      case tag:
        return &line_.tag;
      case layer:
        return &line_.layer;
      case line_name:
        return &line_.line;
      case low_name:
        return &line_.low_name;
      case high_name:
        return &line_.high_name;
      case type:
        return &type_name;
      default:
        return nullptr;
    }
  }
  double* number_of(Field field) {
    switch (field) {
      case epoch:
        return &line_.epoch;
      case value:
        return &line_.value;
      case low:
        return &line_.low;
      case high:
        return &line_.high;
      case y_minimum:
        return &line_.y_minimum;
      case y_maximum:
        return &line_.y_maximum;
      default:
        return nullptr;
    }
  }

  RecordLine& line_;
  Field field_ = field_count;
  std::vector<double>* list_ = nullptr;
  int depth_ = 0;
};

const KindOfLine& kind_called(const std::string& name) {
  std::vector<std::string> known;
  for (const KindOfLine& each : kinds) {
    if (each.name == name) return each;
    known.emplace_back(each.name);
  }
  throw Error("a line cannot be of the kind '" + name + "'" + suggestion(name, known));
}

std::uint32_t tag_type_called(const std::string& name) {
  if (name == "numerical") return LOUPE_TAG_NUMERICAL;
  if (name == "probability") return LOUPE_TAG_PROBABILITY;
  if (name == "relation") return LOUPE_TAG_RELATION;
  throw Error("a tag cannot be of the type '" + name + "'" +
              suggestion(name, {"numerical", "probability", "relation"}));
}

void check_histogram(const RecordLine& line) {
  if (line.edges.size() != line.counts.size() + 1 || line.counts.empty()) {
    throw Error("a histogram has one more edge than it has counts, and this one has " +
                std::to_string(line.edges.size()) + " and " + std::to_string(line.counts.size()));
  }
  for (std::size_t i = 0; i + 1 < line.edges.size(); ++i) {
    if (!(line.edges[i] < line.edges[i + 1])) throw Error("the edges of a histogram must ascend");
  }
}

}  // namespace

void parse_record_line(std::string_view text, RecordLine& line) {
  Filler filler(line);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &filler)) throw Error(filler.fault);
  if ((filler.given & fields(kind)) == 0) throw Error("this line has no 'kind'");
  const KindOfLine& found = kind_called(filler.kind_name);
  line.kind = found.kind;
  if (const std::uint32_t lacking = found.fields & ~filler.given; lacking != 0) {
    const std::string first(field_names[static_cast<std::size_t>(__builtin_ctz(lacking))]);
    throw Error("a line of the kind '" + filler.kind_name + "' lacks '" + first + "'");
  }
  if (line.kind == Kind::tag) line.tag_type = tag_type_called(filler.type_name);
  if (line.kind == Kind::histogram) check_histogram(line);
}

namespace {

nlohmann::json parse_small(std::string_view text) {
  constexpr int deepest = 100;
  return nlohmann::json::parse(text, [](int depth, auto, const auto&) {
    if (depth > deepest) throw Error("this line is nested deeper than a record's");
    return true;
  });
}

[[noreturn]] void fail_by_type(const char* kind) {
  throw Error(std::string("a value of this ") + kind +
              " line is not of the type that a record gives it; was the file changed by hand?");
}

}  // namespace

RecordedModel parse_model_line(std::string_view text) try {
  const auto json = parse_small(text);
  RecordedModel model;
  model.name = json.value("name", "");
  model.type = json.value("type", "");
  model.parameters = json.value("parameters", int64_t{0});
  for (const auto& each : json.value("modules", nlohmann::json::array())) {
    model.modules.push_back({each.value("name", ""), each.value("type", ""), each.value("parameters", int64_t{0}),
                             each.value("leaf", false)});
  }
  return model;
} catch (const nlohmann::json::exception&) {
  fail_by_type("model");
}

RecordedRun parse_run_line(std::string_view text) try {
  const auto json = parse_small(text);
  const int format = json.value("format", 0);
  if (format < 1 || format > newest_format) {
    throw Error("this record is of format " + std::to_string(format) + ", and this Loupe reads up to format " +
                std::to_string(newest_format) + "; update Loupe");
  }
  RecordedRun run;
  run.name = json.value("name", "");
  run.config = json.value("config", "");
  run.started = json.value("started", "");
  run.loupe_version = json.value("loupe_version", "");
  run.libtorch_version = json.value("libtorch_version", "");
  run.resumed = json.value("resumed", false);
  return run;
} catch (const nlohmann::json::type_error&) {
  fail_by_type("run");
}

}  // namespace loupe::replay
