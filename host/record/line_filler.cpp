#include "record/line_filler.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

namespace loupe::replay {
namespace {

struct OwnWord {};  // kept by the filler itself
using Place = std::variant<OwnWord, std::string RecordLine::*, double RecordLine::*, std::uint64_t RecordLine::*,
                           bool RecordLine::*, std::vector<double> RecordLine::*>;

struct FieldRule {
  std::string_view name;
  Place place;
};

using R = RecordLine;
const std::array<FieldRule, static_cast<std::size_t>(Field::unknown)> rules = {{
    {"kind", OwnWord()},
    {"type", OwnWord()},
    {"severity", OwnWord()},
    {"state", OwnWord()},
    {"about", OwnWord()},
    {"reason", OwnWord()},
    {"how", OwnWord()},
    {"epoch", &R::epoch},
    {"tag", &R::tag},
    {"layer", &R::layer},
    {"line", &R::line},
    {"value", &R::value},
    {"low_name", &R::low_name},
    {"high_name", &R::high_name},
    {"low", &R::low},
    {"high", &R::high},
    {"edges", &R::edges},
    {"counts", &R::counts},
    {"log_y", &R::log_y},
    {"big", &R::big},
    {"annotate", &R::annotate},
    {"y_minimum", &R::y_minimum},
    {"y_maximum", &R::y_maximum},
    {"title", &R::title},
    {"unit", &R::unit},
    {"description", &R::description},
    {"healthy", &R::healthy},
    {"advice", &R::advice},
    {"rule", &R::rule},
    {"parameter", &R::parameter},
    {"message", &R::message},
    {"source", &R::source},
    {"id", &R::id},
    {"caused_by", &R::caused_by},
    {"file", &R::file},
    {"file_line", &R::file_line},
    {"finding", &R::finding},
    {"threshold", &R::threshold},
    {"first_step", &R::first_step},
    {"last_step", &R::last_step},
    {"first_epoch", &R::first_epoch},
    {"last_epoch", &R::last_epoch},
    {"count", &R::count},
    {"text", &R::text},
    {"step", &R::step},
    {"time", &R::time},
    {"timestamp", &R::timestamp},
    {"elapsed", &R::elapsed},
    {"incomplete", &R::incomplete},
    {"events", &R::events},
}};

}  // namespace

std::string_view name_of(Field field) {
  return rules[static_cast<std::size_t>(field)].name;
}

std::optional<double> number_named(std::string_view text) {
  if (text == "NaN") return NAN;
  if (text == "Infinity") return INFINITY;
  if (text == "-Infinity") return -INFINITY;
  return std::nullopt;
}

template <class Type>
Type* LineFiller::here() {
  const auto* member = std::get_if<Type RecordLine::*>(&rules[static_cast<std::size_t>(field_)].place);
  return member != nullptr ? &(line_.**member) : nullptr;
}

std::string* LineFiller::text_here() {
  const auto index = static_cast<std::size_t>(field_);
  return index < word_count ? &words_[index] : here<std::string>();
}

template <class Type>
bool LineFiller::put(Type* into, const Type& what) {
  if (into == nullptr) return wrong();
  *into = what;
  given |= fields(field_);
  return true;
}

bool LineFiller::null() {
  if (in_list()) return wrong();
  if (!at_field()) return true;
  nulls |= fields(field_);
  if (std::string* text = text_here()) return put(text, std::string());
  return put(here<double>(), double{NAN});
}

bool LineFiller::boolean(bool flag) {
  if (in_list()) return wrong();
  return !at_field() || put(here<bool>(), flag);
}

bool LineFiller::number_integer(number_integer_t number) {
  return take(static_cast<double>(number));
}

bool LineFiller::number_unsigned(number_unsigned_t number) {
  if (!in_list() && at_field()) {
    if (auto* whole = here<std::uint64_t>()) return put(whole, std::uint64_t{number});
  }
  return take(static_cast<double>(number));
}

bool LineFiller::string(string_t& text) {
  if (!in_list()) {
    if (!at_field()) return true;
    if (std::string* into = text_here()) {
      into->swap(text);
      given |= fields(field_);
      return true;
    }
  }
  const auto number = number_named(text);
  return number ? take(*number) : wrong();
}

bool LineFiller::start_object(std::size_t) {
  if (depth_ > 0 && (at_field() || in_list())) return wrong();
  ++depth_;
  return true;
}

bool LineFiller::key(string_t& name) {
  if (depth_ != 1) return true;
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const FieldRule& rule) { return rule.name == name; });
  field_ = static_cast<Field>(found - rules.begin());
  return true;
}

bool LineFiller::end_object() {
  --depth_;
  return true;
}

bool LineFiller::start_array(std::size_t) {
  if (depth_ == 0) return fail("this line is no JSON object");
  if (in_list()) return wrong();
  if (at_field()) {
    list_ = here<std::vector<double>>();
    if (list_ == nullptr) return wrong();
    list_->clear();
    given |= fields(field_);
  }
  ++depth_;
  return true;
}

bool LineFiller::end_array() {
  list_ = nullptr;
  --depth_;
  return true;
}

bool LineFiller::parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
  return fail("this line is no JSON, from its character " + std::to_string(position) + " on");
}

bool LineFiller::take(double number) {
  if (in_list()) {
    list_->push_back(number);
    return true;
  }
  if (depth_ == 0) return fail("this line is no JSON object");
  return !at_field() || put(here<double>(), number);
}

bool LineFiller::wrong() {
  return fail("'" + std::string(name_of(field_)) + "' cannot have that value");
}

bool LineFiller::fail(const std::string& what) {
  fault = what;
  return false;
}

}  // namespace loupe::replay
