#pragma once

// The members of each message to visualizers, listed once, in the order of the record's lines. Copies (owned.h), checks
// of required members (whole.h), and writing and reading of record lines use this list. A new member of a message in
// loupe/abi needs an entry here; the test Messages.HaveAnEntryForEachMember names a missing one.

#include <loupe/abi.h>
#include <loupe/text/words.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace loupe {
inline namespace v1_0 {
namespace detail {
namespace messages {

// Kinds of members. `key` is the member's name in a record's line; null: it is in no line, or in another message's.

/// Whether a text may be null, and how a line writes one that is null or empty.
enum class Text { needed, or_empty, or_null, or_left_out };
template <class S>
struct TextMember {
  const char* key;
  const char* S::*at;
  Text kind;
};
template <class S, class T>
struct NumberMember {
  const char* key;
  T S::*at;
};
/// A count. A line leaves it out if it is 0, which means not counted.
template <class S>
struct CountMember {
  const char* key;
  uint64_t S::*at;
};
/// A number that a line never writes with an exponent.
template <class S>
struct PlainMember {
  const char* key;
  double S::*at;
};
/// A number that counts only with its flag; null in a line without it.
template <class S>
struct OptionalMember {
  const char* key;
  double S::*at;
  uint32_t S::*flags;
  uint32_t flag;
  bool is_plain;
};
template <class S>
struct FlagMember {
  const char* key;
  uint32_t S::*at;
  uint32_t flag;
};
template <class S>
struct WordMember {
  const char* key;
  uint32_t S::*at;
  Words words;
  bool zero_is_null;
};
/// A part of the moment of the message. The moment's epoch begins each line.
template <class S, class T>
struct MomentMember {
  const char* key;
  loupe_moment S::*at;
  T loupe_moment::*part;
};
/// The moment's time, as readable text and as a number.
template <class S>
struct TimeMember {
  const char* key;
  loupe_moment S::*at;
};
/// `times * count + more` numbers, texts, or pointers to structs.
template <class S, class Array, class Count>
struct ArrayMember {
  const char* key;
  Array S::*at;
  Count S::*count;
  Count times, more;

  std::size_t size_in(const S& message) const { return static_cast<std::size_t>(times * (message.*count) + more); }
};
/// Another struct, or null.
template <class S, class Other>
struct PointerMember {
  const char* key;
  const Other* S::*at;
};

template <class S>
constexpr TextMember<S> text(const char* key, const char* S::*at, Text kind = Text::or_null) {
  return {key, at, kind};
}
template <class S, class T>
constexpr NumberMember<S, T> number(const char* key, T S::*at) {
  return {key, at};
}
template <class S>
constexpr OptionalMember<S> optional(const char* key, double S::*at, uint32_t S::*flags, uint32_t flag,
                                     bool is_plain = false) {
  return {key, at, flags, flag, is_plain};
}
template <class S>
constexpr WordMember<S> word(const char* key, uint32_t S::*at, Words words, bool zero_is_null = false) {
  return {key, at, words, zero_is_null};
}
template <class S>
constexpr FlagMember<S> flag(const char* key, uint32_t S::*at, uint32_t flag) {
  return {key, at, flag};
}
template <class S, class T>
constexpr MomentMember<S, T> moment(const char* key, loupe_moment S::*at, T loupe_moment::*part) {
  return {key, at, part};
}
template <class S, class Array, class Count>
constexpr ArrayMember<S, Array, Count> array(const char* key, Array S::*at, Count S::*count,
                                             std::common_type_t<Count> times = 1, std::common_type_t<Count> more = 0) {
  return {key, at, count, times, more};
}
template <class S, class Other>
constexpr PointerMember<S, Other> pointer(const Other* S::*at) {
  return {nullptr, at};
}

/// The members of a struct of the ABI.
template <class S>
inline constexpr auto members = nullptr;

template <>
inline constexpr auto members<loupe_tag> = std::make_tuple(
    text("tag", &loupe_tag::id, Text::needed), word("type", &loupe_tag::type, tag_type_words),
    flag("log_y", &loupe_tag::flags, LOUPE_TAG_LOG_Y), flag("big", &loupe_tag::flags, LOUPE_TAG_BIG),
    flag("annotate", &loupe_tag::flags, LOUPE_TAG_ANNOTATE),
    optional("y_minimum", &loupe_tag::y_minimum, &loupe_tag::flags, LOUPE_TAG_HAS_MINIMUM, true),
    optional("y_maximum", &loupe_tag::y_maximum, &loupe_tag::flags, LOUPE_TAG_HAS_MAXIMUM, true),
    text("title", &loupe_tag::title, Text::or_left_out), text("unit", &loupe_tag::unit, Text::or_left_out),
    text("description", &loupe_tag::description, Text::or_left_out),
    text("healthy", &loupe_tag::healthy, Text::or_left_out), text("advice", &loupe_tag::advice, Text::or_left_out));

/// A line has one of the row's values, or one of its bands.
template <>
inline constexpr auto members<loupe_row> = std::make_tuple(
    text("tag", &loupe_row::tag, Text::needed), text("layer", &loupe_row::layer),
    array("line", &loupe_row::value_names, &loupe_row::value_count),
    array("value", &loupe_row::values, &loupe_row::value_count),
    array("low_name", &loupe_row::band_names, &loupe_row::band_count, 2),
    array("low", &loupe_row::bands, &loupe_row::band_count, 2), CountMember<loupe_row>{"events", &loupe_row::events},
    CountMember<loupe_row>{"step", &loupe_row::step});

template <>
inline constexpr auto members<loupe_histogram> = std::make_tuple(
    text("tag", &loupe_histogram::tag, Text::needed), text("layer", &loupe_histogram::layer, Text::or_empty),
    text("line", &loupe_histogram::line, Text::needed),
    array("edges", &loupe_histogram::edges, &loupe_histogram::bin_count, 1, 1),
    array("counts", &loupe_histogram::counts, &loupe_histogram::bin_count),
    CountMember<loupe_histogram>{"events", &loupe_histogram::events});

template <>
inline constexpr auto members<loupe_finding> = std::make_tuple(
    word("severity", &loupe_finding::severity, severity_words),
    word("state", &loupe_finding::state, finding_state_words), number("id", &loupe_finding::id),
    text("rule", &loupe_finding::rule, Text::needed), pointer(&loupe_finding::module),
    text("layer", &loupe_finding::layer), text("parameter", &loupe_finding::parameter),
    text("message", &loupe_finding::message, Text::needed), text("advice", &loupe_finding::advice),
    text("tag", &loupe_finding::tag), text("source", &loupe_finding::source),
    text("caused_by", &loupe_finding::caused_by), text("file", &loupe_finding::file),
    number("file_line", &loupe_finding::line),
    optional("value", &loupe_finding::value, &loupe_finding::flags, LOUPE_FINDING_HAS_VALUE),
    optional("threshold", &loupe_finding::threshold, &loupe_finding::flags, LOUPE_FINDING_HAS_THRESHOLD),
    number("first_step", &loupe_finding::first_step), number("last_step", &loupe_finding::last_step),
    number("first_epoch", &loupe_finding::first_epoch), number("last_epoch", &loupe_finding::last_epoch),
    number("count", &loupe_finding::count));

template <>
inline constexpr auto members<loupe_note> = std::make_tuple(word("about", &loupe_note::kind, note_words),
                                                            text("text", &loupe_note::text, Text::needed),
                                                            moment("step", &loupe_note::at, &loupe_moment::step),
                                                            number("finding", &loupe_note::finding),
                                                            TimeMember<loupe_note>{"time", &loupe_note::at},
                                                            moment("elapsed", &loupe_note::at, &loupe_moment::elapsed));

template <>
inline constexpr auto members<loupe_tick> = std::make_tuple(
    TimeMember<loupe_tick>{"time", &loupe_tick::at}, moment("elapsed", &loupe_tick::at, &loupe_moment::elapsed),
    moment("step", &loupe_tick::at, &loupe_moment::step), word("reason", &loupe_tick::reason, tick_words),
    flag("incomplete", &loupe_tick::flags, LOUPE_TICK_INCOMPLETE), number("steps", &loupe_tick::steps),
    number("measured_steps", &loupe_tick::measured_steps), number(nullptr, &loupe_tick::number),
    array(nullptr, &loupe_tick::optimizers, &loupe_tick::optimizer_count));

template <>
inline constexpr auto members<loupe_ending> = std::make_tuple(
    word("how", &loupe_ending::how, ending_words, true), TimeMember<loupe_ending>{"time", &loupe_ending::at},
    moment("elapsed", &loupe_ending::at, &loupe_moment::elapsed),
    moment("step", &loupe_ending::at, &loupe_moment::step), text("message", &loupe_ending::message));

template <>
inline constexpr auto members<loupe_run> = std::make_tuple(
    text("name", &loupe_run::name, Text::needed), text("started", &loupe_run::started, Text::needed),
    flag("resumed", &loupe_run::flags, LOUPE_RUN_RESUMED),
    text("loupe_version", &loupe_run::loupe_version, Text::needed),
    text("framework", &loupe_run::framework, Text::needed),
    text("framework_version", &loupe_run::framework_version, Text::needed),
    text("directory", &loupe_run::directory, Text::needed),
    PlainMember<loupe_run>{"start_time", &loupe_run::start_time}, number("rank", &loupe_run::rank),
    number("world_size", &loupe_run::world_size), text("train_loss", &loupe_run::train_loss, Text::needed),
    text("val_loss", &loupe_run::validation_loss, Text::needed),
    array("lenses", &loupe_run::lenses, &loupe_run::lens_count), text("config", &loupe_run::config, Text::needed),
    pointer(&loupe_run::settings));  // known from the configuration

template <>
inline constexpr auto members<loupe_progress> = std::make_tuple(number(nullptr, &loupe_progress::at),
                                                                number(nullptr, &loupe_progress::epochs),
                                                                number(nullptr, &loupe_progress::steps),
                                                                number(nullptr, &loupe_progress::steps_before),
                                                                number(nullptr, &loupe_progress::seconds),
                                                                number(nullptr, &loupe_progress::lens_seconds));

/// A line's "setting" is the member for its type.
template <>
inline constexpr auto members<loupe_option_value> =
    std::make_tuple(text("name", &loupe_option_value::name, Text::needed), number("type", &loupe_option_value::type),
                    number("setting", &loupe_option_value::integer), number("setting", &loupe_option_value::number),
                    text("setting", &loupe_option_value::string),
                    array("setting", &loupe_option_value::strings, &loupe_option_value::string_count),
                    pointer(&loupe_option_value::map));
template <>
inline constexpr auto members<loupe_options> = std::make_tuple(array(nullptr, &loupe_options::values,
                                                                     &loupe_options::value_count));

/// model_json.h writes the line.
template <>
inline constexpr auto members<loupe_model> = std::make_tuple(
    text("name", &loupe_model::name, Text::needed), text("type", &loupe_model::type, Text::needed),
    number("parameters", &loupe_model::parameter_element_count),
    array("modules", &loupe_model::modules, &loupe_model::module_count), text(nullptr, &loupe_model::own_name));
template <>
inline constexpr auto members<loupe_module> = std::make_tuple(
    number(nullptr, &loupe_module::id), number(nullptr, &loupe_module::family), text("name", &loupe_module::name),
    text(nullptr, &loupe_module::path), pointer(&loupe_module::parent), pointer(&loupe_module::model),
    text("type", &loupe_module::type), text(nullptr, &loupe_module::full_type),
    array("shapes", &loupe_module::parameters, &loupe_module::parameter_count),
    flag("leaf", &loupe_module::flags, LOUPE_MODULE_LEAF), text(nullptr, &loupe_module::settings));
template <>
inline constexpr auto members<loupe_parameter> = std::make_tuple(
    number(nullptr, &loupe_parameter::flags), text(nullptr, &loupe_parameter::name),
    number("parameters", &loupe_parameter::numel), array("shapes", &loupe_parameter::sizes, &loupe_parameter::dim));

template <>
inline constexpr auto members<loupe_optimizer> = std::make_tuple(
    number(nullptr, &loupe_optimizer::id), text(nullptr, &loupe_optimizer::model_name),
    text(nullptr, &loupe_optimizer::type), array(nullptr, &loupe_optimizer::groups, &loupe_optimizer::group_count),
    pointer(&loupe_optimizer::model));
template <>
inline constexpr auto members<loupe_held_parameter> = std::make_tuple(pointer(&loupe_held_parameter::module),
                                                                      number(nullptr, &loupe_held_parameter::index));
template <>
inline constexpr auto members<loupe_parameter_group> = std::make_tuple(
    number(nullptr, &loupe_parameter_group::flags), number(nullptr, &loupe_parameter_group::learning_rate),
    number(nullptr, &loupe_parameter_group::weight_decay), number(nullptr, &loupe_parameter_group::tensor_count),
    number(nullptr, &loupe_parameter_group::element_count),
    number(nullptr, &loupe_parameter_group::unknown_tensor_count),
    number(nullptr, &loupe_parameter_group::unknown_element_count), pointer(&loupe_parameter_group::settings),
    array(nullptr, &loupe_parameter_group::parameters, &loupe_parameter_group::parameter_count));

}  // namespace messages

/// Calls `call` with each member of a message.
template <class S, class Call>
void each_member(Call&& call) {
  std::apply([&](const auto&... member) { (call(member), ...); }, messages::members<S>);
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
