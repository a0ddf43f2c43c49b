#include "html/run_history.h"

#include <loupe/text/number_text.h>
#include <loupe/text/words.h>
#include <loupe/visualizer.h>
#include <loupe/visualizers/model_json.h>
#include <utf8.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

namespace loupe::html {

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
  write("{\"name\":" + page_json(layer.name) + ",\"lines\":");
  write_list(write, layer.lines, [&](const Line& line) {
    write("[" + page_json(line.name) + ",\"");
    write(line.values.text());
    write("\"]");
  });
  write(",\"bands\":");
  write_list(write, layer.bands, [&](const Band& band) {
    write("[" + page_json(band.low_name) + "," + page_json(band.high_name) + ",\"");
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
