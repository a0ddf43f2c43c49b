#include "html/run_history.h"

#include "html/config_settings.h"
#include "html/json_text.h"
#include "html/packing.h"

#include <loupe/model_json.h>
#include <loupe/text_of.h>
#include <loupe/utc_text.h>
#include <loupe/utf8.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace loupe::html {

namespace {

template <class Items, class Is>
auto& found_or_added(Items& items, Is&& is, typename Items::value_type&& fresh) {
  const auto found = std::find_if(items.begin(), items.end(), is);
  if (found != items.end()) return *found;
  items.push_back(std::move(fresh));
  return items.back();
}

/// [[name, value]]
std::string json_settings(const std::string& config) {
  std::string all;
  for (const auto& [name, value] : settings_of(config)) all += (all.empty() ? "" : ",") + json_texts({name, value});
  return "[" + all + "]";
}

}  // namespace

RunHistory::RunHistory(const Run& run)
    : name_(text_of(run.name)),
      directory_(text_of(run.directory)),
      config_(text_of(run.config)),
      settings_(json_settings(config_)),
      loupe_version_(text_of(run.loupe_version)),
      libtorch_version_(text_of(run.libtorch_version)),
      started_(text_of(run.started)),
      begun_(utc_text(static_cast<double>(std::time(nullptr)))),
      resumed_((run.flags & LOUPE_RUN_RESUMED) != 0) {}

void RunHistory::model(const Model& model) {
  models_.push_back(valid_utf8(model_json(model)));
}

void RunHistory::tag(const Tag& tag) {
  TagHistory& history = tag_of(tag.id);
  history.words = {text_of(title_of(tag)), text_of(tag.unit), text_of(tag.description), text_of(tag.healthy),
                   text_of(tag.advice)};
  history.type = tag.type;
  history.log_y = tag.log_y != 0;
  history.big = tag.big != 0;
  history.annotate = tag.annotate != 0;
  history.y_minimum = tag.y_minimum;
  history.y_maximum = tag.y_maximum;
}

void RunHistory::begin_tick(const Tick& tick) {
  const double epoch = tick.epoch;
  last_tick_ = tick.time > 0 ? utc_text(tick.time) : "";
  story_.go_on();
  if (!epochs_.empty() && epochs_.back() >= epoch) forget_from(epoch);
  if (last_is_provisional_) keep(epochs_.size() - 1);
  epochs_.push_back(epoch);
  steps_.push_back(static_cast<double>(tick.step));
  seconds_.push_back(tick.elapsed);
  last_is_provisional_ = told_++ % stride_ != 0;
}

void RunHistory::forget_from(double epoch) {
  keep(static_cast<std::size_t>(std::lower_bound(epochs_.begin(), epochs_.end(), epoch) - epochs_.begin()));
  last_is_provisional_ = false;
  told_ = epochs_.size() * stride_;
  for (TagHistory& tag : tags_) {
    for (Layer& layer : tag.layers) {
      for (HistogramHistory& histogram : layer.histograms) histogram.forget_from(epoch);
      if (layer.first_broken >= epoch) layer.first_broken = NAN;
    }
  }
}

void RunHistory::value(const Value& value) {
  Layer& layer = layer_of(value.tag, loupe::layer_of(value));
  if (!std::isfinite(value.value) && std::isnan(layer.first_broken)) layer.first_broken = epochs_[column()];
  Line& line = found_or_added(
      layer.lines, [&](const Line& known) { return known.name == value.line; }, Line{value.line, ""});
  put_packed(line.values, column(), value.value);
}

void RunHistory::range(const Range& range) {
  Band& band = found_or_added(
      layer_of(range.tag, loupe::layer_of(range)).bands,
      [&](const Band& known) { return known.low_name == range.low_name && known.high_name == range.high_name; },
      Band{range.low_name, range.high_name, "", ""});
  put_packed(band.lows, column(), range.low);
  put_packed(band.highs, column(), range.high);
}

void RunHistory::histogram(const Histogram& histogram) {
  HistogramHistory& history = found_or_added(
      layer_of(histogram.tag, loupe::layer_of(histogram)).histograms,
      [&](const HistogramHistory& known) { return known.line() == histogram.line; }, HistogramHistory(histogram.line));
  history.put(epochs_[column()], histogram);
}

RunHistory::TagHistory& RunHistory::tag_of(const char* name) {
  TagHistory fresh;
  fresh.name = name;
  return found_or_added(
      tags_, [&](const TagHistory& known) { return known.name == name; }, std::move(fresh));
}

RunHistory::Layer& RunHistory::layer_of(const char* tag, const char* layer) {
  TagHistory& history = tag_of(tag);
  const auto [place, added] = history.layer_index.emplace(layer, history.layers.size());
  if (added) {
    history.layers.emplace_back();
    history.layers.back().name = layer;
  }
  return history.layers[place->second];
}

std::size_t RunHistory::column() const {
  if (epochs_.empty()) throw Error("the report was told a value before its first tick");
  return epochs_.size() - 1;
}

template <class Use>
void RunHistory::each_series(Use&& use) {
  for (TagHistory& tag : tags_) {
    for (Layer& layer : tag.layers) {
      for (Line& line : layer.lines) use(line.values);
      for (Band& band : layer.bands) {
        use(band.lows);
        use(band.highs);
      }
    }
  }
}

void RunHistory::keep(std::size_t columns) {
  for (auto* axis : {&epochs_, &steps_, &seconds_}) axis->resize(columns);
  each_series([&](std::string& values) { values.resize(std::min(values.size(), columns * PACKED_SIZE)); });
}

std::size_t RunHistory::bytes() const {
  std::size_t sum = config_.size() + settings_.size() + story_.bytes();
  for (const std::string& model : models_) sum += model.size();
  for (const TagHistory& tag : tags_) {
    for (const Layer& layer : tag.layers) {
      for (const Line& line : layer.lines) sum += line.values.size();
      for (const Band& band : layer.bands) sum += band.lows.size() + band.highs.size();
      for (const HistogramHistory& histogram : layer.histograms) sum += histogram.bytes();
    }
  }
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
  each_series([&](std::string& values) {
    std::string kept;
    for (std::size_t i = 0; i * PACKED_SIZE < values.size(); ++i) {
      if (stays(i)) kept.append(values, i * PACKED_SIZE, PACKED_SIZE);
    }
    values = std::move(kept);
  });
  stride_ *= 2;
  last_is_provisional_ = (told_ - 1) % stride_ != 0;
}

std::string RunHistory::describe(const TagHistory& tag) {
  const auto boolean = [](bool value) { return value ? "true" : "false"; };
  std::vector<std::string> layers, lines;
  std::vector<double> broken;
  for (const Layer& layer : tag.layers) {
    layers.push_back(layer.name);
    broken.push_back(layer.first_broken);
    for (const Line& line : layer.lines) {
      if (std::find(lines.begin(), lines.end(), line.name) == lines.end()) lines.push_back(line.name);
    }
  }
  const bool any_broken = std::any_of(broken.begin(), broken.end(), [](double epoch) { return !std::isnan(epoch); });
  return "{\"name\":" + json_text(tag.name) + ",\"type\":" + std::to_string(tag.type) +
         ",\"log\":" + boolean(tag.log_y) + ",\"big\":" + boolean(tag.big) + ",\"annotate\":" + boolean(tag.annotate) +
         ",\"words\":" + json_texts({tag.words.begin(), tag.words.end()}) + ",\"low\":" + json_number(tag.y_minimum) +
         ",\"high\":" + json_number(tag.y_maximum) + ",\"layers\":" + json_texts(layers) +
         ",\"lines\":" + json_texts(lines) + ",\"broken\":" + (any_broken ? json_numbers(broken) : "null") + "}";
}

void RunHistory::write(std::size_t index, const Write& write) const {
  const std::string id = "run-" + std::to_string(index);
  const auto open = [&](const std::string& name) { write("<script type=\"application/json\" id=\"" + name + "\">"); };
  open(id);
  write("{\"name\":" + json_text(name_) + ",\"directory\":" + json_text(directory_) +
        ",\"config\":" + json_text(config_) + ",\"settings\":" + settings_ + ",\"loupe\":" + json_text(loupe_version_) +
        ",\"libtorch\":" + json_text(libtorch_version_) + ",\"started\":" + json_text(started_) +
        ",\"begun\":" + json_text(begun_) + ",\"lastTick\":" + json_text(last_tick_) +
        ",\"resumed\":" + (resumed_ ? "true" : "false") + ",\"ended\":" + (story_.has_ended() ? "true" : "false") +
        "," + story_.json_members() + ",\"stride\":" + std::to_string(stride_) +
        ",\"models\":" + json_documents(models_) + ",\"epochs\":" + json_numbers(epochs_) +
        ",\"steps\":" + json_numbers(steps_) + ",\"seconds\":" + json_numbers(seconds_) + ",\"tags\":[");
  for (std::size_t i = 0; i < tags_.size(); ++i) write((i == 0 ? "" : ",") + describe(tags_[i]));
  write("]}</script>\n");
  for (std::size_t i = 0; i < tags_.size(); ++i) {
    open(id + "-tag-" + std::to_string(i));
    write("[");
    for (std::size_t j = 0; j < tags_[i].layers.size(); ++j) {
      if (j != 0) write(",");
      write_layer(tags_[i].layers[j], write);
    }
    write("]</script>\n");
  }
}

void RunHistory::write_layer(const Layer& layer, const Write& write) {
  write("{\"name\":" + json_text(layer.name) + ",\"lines\":[");
  for (std::size_t i = 0; i < layer.lines.size(); ++i) {
    write((i == 0 ? "[" : ",[") + json_text(layer.lines[i].name) + ",\"");
    write(layer.lines[i].values);
    write("\"]");
  }
  write("],\"bands\":[");
  for (std::size_t i = 0; i < layer.bands.size(); ++i) {
    const Band& band = layer.bands[i];
    write((i == 0 ? "[" : ",[") + json_text(band.low_name) + "," + json_text(band.high_name) + ",\"");
    write(band.lows);
    write("\",\"");
    write(band.highs);
    write("\"]");
  }
  write("],\"histograms\":[");
  for (std::size_t i = 0; i < layer.histograms.size(); ++i) {
    write((i == 0 ? "" : ",") + layer.histograms[i].json());
  }
  write("]}");
}

}  // namespace loupe::html
