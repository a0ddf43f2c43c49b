#include "record/record_line.h"

#include <loupe/finding.h>
#include <loupe/text/number_text.h>
#include <loupe/text/utc_text.h>
#include <loupe/text/words.h>
#include <loupe/visualizer.h>
#include <loupe/visualizers/model_json.h>
#include <utf8.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "record/json_line.h"

namespace loupe::record {
namespace {

using Json = nlohmann::ordered_json;

Json limit(std::optional<double> value) {
  if (!value || std::isnan(*value)) return nullptr;
  if (const char* name = non_finite_name(*value)) return name;
  return *value;
}

const char* type_name(std::uint32_t type) {
  switch (type) {
    case LOUPE_SCALE_PROBABILITY:
      return "probability";
    case LOUPE_SCALE_RELATION:
      return "relation";
    default:
      return "numerical";
  }
}

// Names from a model may hold anything; a byte that is no UTF-8 becomes U+FFFD.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The texts of a tag that people read, those that it has.
void add_texts(Json& line, const Tag& tag) {
  const auto add = [&](const char* key, const char* text) {
    if (text != nullptr && *text != '\0') line[key] = text;
  };
  if (std::string(title_of(tag)) != tag.id) add("title", tag.title);
  add("unit", tag.unit);
  add("description", tag.description);
  add("healthy", tag.healthy);
  add("advice", tag.advice);
}

JsonLine& add_time(JsonLine& line, double time) {
  // The text is for people; the number is exact.
  return line.text("time", utc_text(time)).number("timestamp", time);
}

}  // namespace

std::string run_line(const Run& run) {
  return text_of({{"kind", "run"},
                  {"format", format_version},
                  {"name", run.name},
                  {"started", run.started},
                  {"resumed", (run.flags & LOUPE_RUN_RESUMED) != 0},
                  {"loupe_version", run.loupe_version},
                  {"libtorch_version", run.libtorch_version},
                  {"directory", run.directory},
                  {"start_time", run.start_time},
                  {"rank", run.rank},
                  {"world_size", run.world_size},
                  {"train_loss", run.train_loss},
                  {"val_loss", run.validation_loss},
                  {"lenses", std::vector<std::string>(run.lenses, run.lenses + run.lens_count)},
                  {"config", run.config}}) +
         '\n';
}

std::string model_line(const Model& model) {
  Json line{{"kind", "model"}};
  line.update(Json::parse(utf8::replace_invalid(model_json(model))));
  return text_of(line) + '\n';
}

std::string tag_line(const Tag& tag) {
  Json line{{"kind", "tag"},
            {"tag", tag.id},
            {"type", type_name(tag.type)},
            {"log_y", is_logarithmic(tag)},
            {"big", is_big(tag)},
            {"annotate", is_annotated(tag)},
            {"y_minimum", limit(y_minimum_of(tag))},
            {"y_maximum", limit(y_maximum_of(tag))}};
  add_texts(line, tag);
  return text_of(line) + '\n';
}

void add_value_line(std::string& text, double epoch, const RowValue& value) {
  JsonLine(text, "value")
      .epoch(epoch)
      .text("tag", value.tag)
      .text("layer", layer_of(value))
      .text("line", value.line)
      .number("value", value.value)
      .count("events", value.events)
      .done();
}

void add_range_line(std::string& text, double epoch, const RowRange& range) {
  JsonLine(text, "range")
      .epoch(epoch)
      .text("tag", range.tag)
      .text("layer", layer_of(range))
      .text("low_name", range.low_name)
      .text("high_name", range.high_name)
      .number("low", range.low)
      .number("high", range.high)
      .count("events", range.events)
      .done();
}

void add_histogram_line(std::string& text, double epoch, const Histogram& histogram) {
  JsonLine(text, "histogram")
      .epoch(epoch)
      .text("tag", histogram.tag)
      .text("layer", layer_of(histogram))
      .text("line", histogram.line)
      .numbers("edges", histogram.edges, histogram.bin_count + 1)
      .numbers("counts", histogram.counts, histogram.bin_count)
      .count("events", histogram.events)
      .done();
}

std::string hyperparameter_line(const Hyperparameter& told) {
  std::string text;
  JsonLine line(text, "hyperparameter");
  line.text("name", told.name);
  // Not "value": a column that holds numbers alone stays one.
  constexpr const char* key = "setting";
  switch (told.type) {
    case LOUPE_TYPE_BOOLEAN:
      line.text("type", "boolean").flag(key, told.integer != 0);
      break;
    case LOUPE_TYPE_INTEGER:
      line.text("type", "integer").integer(key, told.integer);
      break;
    case LOUPE_TYPE_NUMBER:
      line.text("type", "number").number(key, told.number);
      break;
    case LOUPE_TYPE_STRING:
      line.text("type", "string").text(key, told.string);
      break;
    case LOUPE_TYPE_STRINGS:
      line.text("type", "strings").texts(key, told.strings, told.string_count);
      break;
    default:
      line.text("type", "map").nothing(key);
  }
  line.done();
  return text;
}

std::string finding_line(double epoch, const loupe_finding& finding) {
  std::string text;
  JsonLine(text, "finding")
      .epoch(epoch)
      .text("severity", word_of(severity_words, finding.severity))
      .text("state", word_of(finding_state_words, finding.state))
      .whole("id", finding.id)
      .text("rule", finding.rule)
      .optional_text("layer", layer_of(finding))
      .optional_text("parameter", finding.parameter)
      .text("message", finding.message)
      .optional_text("advice", finding.advice)
      .optional_text("tag", finding.tag)
      .optional_text("source", finding.source)
      .optional_text("caused_by", finding.caused_by)
      .optional_text("file", finding.file)
      .whole("file_line", finding.line)
      .optional_number("value", value_of(finding).value_or(NAN))
      .optional_number("threshold", threshold_of(finding).value_or(NAN))
      .whole("first_step", finding.first_step)
      .whole("last_step", finding.last_step)
      .number("first_epoch", finding.first_epoch)
      .number("last_epoch", finding.last_epoch)
      .whole("count", finding.count)
      .done();
  return text;
}

std::string note_line(const Note& note) {
  std::string text;
  JsonLine line(text, "note");
  line.epoch(note.at.epoch)
      .text("about", word_of(note_words, note.kind))
      .text("text", note.text)
      .whole("step", note.at.step)
      .whole("finding", note.finding);
  add_time(line, note.at.time).number("elapsed", note.at.elapsed).done();
  return text;
}

std::string tick_line(const Tick& tick) {
  std::string text;
  JsonLine line(text, "tick");
  add_time(line.epoch(tick.at.epoch), tick.at.time)
      .number("elapsed", tick.at.elapsed)
      .whole("step", tick.at.step)
      .text("reason", word_of(tick_words, tick.reason))
      .flag("incomplete", (tick.flags & LOUPE_TICK_INCOMPLETE) != 0)
      .done();
  return text;
}

std::string end_line(const Ending& ending) {
  std::string text;
  JsonLine line(text, "end");
  line.epoch(ending.at.epoch);
  line.optional_text("how", ending.how != 0 ? word_of(ending_words, ending.how).c_str() : nullptr);
  add_time(line, ending.at.time)
      .number("elapsed", ending.at.elapsed)
      .whole("step", ending.at.step)
      .optional_text("message", ending.message)
      .done();
  return text;
}

}  // namespace loupe::record
