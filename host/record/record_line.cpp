#include "record/record_line.h"

#include <loupe/error.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>

#include <array>
#include <cmath>
#include <ctime>

#include "core/bounds.h"
#include "core/text.h"
#include "findings/finding_board.h"
#include "record/line_filler.h"

namespace loupe::replay {
namespace {

using Kind = RecordLine::Kind;
using F = Field;

struct KindOfLine {
  std::string_view name;
  Kind kind;
  Fields needed;         // what it must have
  Fields may_be_null{};  // of these
};

constexpr std::array<KindOfLine, 11> kinds = {{
    {"value", Kind::value, fields(F::epoch, F::tag, F::layer, F::line, F::value)},
    {"range", Kind::range, fields(F::epoch, F::tag, F::layer, F::low_name, F::high_name, F::low, F::high)},
    {"histogram", Kind::histogram, fields(F::epoch, F::tag, F::layer, F::line, F::edges, F::counts)},
    {"tick", Kind::tick, fields(F::epoch)},
    {"tag", Kind::tag, fields(F::tag, F::type, F::log_y, F::big, F::annotate, F::y_minimum, F::y_maximum),
     fields(F::y_minimum, F::y_maximum)},
    {"finding", Kind::finding, fields(F::epoch, F::severity, F::state, F::rule, F::message)},
    {"note", Kind::note, fields(F::epoch, F::about, F::text)},
    {"end", Kind::end, fields(F::epoch)},
    {"hyperparameter", Kind::hyperparameter, 0},
    {"model", Kind::model, 0},
    {"run", Kind::run, 0},
}};
constexpr Word tag_type_words[] = {
    {LOUPE_SCALE_NUMERICAL, "numerical"}, {LOUPE_SCALE_PROBABILITY, "probability"}, {LOUPE_SCALE_RELATION, "relation"}};

const KindOfLine& kind_called(const std::string& name) {
  std::vector<std::string> known;
  for (const KindOfLine& each : kinds) {
    if (each.name == name) return each;
    known.emplace_back(each.name);
  }
  throw Error("a line cannot be of the kind '" + name + "'" + suggestion(name, known));
}

/// What a line may leave out must not be what an earlier one had.
void reset(RecordLine& line) {
  for (std::string* text :
       {&line.tag, &line.layer, &line.title, &line.unit, &line.description, &line.healthy, &line.advice,
        &line.parameter, &line.message, &line.source, &line.caused_by, &line.file, &line.time}) {
    text->clear();
  }
  line.value = line.threshold = NAN;
  line.first_epoch = line.last_epoch = line.timestamp = line.elapsed = 0;
  line.first_step = line.last_step = line.step = 0;
  line.id = line.file_line = line.finding = 0;
  line.count = 1;
  line.events = 0;
  line.reason = LOUPE_TICK_EPOCH;
  line.how = 0;
  line.incomplete = false;
}

/// Sets a number from its word, where the line has one.
template <std::size_t count>
void take_word(const LineFiller& filler, Field field, const Word (&words)[count], std::uint32_t& into) {
  const std::string& word = filler.word(field);
  if (word.empty()) return;
  const auto value = value_called(words, word);
  if (value) {
    into = *value;
    return;
  }
  std::vector<std::string> known;
  for (const Word& each : words) known.emplace_back(each.word);
  throw Error("'" + std::string(name_of(field)) + "' cannot be '" + word + "'" + suggestion(word, known));
}

void take_words(const LineFiller& filler, RecordLine& line) {
  switch (line.kind) {
    case Kind::tag:
      return take_word(filler, F::type, tag_type_words, line.tag_type);
    case Kind::finding:
      take_word(filler, F::severity, severity_words, line.severity);
      return take_word(filler, F::state, finding_state_words, line.state);
    case Kind::note:
      return take_word(filler, F::about, note_words, line.about);
    case Kind::tick:
      return take_word(filler, F::reason, tick_words, line.reason);
    case Kind::end:
      return take_word(filler, F::how, ending_words, line.how);
    default:
      return;
  }
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

void check_finding(const RecordLine& line) {
  const auto need = [&](std::uint32_t value, std::uint32_t least, std::uint32_t most, const char* what) {
    if (value < least || value > most) throw Error("a finding has no " + std::string(what));
  };
  need(line.severity, LOUPE_SEVERITY_INFO, LOUPE_SEVERITY_ERROR, "known severity");
  need(line.state, LOUPE_FINDING_RAISED, LOUPE_FINDING_GONE, "known state");
  if (line.rule.empty()) throw Error("a finding names no rule");
}

/// Older records have no numbers.
void complete_number(RecordLine& line) {
  if (line.id == 0) line.id = finding_number(line.source, line.rule, line.layer, line.parameter);
}

[[noreturn]] void fail_by_number(Field field, double value, const char* limits) {
  throw Error("'" + std::string(name_of(field)) + "' cannot be " + number_text(value) + ": " + limits +
              "; was the file changed by hand?");
}

/// What nobody can have measured would break what is shown of the whole run: axes, dates and the order of runs.
void check_numbers(const RecordLine& line) {
  const auto epoch = [](Field field, double value) {
    if (!(std::fabs(value) <= largest_count)) fail_by_number(field, value, "an epoch is a number of at most 2^53");
  };
  const auto count = [](Field field, std::uint64_t value) {
    const auto number = static_cast<double>(value);
    if (number > largest_count) fail_by_number(field, number, "it counts up to 2^53");
  };
  const auto seconds = [](Field field, double value) {
    if (!(value >= 0 && value <= latest_time))
      fail_by_number(field, value, "it is in seconds from 0 on, up to the year 9999");
  };
  switch (line.kind) {
    case Kind::finding:
      // A finding may come without its first step or epoch.
      if (!std::isnan(line.first_epoch)) epoch(F::first_epoch, line.first_epoch);
      if (!std::isnan(line.last_epoch)) epoch(F::last_epoch, line.last_epoch);
      count(F::first_step, line.first_step);
      count(F::last_step, line.last_step);
      count(F::count, line.count);
      count(F::id, line.id);
      count(F::file_line, line.file_line);
      break;
    case Kind::note:
      count(F::finding, line.finding);
      [[fallthrough]];
    case Kind::tick:
    case Kind::end:
      count(F::step, line.step);
      seconds(F::timestamp, line.timestamp);
      seconds(F::elapsed, line.elapsed);
      break;
    case Kind::value:
    case Kind::range:
    case Kind::histogram:
      count(F::events, line.events);
      break;
    default:
      return;  // of no epoch
  }
  epoch(F::epoch, line.epoch);
}

/// Older records have the text alone.
void complete_time(RecordLine& line) {
  if (line.timestamp != 0 || line.time.empty()) return;
  std::tm parts{};
  if (::strptime(line.time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return;
  line.timestamp = static_cast<double>(::timegm(&parts));
}

}  // namespace

void parse_record_line(std::string_view text, RecordLine& line) {
  reset(line);
  LineFiller filler(line);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &filler)) throw Error(filler.fault);
  if ((filler.given & fields(F::kind)) == 0) throw Error("this line has no 'kind'");
  const KindOfLine& found = kind_called(filler.word(F::kind));
  line.kind = found.kind;
  const auto first_of = [](Fields set) { return std::string(name_of(static_cast<Field>(__builtin_ctzll(set)))); };
  if (const Fields lacking = found.needed & ~filler.given; lacking != 0) {
    throw Error("a line of the kind '" + filler.word(F::kind) + "' lacks '" + first_of(lacking) + "'");
  }
  if (const Fields empty = found.needed & filler.nulls & ~found.may_be_null; empty != 0) {
    throw Error("'" + first_of(empty) + "' cannot have that value");
  }
  take_words(filler, line);
  if (line.kind == Kind::histogram) check_histogram(line);
  if (line.kind == Kind::finding) {
    check_finding(line);
    complete_number(line);
  }
  complete_time(line);
  check_numbers(line);
}

}  // namespace loupe::replay
