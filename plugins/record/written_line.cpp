#include "record/written_line.h"

#include <loupe/detail/messages.h>
#include <loupe/text/number_text.h>
#include <loupe/visualizer.h>
#include <loupe/visualizers/model_json.h>
#include <utf8.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "record/json_line.h"

namespace loupe::record {
namespace {

namespace messages = detail::messages;
using Json = nlohmann::ordered_json;

// Adds a member of a message to its line.
template <class S>
void add(JsonLine& line, const S& message, const messages::TextMember<S>& member) {
  const char* text = message.*member.at;
  if (member.kind == messages::Text::needed || member.kind == messages::Text::or_empty) {
    line.text(member.key, text != nullptr ? text : "");
  } else if (member.kind == messages::Text::or_null || (text != nullptr && *text != '\0')) {
    line.optional_text(member.key, text);
  }
}
template <class S, class T>
void add(JsonLine& line, const S& message, const messages::NumberMember<S, T>& member) {
  if constexpr (std::is_floating_point_v<T>) {
    line.number(member.key, message.*member.at);
  } else if constexpr (std::is_arithmetic_v<T>) {
    line.whole(member.key, message.*member.at);
  }
}
template <class S>
void add(JsonLine& line, const S& message, const messages::CountMember<S>& member) {
  if (message.*member.at > 0) line.whole(member.key, message.*member.at);
}
template <class S>
void add(JsonLine& line, const S& message, const messages::PlainMember<S>& member) {
  line.plain_number(member.key, message.*member.at);
}
template <class S>
void add(JsonLine& line, const S& message, const messages::OptionalMember<S>& member) {
  const double value = message.*member.at;
  if ((message.*member.flags & member.flag) == 0 || std::isnan(value)) {
    line.nothing(member.key);
  } else if (member.is_plain) {
    line.plain_number(member.key, value);
  } else {
    line.number(member.key, value);
  }
}
template <class S>
void add(JsonLine& line, const S& message, const messages::FlagMember<S>& member) {
  line.flag(member.key, (message.*member.at & member.flag) != 0);
}
template <class S>
void add(JsonLine& line, const S& message, const messages::WordMember<S>& member) {
  const uint32_t value = message.*member.at;
  if (value == 0 && member.zero_is_null) {
    line.nothing(member.key);
  } else {
    line.text(member.key, word_of(member.words, value));
  }
}
template <class S, class T>
void add(JsonLine& line, const S& message, const messages::MomentMember<S, T>& member) {
  add(line, message.*member.at, messages::NumberMember<loupe_moment, T>{member.key, member.part});
}
template <class S>
void add(JsonLine& line, const S& message, const messages::TimeMember<S>& member) {
  const double time = (message.*member.at).time;
  // The text is for people; the number is exact.
  line.text(member.key, utc_text(time)).number("timestamp", time);
}
template <class S, class Array, class Count>
void add(JsonLine& line, const S& message, const messages::ArrayMember<S, Array, Count>& member) {
  if constexpr (!std::is_pointer_v<std::remove_pointer_t<Array>> || std::is_same_v<Array, const char* const*>)
    line.list(member.key, message.*member.at, member.size_in(message));
}
template <class S, class Other>
void add(JsonLine&, const S&, const messages::PointerMember<S, Other>&) {}

/// Adds all members of a message to its line, and ends the line.
template <class S>
void add_members(JsonLine& line, const S& message) {
  detail::each_member<S>([&](const auto& member) {
    if (member.key != nullptr) add(line, message, member);
  });
  line.done();
}
/// @param epoch  the epoch in which the message was reported
template <class S>
std::string line_of(const char* kind, double epoch, const S& message) {
  std::string text;
  JsonLine line(text, kind);
  add_members(line.epoch(epoch), message);
  return text;
}

}  // namespace

std::string run_line(const Run& run) {
  std::string text;
  JsonLine line(text, "run");
  add_members(line.whole("format", format_version), run);
  return text;
}

std::string model_line(const Model& model) {
  Json line{{"kind", "model"}};
  line.update(Json::parse(utf8::replace_invalid(model_json(model))));
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string tag_line(Tag tag) {
  if (std::string_view(title_of(tag)) == tag.id) tag.title = nullptr;
  std::string text;
  JsonLine line(text, "tag");
  add_members(line, tag);
  return text;
}

void add_value_line(std::string& text, double epoch, const RowValue& value) {
  JsonLine(text, "value")
      .epoch(epoch)
      .text("tag", value.tag)
      .text("layer", layer_of(value))
      .text("line", value.line)
      .number("value", value.value)
      .count("events", value.events)
      .count("step", value.step)
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
      .count("step", range.step)
      .done();
}

void add_histogram_line(std::string& text, double epoch, Histogram histogram) {
  histogram.layer = layer_of(histogram);
  JsonLine line(text, "histogram");
  add_members(line.epoch(epoch), histogram);
}

std::string hyperparameter_line(const Hyperparameter& told) {
  std::string text;
  JsonLine line(text, "hyperparameter");
  line.text("name", told.name);
  // Not "value", so that a column of that name contains only numbers.
  constexpr const char* key = "setting";
  switch (told.type) {
    case LOUPE_TYPE_BOOLEAN:
      line.text("type", "boolean").flag(key, told.integer != 0);
      break;
    case LOUPE_TYPE_INTEGER:
      line.text("type", "integer").whole(key, told.integer);
      break;
    case LOUPE_TYPE_NUMBER:
      line.text("type", "number").number(key, told.number);
      break;
    case LOUPE_TYPE_STRING:
      line.text("type", "string").text(key, told.string);
      break;
    case LOUPE_TYPE_STRINGS:
      line.text("type", "strings").list(key, told.strings, told.string_count);
      break;
    default:
      line.text("type", "map").nothing(key);
  }
  line.done();
  return text;
}

std::string finding_line(double epoch, loupe_finding finding) {
  finding.layer = layer_of(finding);
  return line_of("finding", epoch, finding);
}

std::string note_line(const Note& note) {
  return line_of("note", note.at.epoch, note);
}

std::string tick_line(const Tick& tick) {
  return line_of("tick", tick.at.epoch, tick);
}

std::string end_line(const Ending& ending) {
  return line_of("end", ending.at.epoch, ending);
}

}  // namespace loupe::record
