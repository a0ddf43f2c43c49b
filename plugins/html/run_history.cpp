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
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace loupe::html {
namespace {

/// The relative path from one folder to another: "." if they are the same, "" if there is no such path.
std::string path_between(const std::string& from, const std::string& to) {
  std::error_code none;
  const auto whole = [&](const std::string& folder) {
    return std::filesystem::weakly_canonical(folder.empty() ? "." : folder, none);
  };
  return whole(to).lexically_relative(whole(from)).generic_string();
}

constexpr std::size_t MOST_NOTES = 1000, MOST_STEPS = 1000;

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
  constexpr double farthest = 1e300;  // larger distances are cut off; JSON has no infinity
  losses_.finding(finding.id, text_of(finding.rule), finding.severity, finding.state);
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
  how_ = ending.how;
  end_message_ = text_of(ending.message);
  ending_ = page_json({{"step", ending.at.step}, {"epoch", ending.at.epoch}});
}

StateOfRun RunStory::state(std::uint32_t flags) const {
  return has_ended() ? state_of_end(how_, end_message_, losses_.name()) : state_without_end(flags);
}

std::string RunStory::json_members() const {
  return "\"findings\":" + json_list(findings_) + ",\"notes\":" + json_list(notes_) +
         ",\"lostNotes\":" + std::to_string(lost_notes_) + ",\"hyperparameters\":" + json_list(hyperparameters_) +
         ",\"ending\":" + (ending_.empty() ? "null" : ending_);
}

namespace {

/// Writes an array; `write_each` is called once for each item.
template <class Items, class WriteEach>
void write_list(const RunHistory::Write& write, const Items& items, const WriteEach& write_each) {
  const char* between = "[";
  for (const auto& each : items) {
    write(std::exchange(between, ","));
    write_each(each);
  }
  write(*between == '[' ? "[]" : "]");
}

/// The settings of a run without its name and directory, which differ in every run, and without the format's version.
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
      libtorch_version_(text_of(run.framework_version)),
      started_(text_of(run.started)),
      begun_(utc_text(static_cast<double>(std::time(nullptr)))),
      settings_(settings_of(run.settings)),
      flags_(run.flags),
      ranks_(run.world_size),
      start_time_(run.start_time) {
  story_.losses().begin(text_of(run.train_loss), text_of(run.validation_loss));
}

bool RunHistory::is_moved_to(const Run& run) {
  if (run.start_time != start_time_ || text_of(run.name) != name_ || text_of(run.directory) == directory_ ||
      story_.has_ended())
    return false;
  directory_ = text_of(run.directory);
  models_.clear();  // the host names all models again
  return true;
}

void RunHistory::model(const Model& model) {
  models_.push_back(page_document(utf8::replace_invalid(model_json(model))));
  model_epochs_.push_back(epochs_.empty() ? NAN : epochs_.back());
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
  epoch_before_ = epochs_.empty() ? epoch - 1 : epochs_.back();
  step_before_ = epochs_.empty() ? 0 : steps_.back();
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
  const double last = epochs_.empty() ? -INFINITY : epochs_.back();
  change_step_lines([last](StepLine& line) {
    line.cut(
        static_cast<std::size_t>(std::upper_bound(line.epochs.begin(), line.epochs.end(), last) - line.epochs.begin()));
  });
}

void RunHistory::row(const Row& row) {
  row.step == 0 ? put_numbers(row) : put_step(row);
}

void RunHistory::put_step(const Row& row) {
  const auto step = static_cast<double>(row.step);
  const double last = steps_[column()], before = step_before_ < last ? step_before_ : 0;
  if (step <= before || step > last) return;
  const double share = (step - before) / (last - before);
  const double place = epoch_before_ + share * (epochs_.back() - epoch_before_);
  auto& lines = layer_of(row.tag, loupe::layer_of(row)).step_lines;
  const auto put = [&](const char* name, double value) {
    StepLine& line = lines[name];
    line.name = name;
    series_bytes_ -= line.bytes();
    line.put(place, value);
    series_bytes_ += line.bytes();
  };
  each_value(row, [&](const RowValue& value) { put(value.line, value.value); });
  each_range(row, [&](const RowRange& range) {
    put(range.low_name, range.low);
    put(range.high_name, range.high);
  });
}

void RunHistory::StepLine::put(double epoch, double value) {
  if (told++ % stride != 0) return;
  if (epochs.size() == MOST_STEPS) thin();
  if ((told - 1) % stride != 0) return;
  values.put(epochs.size(), value);
  epochs.push_back(std::round(epoch * 1e4) / 1e4);
}

void RunHistory::StepLine::cut(std::size_t points) {
  epochs.resize(points);
  values.cut(points);
  told = points * stride;
}

void RunHistory::StepLine::thin() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < epochs.size(); i += 2) epochs[kept++] = epochs[i];
  epochs.resize(kept);
  values.thin([](std::size_t i) { return i % 2 == 0; });
  stride *= 2;
}

std::size_t RunHistory::StepLine::bytes() const {
  constexpr std::size_t of_an_epoch = 7;
  return values.bytes() + of_an_epoch * epochs.size();
}

void RunHistory::put_numbers(const Row& row) {
  Layer& layer = layer_of(row.tag, loupe::layer_of(row));
  each_value(row, [&](const RowValue& value) {
    if (!std::isfinite(value.value) && std::isnan(layer.first_broken)) layer.first_broken = epochs_[column()];
    Line& line = layer.lines[value.line];
    line.name = value.line;
    put(line.values, value.value);
    story_.losses().value(row.tag, value.line, value.value);
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

template <class Change>
void RunHistory::change_step_lines(Change&& change) {
  for (TagHistory& tag : tags_) {
    for (Layer& layer : tag.layers) {
      for (StepLine& line : layer.step_lines) {
        series_bytes_ -= line.bytes();
        change(line);
        series_bytes_ += line.bytes();
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
  change_step_lines([](StepLine& line) { line.thin(); });
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

void RunHistory::write(std::size_t index, const std::string& report_folder, const Write& write) const {
  const std::string id = "run-" + std::to_string(index);
  const auto open = [&](const std::string& name) { write("<script type=\"application/json\" id=\"" + name + "\">"); };
  open(id);
  const StateOfRun state = story_.state(flags_);
  std::string told = page_json({{"name", name_},
                                {"directory", directory_},
                                {"folder", path_between(report_folder, directory_)},
                                {"config", config_},
                                {"settings", settings_},
                                {"loupe", loupe_version_},
                                {"libtorch", libtorch_version_},
                                {"ranks", ranks_},
                                {"started", started_},
                                {"begun", begun_},
                                {"lastTick", last_tick_},
                                {"resumed", (flags_ & LOUPE_RUN_RESUMED) != 0},
                                {"incident", (flags_ & LOUPE_RUN_INCIDENT) != 0},
                                {"state", in_words(state.word)},
                                {"why", state.why},
                                {"ended", story_.has_ended()},
                                {"stride", stride_},
                                {"epochs", epochs_},
                                {"steps", steps_},
                                {"modelEpochs", model_epochs_},
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
  write(",\"steps\":");
  write_list(write, layer.step_lines, [&](const StepLine& line) {
    write(page_json(Json::array({line.name, line.stride, line.epochs, line.values.text()})));
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

}  // namespace loupe::html
