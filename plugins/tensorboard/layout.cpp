#include "tensorboard/layout.h"

#include "tensorboard/messages.h"
#include "tensorboard/summaries.h"

#include <algorithm>

namespace loupe::tensorboard {

namespace {

/// A regular expression for exactly `text`.
std::string expression(const std::string& text) {
  std::string escaped = "^";
  for (const char c : text) {
    if (std::string(R"(\^$.|?*+()[]{}/)").find(c) != std::string::npos) escaped += '\\';
    escaped += c;
  }
  return escaped + "$";
}

/// How many characters the two begin with in common: a band belongs to the line whose name begins like its own, as
/// "train_loss min" to "train_loss mean".
std::size_t common_length(const std::string& one, const std::string& other) {
  return static_cast<std::size_t>(std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first -
                                  one.begin());
}

const std::string& line_of_band(const std::vector<std::string>& lines, const std::string& low_name) {
  return *std::max_element(lines.begin(), lines.end(), [&](const std::string& a, const std::string& b) {
    return common_length(a, low_name) < common_length(b, low_name);
  });
}

std::string line_chart(const std::string& tag, const std::string& layer, const std::vector<std::string>& lines) {
  std::string text;
  protozero::pbf_builder<Chart> chart(text);
  chart.add_string(Chart::string_title, layer);
  protozero::pbf_builder<ChartLines> content(chart, Chart::message_lines);
  for (const std::string& line : lines) {
    content.add_string(ChartLines::string_tag_expression, expression(scalar_name(tag, layer, line)));
  }
  return text;
}

std::string band_chart(const std::string& tag, const std::string& layer, const std::string& line,
                       const std::string& low_name, const std::string& high_name) {
  std::string text;
  protozero::pbf_builder<Chart> chart(text);
  chart.add_string(Chart::string_title, layer + ": " + low_name + " to " + high_name);
  protozero::pbf_builder<ChartBands> content(chart, Chart::message_bands);
  protozero::pbf_builder<ChartBand> band(content, ChartBands::message_band);
  band.add_string(ChartBand::string_value, scalar_name(tag, layer, line));
  band.add_string(ChartBand::string_lower, scalar_name(tag, layer, low_name));
  band.add_string(ChartBand::string_upper, scalar_name(tag, layer, high_name));
  return text;
}

}  // namespace

void Charts::tag(const Tag& tag) {
  TagCharts& charts = tag_of(tag.id);
  if (charts.big != (is_big(tag))) changed_ = true;
  charts.big = is_big(tag);
  charts.shares = tag.type == LOUPE_SCALE_RELATION;
}

void Charts::line(const char* tag, const char* layer, const char* line) {
  if (!known_.insert(scalar_name(tag, layer, line)).second) return;
  layer_of(tag, layer).lines.emplace_back(line);
  changed_ = true;
}

void Charts::band(const char* tag, const char* layer, const char* low_name, const char* high_name) {
  if (!known_.insert(scalar_name(tag, layer, low_name) + '\n' + high_name).second) return;
  layer_of(tag, layer).bands.emplace_back(low_name, high_name);
  changed_ = true;
}

Charts::TagCharts& Charts::tag_of(const std::string& tag) {
  TagCharts& charts = tags_[tag];
  charts.name = tag;
  return charts;
}

Charts::LayerCharts& Charts::layer_of(const std::string& tag, const std::string& layer) {
  LayerCharts& charts = tag_of(tag).layers[layer];
  charts.name = layer;
  return charts;
}

std::string Charts::layout() {
  changed_ = false;
  std::string text;
  protozero::pbf_builder<Layout> layout(text);
  for (const bool big : {true, false}) {
    for (const TagCharts& tag : tags_) {
      if (tag.big != big || tag.layers.empty()) continue;
      protozero::pbf_builder<Category> category(layout, Layout::message_category);
      category.add_string(Category::string_title, tag.name);
      for (const LayerCharts& layer : tag.layers) {
        if (layer.bands.empty() || layer.lines.size() != 1) {
          category.add_message(Category::message_chart, line_chart(tag.name, layer.name, layer.lines));
        }
        for (const auto& [low_name, high_name] : layer.bands) {
          const std::string& line = layer.lines.empty() ? low_name : line_of_band(layer.lines, low_name);
          category.add_message(Category::message_chart, band_chart(tag.name, layer.name, line, low_name, high_name));
        }
      }
      category.add_bool(Category::bool_closed, !big);
    }
  }
  return text;
}

std::vector<std::string> Charts::results() const {
  std::vector<std::string> names;
  for (const TagCharts& tag : tags_) {
    if (!tag.big || tag.shares) continue;
    for (const LayerCharts& layer : tag.layers) {
      for (const std::string& line : layer.lines) names.push_back(scalar_name(tag.name, layer.name, line));
    }
  }
  return names;
}

}  // namespace loupe::tensorboard
