#include "record/reader/record_line.h"

#include <loupe/detail/messages.h>
#include <loupe/error.h>
#include <loupe/internal/bounds.h>
#include <loupe/internal/finding_number.h>
#include <loupe/text/number_text.h>

#include <utf8.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "record/reader/suggestion.h"

namespace loupe::replay {
namespace {

namespace messages = detail::messages;
using Kind = RecordLine::Kind;
using R = RecordLine;

/// The meaning of a text member in lines of one kind; in other kinds a member of this name may be something else.
struct WordPlace {
  Kind kind;
  std::uint32_t RecordLine::*number;
  Words words;
};
/// Stands for the kind of the line.
struct KindPlace {};

/// A member of lines; the list is for all kinds together.
struct Field {
  std::string_view key;
  std::variant<KindPlace, WordPlace, std::string RecordLine::*, double RecordLine::*, std::uint64_t RecordLine::*,
               bool RecordLine::*, std::vector<double> RecordLine::*>
      place;
};

constexpr Field fields[] = {
    {"kind", KindPlace()},
    {"type", WordPlace{Kind::tag, &R::tag_type, tag_type_words}},
    {"severity", WordPlace{Kind::finding, &R::severity, severity_words}},
    {"state", WordPlace{Kind::finding, &R::state, finding_state_words}},
    {"about", WordPlace{Kind::note, &R::about, note_words}},
    {"reason", WordPlace{Kind::tick, &R::reason, tick_words}},
    {"how", WordPlace{Kind::end, &R::how, ending_words}},
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
    {"steps", &R::steps},
    {"measured_steps", &R::measured_steps},
    {"time", &R::time},
    {"timestamp", &R::timestamp},
    {"elapsed", &R::elapsed},
    {"incomplete", &R::incomplete},
    {"events", &R::events},
};
constexpr std::size_t field_count = std::size(fields);

/// Finds fields by key, so that a line's keys need not be compared with all fields.
class FieldTable {
 public:
  constexpr FieldTable() {
    for (std::size_t i = 0; i < field_count; ++i) {
      std::size_t place = place_of(fields[i].key);
      while (fields_[place] != 0) place = (place + 1) % size;
      fields_[place] = static_cast<unsigned char>(i + 1);
    }
  }
  /// The index of a field; `field_count` for an unknown key.
  constexpr std::size_t find(std::string_view key) const {
    if (key.empty()) return field_count;
    for (std::size_t place = place_of(key); fields_[place] != 0; place = (place + 1) % size)
      if (fields[fields_[place] - 1].key == key) return fields_[place] - 1u;
    return field_count;
  }

 private:
  static constexpr std::size_t size = 256;
  static constexpr std::size_t place_of(std::string_view key) {
    return (key.size() * 11 + static_cast<unsigned char>(key.front()) * 7u +
            static_cast<unsigned char>(key.back()) * 3u) %
           size;
  }
  unsigned char fields_[size] = {};  // the index plus 1; 0: none
};
constexpr FieldTable field_table;

constexpr std::size_t field_called(std::string_view key) {
  return field_table.find(key);
}

/// A set of fields, one bit each.
using Fields = std::uint64_t;
static_assert(field_count < 64);
template <class... Keys>
constexpr Fields set_of(Keys... keys) {
  return ((Fields{1} << field_called(keys)) | ... | Fields{0});
}

struct KindOfLine {
  std::string_view name;
  Kind kind;
  Fields needed;         // the required members
  Fields may_be_null{};  // of these, the members that may be null
};

constexpr KindOfLine kinds[] = {
    {"value", Kind::value, set_of("epoch", "tag", "layer", "line", "value")},
    {"range", Kind::range, set_of("epoch", "tag", "layer", "low_name", "high_name", "low", "high")},
    {"histogram", Kind::histogram, set_of("epoch", "tag", "layer", "line", "edges", "counts")},
    {"tick", Kind::tick, set_of("epoch")},
    {"tag", Kind::tag, set_of("tag", "type", "log_y", "big", "annotate", "y_minimum", "y_maximum"),
     set_of("y_minimum", "y_maximum")},
    {"finding", Kind::finding, set_of("epoch", "severity", "state", "rule", "message")},
    {"note", Kind::note, set_of("epoch", "about", "text")},
    {"end", Kind::end, set_of("epoch")},
    {"hyperparameter", Kind::hyperparameter, 0},
    {"model", Kind::model, 0},
    {"run", Kind::run, 0},
};

const KindOfLine& kind_called(const std::string& name) {
  for (const KindOfLine& each : kinds)
    if (each.name == name) return each;
  std::vector<std::string> known;
  for (const KindOfLine& each : kinds) known.emplace_back(each.name);
  throw Error("a line cannot be of the kind '" + name + "'" + suggestion(name, known));
}

/// Resets all members, so that a member that a line lacks does not keep its value from an earlier line.
void reset(RecordLine& line) {
  for (std::string* text :
       {&line.tag, &line.layer, &line.title, &line.unit, &line.description, &line.healthy, &line.advice,
        &line.parameter, &line.message, &line.source, &line.caused_by, &line.file, &line.time}) {
    text->clear();
  }
  line.value = line.threshold = NAN;
  line.first_epoch = line.last_epoch = line.timestamp = line.elapsed = 0;
  line.first_step = line.last_step = line.step = line.steps = line.measured_steps = 0;
  line.id = line.file_line = line.finding = 0;
  line.count = 1;
  line.events = 0;
  line.reason = LOUPE_TICK_EPOCH;
  line.how = 0;
  line.incomplete = false;
}

/// Fills a RecordLine without building a tree of JSON, because records are long.
class LineFiller final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit LineFiller(RecordLine& line) : line_(line) {}

  std::string fault;  ///< why the parsing was stopped
  Fields given = 0;   ///< the members that the line has
  Fields nulls = 0;   ///< of these, the members that are null: NaN or an empty text
  const std::string& kind() const { return words_[0]; }
  /// Forgets the members so far.
  void begin_anew();
  /// Translates the words of the line into numbers.
  void take_words();

  bool null() override;
  bool boolean(bool flag) override;
  bool number_integer(number_integer_t number) override;
  bool number_unsigned(number_unsigned_t number) override;
  bool number_float(number_float_t number, const string_t&) override { return take(number); }
  bool string(string_t& text) override;
  /// The same for a text that is only borrowed.
  bool plain_string(std::string_view text);
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override;
  bool key(string_t& name) override { return plain_key(name); }
  bool plain_key(std::string_view name);
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override;

 private:
  static constexpr std::size_t word_count = field_called("epoch");  // word members come first in the list

  bool at_field() const { return depth_ == 1 && field_ < field_count; }
  Fields bit() const { return Fields{1} << field_; }
  bool in_list() const { return list_ != nullptr; }
  std::string* text_here();
  /// The variable of the current field if it has this type; otherwise null.
  template <class Type>
  Type* here();
  template <class Type>
  bool put(Type* into, const Type& what);
  bool take(double number);
  bool wrong();
  bool fail(const std::string& what);

  RecordLine& line_;
  std::size_t field_ = field_count;
  std::array<std::string, word_count> words_;
  std::vector<double>* list_ = nullptr;
  int depth_ = 0;
};

void LineFiller::begin_anew() {
  given = nulls = 0;
  fault.clear();
  field_ = field_count;
  for (std::string& word : words_) word.clear();
  list_ = nullptr;
  depth_ = 0;
}

template <class Type>
Type* LineFiller::here() {
  const auto* member = std::get_if<Type RecordLine::*>(&fields[field_].place);
  return member != nullptr ? &(line_.**member) : nullptr;
}

std::string* LineFiller::text_here() {
  return field_ < word_count ? &words_[field_] : here<std::string>();
}

template <class Type>
bool LineFiller::put(Type* into, const Type& what) {
  if (into == nullptr) return wrong();
  *into = what;
  given |= bit();
  return true;
}

bool LineFiller::null() {
  if (in_list()) return wrong();
  if (!at_field()) return true;
  nulls |= bit();
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
      given |= bit();
      return true;
    }
  }
  const auto number = number_named(text);
  return number ? take(*number) : wrong();
}

bool LineFiller::plain_string(std::string_view text) {
  if (!in_list()) {
    if (!at_field()) return true;
    if (std::string* into = text_here()) {
      into->assign(text);
      given |= bit();
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

bool LineFiller::plain_key(std::string_view name) {
  if (depth_ != 1) return true;
  field_ = field_called(name);
  return true;
}

bool LineFiller::end_object() {
  --depth_;
  return true;
}

bool LineFiller::start_array(std::size_t) {
  if (depth_ == 0) return fail("this line is not a JSON object");
  if (in_list()) return wrong();
  if (at_field()) {
    list_ = here<std::vector<double>>();
    if (list_ == nullptr) return wrong();
    list_->clear();
    given |= bit();
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
  return fail("this line is not JSON, from character " + std::to_string(position) + " on");
}

bool LineFiller::take(double number) {
  if (in_list()) {
    list_->push_back(number);
    return true;
  }
  if (depth_ == 0) return fail("this line is not a JSON object");
  return !at_field() || put(here<double>(), number);
}

bool LineFiller::wrong() {
  return fail("'" + std::string(fields[field_].key) + "' cannot have that value");
}

bool LineFiller::fail(const std::string& what) {
  fault = what;
  return false;
}

void LineFiller::take_words() {
  for (std::size_t i = 0; i < word_count; ++i) {
    const auto* place = std::get_if<WordPlace>(&fields[i].place);
    if (place == nullptr || place->kind != line_.kind || words_[i].empty()) continue;
    const auto value = value_called(place->words, words_[i]);
    if (!value) {
      std::vector<std::string> known;
      for (const Word& each : place->words) known.emplace_back(each.word);
      throw Error("'" + std::string(fields[i].key) + "' cannot be '" + words_[i] + "'" + suggestion(words_[i], known));
    }
    line_.*place->number = *value;
  }
}

/// Reads JSON in the form that `record` writes, several times as fast as a general reader: a record may have millions
/// of lines. Leaves all other lines to the general reader: those with escapes or nested objects, and invalid ones.
class PlainReader {
 public:
  PlainReader(std::string_view text, LineFiller& filler)
      : at_(text.data()), end_(text.data() + text.size()), filler_(filler) {}

  /// Returns false for such other lines; the filler may then contain part of the line.
  bool read() {
    if (!take('{') || !filler_.start_object(1)) return false;
    for (bool is_first = true; is_first || take(','); is_first = false) {
      std::string_view key;
      if (!take_text(key) || !take(':') || !filler_.plain_key(key) || !read_value()) return false;
    }
    return take('}') && at_ == end_;
  }

 private:
  bool take(char letter) {
    if (at_ == end_ || *at_ != letter) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool read_value() {
    if (at_ == end_) return false;
    switch (*at_) {
      case '"':
        return read_text();
      case '[':
        return read_list();
      case 't':
        return take_word("true") && filler_.boolean(true);
      case 'f':
        return take_word("false") && filler_.boolean(false);
      case 'n':
        return take_word("null") && filler_.null();
      default:
        return read_number();
    }
  }
  bool read_text() {
    std::string_view text;
    return take_text(text) && filler_.plain_string(text);
  }
  bool read_list() {
    ++at_;
    if (!filler_.start_array(0)) return false;
    if (take(']')) return filler_.end_array();
    do {
      if (at_ == end_ || !(*at_ == '"' ? read_text() : read_number())) return false;
    } while (take(','));
    return take(']') && filler_.end_array();
  }

  bool take_text(std::string_view& text) {
    if (!take('"')) return false;
    const char* const begin = at_;
    bool is_ascii = true;
    for (; at_ != end_ && *at_ != '"'; ++at_) {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte < ' ' || byte == '\\') return false;
      is_ascii = is_ascii && byte < 0x80;
    }
    text = {begin, static_cast<std::size_t>(at_ - begin)};
    return take('"') && (is_ascii || utf8::is_valid(text.begin(), text.end()));
  }

  const char* behind_digits(const char* from) const {
    while (from != end_ && *from >= '0' && *from <= '9') ++from;
    return from;
  }
  bool read_number() {
    const char* const begin = at_;
    const char* const whole = begin != end_ && *begin == '-' ? begin + 1 : begin;
    const char* behind = behind_digits(whole);
    if (behind == whole || (*whole == '0' && behind != whole + 1)) return false;
    const bool is_whole = behind == end_ || (*behind != '.' && *behind != 'e' && *behind != 'E');
    if (is_whole) return read_whole(begin, behind);
    for (const char mark : {'.', 'e'}) {
      if (behind == end_ || (*behind != mark && *behind != (mark == 'e' ? 'E' : mark))) continue;
      const bool is_signed = mark == 'e' && behind + 1 != end_ && (behind[1] == '-' || behind[1] == '+');
      const char* const digits = behind + (is_signed ? 2 : 1);
      behind = behind_digits(digits);
      if (behind == digits) return false;
    }
    double number = 0;
    const auto [place, fault] = std::from_chars(begin, behind, number);
    if (fault != std::errc() || place != behind) return false;
    at_ = behind;
    return filler_.number_float(number, "");
  }
  bool read_whole(const char* begin, const char* behind) {
    at_ = behind;
    if (*begin == '-') {
      std::int64_t number = 0;
      return std::from_chars(begin, behind, number).ec == std::errc() && filler_.number_integer(number);
    }
    std::uint64_t number = 0;
    return std::from_chars(begin, behind, number).ec == std::errc() && filler_.number_unsigned(number);
  }

  const char* at_;
  const char* const end_;
  LineFiller& filler_;
};

void check_histogram(const RecordLine& line) {
  if (line.edges.size() != line.counts.size() + 1 || line.counts.empty()) {
    throw Error("a histogram has one more edge than it has counts, and this one has " +
                std::to_string(line.edges.size()) + " and " + std::to_string(line.counts.size()));
  }
  for (std::size_t i = 0; i + 1 < line.edges.size(); ++i) {
    if (!(line.edges[i] < line.edges[i + 1])) throw Error("the edges of a histogram must ascend");
  }
}

void check_finding(const RecordLine& line) {
  const auto need = [&](std::uint32_t value, std::uint32_t least, std::uint32_t most, const char* what) {
    if (value < least || value > most) throw Error("a finding has no " + std::string(what));
  };
  need(line.severity, LOUPE_SEVERITY_INFO, LOUPE_SEVERITY_ERROR, "known severity");
  need(line.state, LOUPE_FINDING_RAISED, LOUPE_FINDING_GONE, "known state");
  if (line.rule.empty()) throw Error("a finding names no rule");
}

/// Older records have no finding numbers: compute them.
void complete_number(RecordLine& line) {
  if (line.id == 0) line.id = finding_number(line.source, line.rule, line.layer, line.parameter);
}

[[noreturn]] void fail_by_number(std::string_view key, double value, const char* limits) {
  throw Error("'" + std::string(key) + "' cannot be " + number_text(value) + ": " + limits +
              "; was the file changed by hand?");
}

/// Refuses numbers that cannot come from a measurement and would break axes, dates and the order of runs.
void check_numbers(const RecordLine& line) {
  const auto epoch = [](std::string_view key, double value) {
    if (!(std::fabs(value) <= largest_count)) fail_by_number(key, value, "an epoch is a number of at most 2^53");
  };
  const auto count = [](std::string_view key, std::uint64_t value) {
    const auto number = static_cast<double>(value);
    if (number > largest_count) fail_by_number(key, number, "it counts up to 2^53");
  };
  const auto seconds = [](std::string_view key, double value) {
    if (!(value >= 0 && value <= latest_time))
      fail_by_number(key, value, "it is in seconds from 0 on, up to the year 9999");
  };
  switch (line.kind) {
    case Kind::finding:
      // A finding may lack its first step and epoch.
      if (!std::isnan(line.first_epoch)) epoch("first_epoch", line.first_epoch);
      if (!std::isnan(line.last_epoch)) epoch("last_epoch", line.last_epoch);
      count("first_step", line.first_step);
      count("last_step", line.last_step);
      count("count", line.count);
      count("id", line.id);
      count("file_line", line.file_line);
      break;
    case Kind::note:
      count("finding", line.finding);
      [[fallthrough]];
    case Kind::tick:
    case Kind::end:
      count("step", line.step);
      count("steps", line.steps);
      count("measured_steps", line.measured_steps);
      seconds("timestamp", line.timestamp);
      seconds("elapsed", line.elapsed);
      break;
    case Kind::value:
    case Kind::range:
    case Kind::histogram:
      count("events", line.events);
      count("step", line.step);
      break;
    default:
      return;  // it belongs to no epoch
  }
  epoch("epoch", line.epoch);
}

/// Older records contain the time only as text.
void complete_time(RecordLine& line) {
  if (line.timestamp != 0 || line.time.empty()) return;
  std::tm parts{};
  if (::strptime(line.time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return;
  line.timestamp = static_cast<double>(::timegm(&parts));
}

// The reverse direction: the value of a member in a line, in the type of the message.
template <class Type>
const Type& in(const RecordLine& line, const char* key) {
  return line.*std::get<Type RecordLine::*>(fields[field_called(key)].place);
}
template <class S, class Member>
void take(S&, const Member&, const RecordLine&) {}
template <class S>
void take(S& message, const messages::TextMember<S>& member, const RecordLine& line) {
  const auto& text = in<std::string>(line, member.key);
  message.*member.at = text.empty() && member.kind != messages::Text::needed ? nullptr : text.c_str();
}
template <class S, class T>
void take(S& message, const messages::NumberMember<S, T>& member, const RecordLine& line) {
  using Kept = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  message.*member.at = static_cast<T>(in<Kept>(line, member.key));
}
template <class S>
void take(S& message, const messages::OptionalMember<S>& member, const RecordLine& line) {
  const double value = in<double>(line, member.key);
  if (std::isnan(value)) return;
  message.*member.at = value;
  message.*member.flags |= member.flag;
}
template <class S>
void take(S& message, const messages::FlagMember<S>& member, const RecordLine& line) {
  if (in<bool>(line, member.key)) message.*member.at |= member.flag;
}
template <class S>
void take(S& message, const messages::WordMember<S>& member, const RecordLine& line) {
  message.*member.at = line.*std::get<WordPlace>(fields[field_called(member.key)].place).number;
}
template <class S>
void take(S& message, const messages::TimeMember<S>& member, const RecordLine& line) {
  message.*member.at = {.step = line.step, .epoch = line.epoch, .time = line.timestamp, .elapsed = line.elapsed};
}

}  // namespace

void parse_record_line(std::string_view text, RecordLine& line) {
  reset(line);
  LineFiller filler(line);
  if (!PlainReader(text, filler).read()) {
    reset(line);
    filler.begin_anew();
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), &filler)) throw Error(filler.fault);
  }
  if ((filler.given & set_of("kind")) == 0) throw Error("this line has no 'kind'");
  const KindOfLine& found = kind_called(filler.kind());
  line.kind = found.kind;
  const auto first_of = [](Fields set) { return std::string(fields[__builtin_ctzll(set)].key); };
  if (const Fields lacking = found.needed & ~filler.given; lacking != 0) {
    throw Error("a line of the kind '" + filler.kind() + "' lacks '" + first_of(lacking) + "'");
  }
  if (const Fields empty = found.needed & filler.nulls & ~found.may_be_null; empty != 0) {
    throw Error("'" + first_of(empty) + "' cannot have that value");
  }
  filler.take_words();
  if (line.kind == Kind::histogram) check_histogram(line);
  if (line.kind == Kind::finding) {
    check_finding(line);
    complete_number(line);
  }
  complete_time(line);
  check_numbers(line);
}

std::optional<double> number_named(std::string_view text) {
  if (text == "NaN") return NAN;
  if (text == "Infinity") return INFINITY;
  if (text == "-Infinity") return -INFINITY;
  return std::nullopt;
}

template <class S>
S message_of(const RecordLine& line) {
  S message{};
  message.struct_size = sizeof message;
  detail::each_member<S>([&](const auto& member) {
    if (member.key != nullptr) take(message, member, line);
  });
  return message;
}
template loupe_tag message_of(const RecordLine&);
template loupe_finding message_of(const RecordLine&);
template loupe_note message_of(const RecordLine&);
template loupe_tick message_of(const RecordLine&);
template loupe_ending message_of(const RecordLine&);

}  // namespace loupe::replay
