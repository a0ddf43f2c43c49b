#include "html/run_history.h"

#include <loupe/detail/standing_finding.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>
#include <loupe/visualizer.h>
#include <loupe/visualizers/model_json.h>
#include <utf8.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace loupe::html {
namespace {

constexpr std::size_t MOST_NOTES = 1000;

Json text_or_null(const char* text) {
  return text != nullptr && *text != '\0' ? Json(text) : Json();
}

}  // namespace

void RunStory::put(Keyed& list, const std::string& key, std::string json) {
  std::string& known = list[key];
  bytes_ += json.size() - known.size();
  known = std::move(json);
}

void RunStory::finding(const loupe_finding& finding) {
  constexpr double farthest = 1e300;  // which JSON can hold
  const char* layer = layer_of(finding);
  put(findings_, std::to_string(finding.id),
      page_json({{"id", finding.id},
                 {"rule", text_of(finding.rule)},
                 {"layer", text_or_null(layer)},
                 {"parameter", text_or_null(finding.parameter)},
                 {"severity", finding.severity},
                 {"distance", std::min(detail::distance_beyond(finding), farthest)},
                 {"gone", finding.state == LOUPE_FINDING_GONE},
                 {"message", text_or_null(finding.message)},
                 {"advice", text_or_null(finding.advice)},
                 {"tag", text_or_null(finding.tag)},
                 {"source", text_or_null(finding.source)},
                 {"causedBy", text_or_null(finding.caused_by)},
                 {"file", text_or_null(finding.file)},
                 {"line", finding.line},
                 {"firstStep", finding.first_step},
                 {"lastStep", finding.last_step},
                 {"firstEpoch", finding.first_epoch},
                 {"lastEpoch", finding.last_epoch},
                 {"count", finding.count}}));
}

void RunStory::note(const Note& note) {
  keep_note(page_json({{"kind", word_of(note_words, note.kind)},
                       {"text", text_or_null(note.text)},
                       {"step", note.at.step},
                       {"epoch", note.at.epoch},
                       {"time", note.at.time > 0 ? utc_text(note.at.time) : ""},
                       {"finding", note.finding}}));
}

void RunStory::keep_note(std::string json) {
  notes_.push_back(std::move(json));
  bytes_ += notes_.back().size();
  if (notes_.size() <= MOST_NOTES) return;
  bytes_ -= notes_.front().size();
  notes_.pop_front();
  ++lost_notes_;
}

void RunStory::hyperparameter(const Hyperparameter& value) {
  put(hyperparameters_, value.name, page_json(Json::array({value.name, setting_text(value)})));
}

void RunStory::end(const Ending& ending) {
  ending_ = page_json({{"how", ending.how},
                       {"step", ending.at.step},
                       {"epoch", ending.at.epoch},
                       {"message", text_or_null(ending.message)}});
}

std::string RunStory::json_members() const {
  return "\"findings\":" + json_list(findings_) + ",\"notes\":" + json_list(notes_) +
         ",\"lostNotes\":" + std::to_string(lost_notes_) + ",\"hyperparameters\":" + json_list(hyperparameters_) +
         ",\"ending\":" + (ending_.empty() ? "null" : ending_);
}

namespace {

/// Writes an array; `write_each` gets its items one by one.
template <class Items, class WriteEach>
void write_list(const RunHistory::Write& write, const Items& items, const WriteEach& write_each) {
  const char* between = "[";
  for (const auto& each : items) {
    write(std::exchange(between, ","));
    write_each(each);
  }
  write(*between == '[' ? "[]" : "]");
}

/// Without the run's name and directory, which differ in every run, and the configuration's format.
Settings settings_of(const loupe_options* options) {
  Settings settings;
  for (std::size_t i = 0; options != nullptr && i < options->value_count; ++i) {
    const std::string name = text_of(options->values[i]->name);
    if (name != "loupe" && name != "run.name" && name != "run.dir")
      settings.emplace_back(name, setting_text(*options->values[i]));
  }
  return settings;
}

}  // namespace

RunHistory::RunHistory(const Run& run)
    : name_(text_of(run.name)),
      directory_(text_of(run.directory)),
      config_(text_of(run.config)),
      loupe_version_(text_of(run.loupe_version)),
      libtorch_version_(text_of(run.libtorch_version)),
      started_(text_of(run.started)),
      begun_(utc_text(static_cast<double>(std::time(nullptr)))),
      settings_(settings_of(run.settings)),
      ranks_(run.world_size),
      start_time_(run.start_time),
      resumed_((run.flags & LOUPE_RUN_RESUMED) != 0),
      is_incident_((run.flags & LOUPE_RUN_INCIDENT) != 0) {}

bool RunHistory::is_moved_to(const Run& run) {
  if (run.start_time != start_time_ || text_of(run.name) != name_ || text_of(run.directory) == directory_ ||
      story_.has_ended())
    return false;
  directory_ = text_of(run.directory);
  models_.clear();  // the host names them again
  return true;
}

void RunHistory::model(const Model& model) {
  models_.push_back(page_document(utf8::replace_invalid(model_json(model))));
}

void RunHistory::tag(const Tag& tag) {
  TagHistory& history = tag_of(tag.id);
  history.words = {text_of(title_of(tag)), text_of(tag.unit), text_of(tag.description), text_of(tag.healthy),
                   text_of(tag.advice)};
  history.type = tag.type;
  history.log_y = is_logarithmic(tag);
  history.big = is_big(tag);
  history.annotate = is_annotated(tag);
  history.y_minimum = y_minimum_of(tag).value_or(NAN);
  history.y_maximum = y_maximum_of(tag).value_or(NAN);
}

void RunHistory::begin_tick(const Tick& tick) {
  const double epoch = tick.at.epoch;
  last_tick_ = tick.at.time > 0 ? utc_text(tick.at.time) : "";
  story_.reopen();
  if (!epochs_.empty() && epochs_.back() >= epoch) forget_from(epoch);
  if (last_is_provisional_) keep(epochs_.size() - 1);
  epochs_.push_back(epoch);
  steps_.push_back(static_cast<double>(tick.at.step));
  seconds_.push_back(tick.at.elapsed);
  last_is_provisional_ = told_++ % stride_ != 0;
}

void RunHistory::forget_from(double epoch) {
  keep(static_cast<std::size_t>(std::lower_bound(epochs_.begin(), epochs_.end(), epoch) - epochs_.begin()));
  last_is_provisional_ = false;
  told_ = epochs_.size() * stride_;
  for (TagHistory& tag : tags_) {
    for (Layer& layer : tag.layers) {
      for (HistogramHistory& histogram : layer.histograms) {
        series_bytes_ -= histogram.bytes();
        histogram.forget_from(epoch);
        series_bytes_ += histogram.bytes();
      }
      if (layer.first_broken >= epoch) layer.first_broken = NAN;
    }
  }
}

void RunHistory::row(const Row& row) {
  Layer& layer = layer_of(row.tag, loupe::layer_of(row));
  each_value(row, [&](const RowValue& value) {
    if (!std::isfinite(value.value) && std::isnan(layer.first_broken)) layer.first_broken = epochs_[column()];
    Line& line = layer.lines[value.line];
    line.name = value.line;
    put(line.values, value.value);
  });
  each_range(row, [&](const RowRange& range) {
    Band& band = layer.bands[std::string(range.low_name) + '\n' + range.high_name];
    band.low_name = range.low_name;
    band.high_name = range.high_name;
    put(band.lows, range.low);
    put(band.highs, range.high);
  });
}

void RunHistory::put(PackedSeries& values, double value) {
  series_bytes_ -= values.bytes();
  values.put(column(), value);
  series_bytes_ += values.bytes();
}

void RunHistory::histogram(const Histogram& histogram) {
  auto& histograms = layer_of(histogram.tag, loupe::layer_of(histogram)).histograms;
  HistogramHistory& history = histograms[histogram.line];
  history.line = histogram.line;
  series_bytes_ -= history.bytes();
  history.put(epochs_[column()], histogram);
  series_bytes_ += history.bytes();
}

RunHistory::TagHistory& RunHistory::tag_of(const std::string& name) {
  TagHistory& tag = tags_[name];
  tag.name = name;
  return tag;
}

RunHistory::Layer& RunHistory::layer_of(const std::string& tag, const std::string& name) {
  Layer& layer = tag_of(tag).layers[name];
  layer.name = name;
  return layer;
}

std::size_t RunHistory::column() const {
  if (epochs_.empty()) throw Error("the report got a value before its first tick");
  return epochs_.size() - 1;
}

template <class Change>
void RunHistory::change_series(Change&& change) {
  const auto counted = [&](PackedSeries& values) {
    series_bytes_ -= values.bytes();
    change(values);
    series_bytes_ += values.bytes();
  };
  for (TagHistory& tag : tags_) {
    for (Layer& layer : tag.layers) {
      for (Line& line : layer.lines) counted(line.values);
      for (Band& band : layer.bands) {
        counted(band.lows);
        counted(band.highs);
      }
    }
  }
}

void RunHistory::keep(std::size_t columns) {
  for (auto* axis : {&epochs_, &steps_, &seconds_}) axis->resize(columns);
  change_series([&](PackedSeries& values) { values.cut(columns); });
}

std::size_t RunHistory::bytes() const {
  std::size_t sum = 2 * config_.size() + story_.bytes() + series_bytes_;
  for (const std::string& model : models_) sum += model.size();
  return sum;
}

void RunHistory::thin() {
  const std::size_t columns = epochs_.size();
  const auto stays = [columns](std::size_t i) { return i % 2 == 0 || i + 1 == columns; };
  for (auto* axis : {&epochs_, &steps_, &seconds_}) {
    std::vector<double> kept;
    for (std::size_t i = 0; i < columns; ++i) {
      if (stays(i)) kept.push_back((*axis)[i]);
    }
    *axis = std::move(kept);
  }
  change_series([&](PackedSeries& values) { values.thin(stays); });
  stride_ *= 2;
  last_is_provisional_ = (told_ - 1) % stride_ != 0;
}

std::string RunHistory::describe(const TagHistory& tag) {
  Json layers = Json::array(), broken = Json::array();
  detail::KeyedList<std::string> lines;
  bool any_broken = false;
  for (const Layer& layer : tag.layers) {
    layers.push_back(layer.name);
    broken.push_back(layer.first_broken);
    any_broken = any_broken || !std::isnan(layer.first_broken);
    for (const Line& line : layer.lines) lines[line.name] = line.name;
  }
  return page_json({{"name", tag.name},
                    {"type", tag.type},
                    {"log", tag.log_y},
                    {"big", tag.big},
                    {"annotate", tag.annotate},
                    {"words", tag.words},
                    {"low", tag.y_minimum},
                    {"high", tag.y_maximum},
                    {"layers", std::move(layers)},
                    {"lines", lines.items()},
                    {"broken", any_broken ? std::move(broken) : Json()}});
}

void RunHistory::write(std::size_t index, const Write& write) const {
  const std::string id = "run-" + std::to_string(index);
  const auto open = [&](const std::string& name) { write("<script type=\"application/json\" id=\"" + name + "\">"); };
  open(id);
  std::string told = page_json({{"name", name_},
                                {"directory", directory_},
                                {"config", config_},
                                {"settings", settings_},
                                {"loupe", loupe_version_},
                                {"libtorch", libtorch_version_},
                                {"ranks", ranks_},
                                {"started", started_},
                                {"begun", begun_},
                                {"lastTick", last_tick_},
                                {"resumed", resumed_},
                                {"incident", is_incident_},
                                {"ended", story_.has_ended()},
                                {"stride", stride_},
                                {"epochs", epochs_},
                                {"steps", steps_},
                                {"seconds", seconds_}});
  told.back() = ',';
  write(told + story_.json_members() + ",\"models\":" + json_list(models_) + ",\"tags\":");
  write_list(write, tags_, [&](const TagHistory& tag) { write(describe(tag)); });
  write("}</script>\n");
  std::size_t number = 0;
  for (const TagHistory& tag : tags_) {
    open(id + "-tag-" + std::to_string(number++));
    write_list(write, tag.layers, [&](const Layer& layer) { write_layer(layer, write); });
    write("</script>\n");
  }
}

void RunHistory::write_layer(const Layer& layer, const Write& write) {
  write("{\"name\":" + page_text(layer.name) + ",\"lines\":");
  write_list(write, layer.lines, [&](const Line& line) {
    write("[" + page_text(line.name) + ",\"");
    write(line.values.text());
    write("\"]");
  });
  write(",\"bands\":");
  write_list(write, layer.bands, [&](const Band& band) {
    write("[" + page_text(band.low_name) + "," + page_text(band.high_name) + ",\"");
    write(band.lows.text());
    write("\",\"");
    write(band.highs.text());
    write("\"]");
  });
  write(",\"histograms\":");
  write_list(write, layer.histograms, [&](const HistogramHistory& histogram) { write(histogram.json()); });
  write("}");
}

namespace {

/// Null if the page has no element of this id.
Json script_of(std::string_view page, const std::string& id) {
  const std::string opening = "<script type=\"application/json\" id=\"" + id + "\">";
  const std::size_t found = page.find(opening);
  if (found == std::string_view::npos) return nullptr;
  const std::string_view rest = page.substr(found + opening.size());
  return Json::parse(rest.substr(0, rest.find("</script>")));
}

double number_of(const Json& json, double none = NAN) {
  return json.is_null() ? none : json.get<double>();
}

std::string text_in(const Json& list, std::size_t index) {
  return list.at(index).get<std::string>();
}

/// What a finding is kept by, its number; see RunStory::finding.
std::string identity_of(const Json& finding) {
  return std::to_string(finding.at("id").get<std::uint64_t>());
}

std::vector<double> numbers_of(const Json& json) {
  std::vector<double> numbers;
  for (const Json& each : json) numbers.push_back(number_of(each));
  return numbers;
}

}  // namespace

HistogramHistory HistogramHistory::read(const Json& json) {
  HistogramHistory history;
  history.line = json.at("line").get<std::string>();
  for (const Json& edges : json.at("edges")) {
    std::vector<double>& own = history.edges_.emplace_back();
    for (const Json& edge : edges) {
      const double infinite = std::numeric_limits<double>::infinity();
      own.push_back(number_of(edge, own.empty() ? -infinite : infinite));
    }
  }
  for (const Json& each : json.at("columns")) {
    history.columns_.push_back({each.at(0).get<double>(), each.at(1).get<std::size_t>(), each.at(2).get<std::size_t>(),
                                each.at(3).get<std::string>(), number_of(each.at(4))});
    if (history.columns_.back().edges >= history.edges_.size()) throw Error("a histogram has no edges");
    history.bytes_ += history.columns_.back().levels.size();
  }
  history.told_ = history.columns_.size();
  return history;
}

RunStory::RunStory(const Json& run) : lost_notes_(run.at("lostNotes").get<std::size_t>()) {
  for (const Json& each : run.at("findings")) put(findings_, identity_of(each), page_json(each));
  for (const Json& each : run.at("notes")) keep_note(page_json(each));
}

void RunStory::continue_from(const RunStory& earlier, double epoch) {
  const Keyed findings = std::exchange(findings_, {});
  const std::deque<std::string> notes = std::exchange(notes_, {});
  bytes_ = 0;
  for (const std::string& text : hyperparameters_) bytes_ += text.size();
  for (const std::string& text : earlier.findings_) {
    Json finding = Json::parse(text);
    if (!(number_of(finding.at("firstEpoch"), 0) < epoch)) continue;
    finding["gone"] = true;  // the continued run looks again and repeats what is still wrong
    put(findings_, identity_of(finding), page_json(finding));
  }
  for (const std::string& text : findings) put(findings_, identity_of(Json::parse(text)), text);
  for (const std::string& text : earlier.notes_) {
    if (number_of(Json::parse(text).at("epoch"), 0) < epoch) keep_note(text);
  }
  for (const std::string& text : notes) keep_note(text);
  lost_notes_ += earlier.lost_notes_;
}

std::optional<RunHistory> RunHistory::read(const std::string& page) try {
  const Json run = script_of(page, "run-0");
  if (run.is_null() || !script_of(page, "run-1").is_null()) return std::nullopt;
  RunHistory history;
  history.story_ = RunStory(run);
  history.settings_ = run.at("settings").get<Settings>();
  for (const Json& model : run.at("models")) history.models_.push_back(page_json(model));
  history.stride_ = run.at("stride").get<std::size_t>();
  history.epochs_ = numbers_of(run.at("epochs"));
  history.steps_ = numbers_of(run.at("steps"));
  history.seconds_ = numbers_of(run.at("seconds"));
  history.told_ = history.epochs_.size() * history.stride_;
  const Json& tags = run.at("tags");
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const Json& told = tags[i];
    TagHistory& tag = history.tag_of(told.at("name").get<std::string>().c_str());
    tag.words = told.at("words").get<std::array<std::string, 5>>();
    tag.type = told.at("type").get<std::uint32_t>();
    tag.log_y = told.at("log").get<bool>();
    tag.big = told.at("big").get<bool>();
    tag.annotate = told.at("annotate").get<bool>();
    tag.y_minimum = number_of(told.at("low"));
    tag.y_maximum = number_of(told.at("high"));
    const std::vector<double> broken = numbers_of(told.at("broken"));
    for (const Json& each : script_of(page, "run-0-tag-" + std::to_string(i))) {
      Layer& layer = history.layer_of(tag.name, each.at("name").get<std::string>());
      for (const Json& line : each.at("lines"))
        layer.lines[text_in(line, 0)] = {text_in(line, 0), PackedSeries(text_in(line, 1))};
      for (const Json& band : each.at("bands"))
        layer.bands[text_in(band, 0) + '\n' + text_in(band, 1)] = {
            text_in(band, 0), text_in(band, 1), PackedSeries(text_in(band, 2)), PackedSeries(text_in(band, 3))};
      for (const Json& told_histogram : each.at("histograms")) {
        HistogramHistory histogram = HistogramHistory::read(told_histogram);
        history.series_bytes_ += histogram.bytes();
        layer.histograms[histogram.line] = std::move(histogram);
      }
      for (const Line& line : layer.lines) history.series_bytes_ += line.values.bytes();
      for (const Band& band : layer.bands) history.series_bytes_ += band.lows.bytes() + band.highs.bytes();
      if (const std::size_t place = tag.layers.size() - 1; place < broken.size()) layer.first_broken = broken[place];
    }
  }
  return history;
} catch (const std::exception&) {
  return std::nullopt;  // no report, or one of another version
}

std::string RunHistory::differences_from(const RunHistory& earlier) const {
  const auto named = [](const RunHistory& run) {
    std::map<std::string, std::string> all;
    for (const auto& [name, value] : run.settings_) all["'" + name + "'"] = value;
    all.erase("'run.resume'");
    for (const std::string& text : run.models_) {
      const Json model = Json::parse(text, nullptr, false);
      if (model.is_object()) all["the model '" + model.value("name", "") + "'"] = text;
    }
    return all;
  };
  const auto before = named(earlier), now = named(*this);
  std::string all;
  const auto add = [&](const std::string& name, const char* how) { all += (all.empty() ? "" : ", ") + name + how; };
  for (const auto& [name, value] : now) {
    const auto known = before.find(name);
    if (known == before.end()) {
      add(name, " is new");
    } else if (known->second != value) {
      add(name, " is another");
    }
  }
  for (const auto& [name, value] : before) {
    if (now.count(name) == 0) add(name, " is gone");
  }
  return all;
}

void RunHistory::continue_from(RunHistory earlier, double epoch, bool with_story) {
  earlier.forget_from(epoch);
  if (earlier.epochs_.empty()) return;
  for (TagHistory& now : tags_) {
    TagHistory& tag = earlier.tag_of(now.name);
    now.layers = std::move(tag.layers);
    tag = std::move(now);
  }
  tags_ = std::move(earlier.tags_);
  series_bytes_ = earlier.series_bytes_;
  epochs_ = std::move(earlier.epochs_);
  steps_ = std::move(earlier.steps_);
  seconds_ = std::move(earlier.seconds_);
  told_ = earlier.told_;
  stride_ = earlier.stride_;
  if (with_story) story_.continue_from(earlier.story_, epoch);
}

}  // namespace loupe::html
