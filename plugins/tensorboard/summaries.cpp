#include "tensorboard/summaries.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tensorboard/messages.h"

namespace loupe::tensorboard {
namespace {

/// The edges with infinities replaced, because TensorBoard cannot draw them.
std::vector<double> finite_edges(const loupe::Histogram& histogram) {
  std::vector<double> edges(histogram.edges, histogram.edges + histogram.bin_count + 1);
  const auto outside = [](double neighbour, double direction) {
    return neighbour * direction > 0 ? 2 * neighbour : neighbour + direction;
  };
  const std::size_t last = edges.size() - 1;
  if (std::isinf(edges[0])) edges[0] = last > 1 ? outside(edges[1], -1) : -1;
  if (std::isinf(edges[last])) edges[last] = last > 1 ? outside(edges[last - 1], 1) : 1;
  return edges;
}

}  // namespace

std::string scalar_name(const std::string& tag, const std::string& layer, const std::string& line) {
  return layer.empty() || layer == tag ? tag + "/" + line : tag + "/" + line + "/" + layer;
}

void add_scalar(std::string& summary, const std::string& name, double value) {
  constexpr double most = std::numeric_limits<float>::max();
  protozero::pbf_builder<Summary> builder(summary);
  protozero::pbf_builder<SummaryValue> added(builder, Summary::message_value);
  added.add_string(SummaryValue::string_tag, name);
  added.add_float(SummaryValue::float_simple_value,
                  static_cast<float>(std::isfinite(value) ? std::clamp(value, -most, most) : value));
}

void add_histogram(std::string& summary, const std::string& name, const loupe::Histogram& histogram) {
  const std::vector<double> edges = finite_edges(histogram);
  const double* const counts = histogram.counts;
  std::size_t first = 0, end = histogram.bin_count;
  while (first < end && !(counts[first] > 0)) ++first;
  while (end > first && !(counts[end - 1] > 0)) --end;

  // In TensorBoard a bucket begins where the previous one ends, so the first bucket needs an empty one before it.
  std::vector<double> limits{edges[first]}, buckets{0};
  double total = 0, sum = 0, squares = 0;
  for (std::size_t i = first; i < end; ++i) {
    const double middle = edges[i] / 2 + edges[i + 1] / 2;
    total += counts[i];
    sum += counts[i] * middle;
    squares += counts[i] * middle * middle;
    limits.push_back(edges[i + 1]);
    buckets.push_back(counts[i]);
  }
  protozero::pbf_builder<Summary> builder(summary);
  protozero::pbf_builder<SummaryValue> added(builder, Summary::message_value);
  added.add_string(SummaryValue::string_tag, name);
  protozero::pbf_builder<HistogramData> shown(added, SummaryValue::message_histogram);
  shown.add_double(HistogramData::double_minimum, edges[first]);
  shown.add_double(HistogramData::double_maximum, edges[end]);
  shown.add_double(HistogramData::double_count, total);
  shown.add_double(HistogramData::double_sum, sum);
  shown.add_double(HistogramData::double_sum_squares, squares);
  shown.add_packed_double(HistogramData::doubles_bucket_limit, limits.begin(), limits.end());
  shown.add_packed_double(HistogramData::doubles_bucket, buckets.begin(), buckets.end());
}

void add_text(std::string& summary, const std::string& name, const std::string& plugin, const std::string& text) {
  protozero::pbf_builder<Summary> builder(summary);
  protozero::pbf_builder<SummaryValue> added(builder, Summary::message_value);
  added.add_string(SummaryValue::string_tag, name);
  {
    protozero::pbf_builder<Tensor> tensor(added, SummaryValue::message_tensor);
    tensor.add_enum(Tensor::enum_type, TENSOR_STRING);
    tensor.add_message(Tensor::message_shape, std::string());
    tensor.add_bytes(Tensor::bytes_string_value, text);
  }
  protozero::pbf_builder<Metadata> metadata(added, SummaryValue::message_metadata);
  protozero::pbf_builder<PluginData>(metadata, Metadata::message_plugin_data)
      .add_string(PluginData::string_plugin_name, plugin);
}

void add_hyperparameter_data(std::string& summary, const std::string& name, const std::string& data) {
  protozero::pbf_builder<Summary> builder(summary);
  protozero::pbf_builder<SummaryValue> added(builder, Summary::message_value);
  added.add_string(SummaryValue::string_tag, name);
  {
    // All content is in the metadata, but a summary must have a value.
    protozero::pbf_builder<Tensor> tensor(added, SummaryValue::message_tensor);
    tensor.add_enum(Tensor::enum_type, TENSOR_FLOAT);
    protozero::pbf_builder<Shape> shape(tensor, Tensor::message_shape);
    protozero::pbf_builder<Dimension>(shape, Shape::message_dimension).add_int64(Dimension::int64_size, 0);
  }
  protozero::pbf_builder<Metadata> metadata(added, SummaryValue::message_metadata);
  protozero::pbf_builder<PluginData> plugin(metadata, Metadata::message_plugin_data);
  plugin.add_string(PluginData::string_plugin_name, "hparams");
  plugin.add_bytes(PluginData::bytes_content, data);
}

Setting setting_of(const Hyperparameter& value) {
  switch (value.type) {
    case LOUPE_TYPE_BOOLEAN:
      return value.integer != 0;
    case LOUPE_TYPE_INTEGER:
    case LOUPE_TYPE_NUMBER:
      return value.number;
    case LOUPE_TYPE_STRING:
      return std::string(value.string);
    default:
      std::string all;
      for (std::size_t i = 0; i < value.string_count; ++i) all += (i == 0 ? "" : ", ") + std::string(value.strings[i]);
      return all;
  }
}

std::string experiment(const Settings& settings, const std::vector<std::string>& metrics) {
  constexpr int types[] = {HYPERPARAMETER_STRING, HYPERPARAMETER_BOOLEAN, HYPERPARAMETER_NUMBER};
  std::string text;
  protozero::pbf_builder<HyperparameterData> data(text);
  protozero::pbf_builder<Experiment> experiment(data, HyperparameterData::message_experiment);
  for (const auto& [name, setting] : settings) {
    protozero::pbf_builder<HyperparameterInfo> info(experiment, Experiment::message_hyperparameter);
    info.add_string(HyperparameterInfo::string_name, name);
    info.add_enum(HyperparameterInfo::enum_type, types[setting.index()]);
  }
  for (const std::string& metric : metrics) {
    protozero::pbf_builder<MetricInfo> info(experiment, Experiment::message_metric);
    protozero::pbf_builder<MetricName>(info, MetricInfo::message_name).add_string(MetricName::string_tag, metric);
  }
  return text;
}

std::string session_start(const Settings& settings, double time) {
  std::string text;
  protozero::pbf_builder<HyperparameterData> data(text);
  protozero::pbf_builder<SessionStart> start(data, HyperparameterData::message_session_start);
  for (const auto& [name, setting] : settings) {
    protozero::pbf_builder<MapEntry> entry(start, SessionStart::map_hyperparameters);
    entry.add_string(MapEntry::string_key, name);
    protozero::pbf_builder<Value> value(entry, MapEntry::message_value);
    if (const auto* content = std::get_if<std::string>(&setting)) value.add_string(Value::string_text, *content);
    if (const auto* boolean = std::get_if<bool>(&setting)) value.add_bool(Value::bool_boolean, *boolean);
    if (const auto* number = std::get_if<double>(&setting)) value.add_double(Value::double_number, *number);
  }
  start.add_double(SessionStart::double_start_time, time);
  return text;
}

std::string session_end(std::uint32_t how, double time) {
  std::string text;
  protozero::pbf_builder<HyperparameterData> data(text);
  protozero::pbf_builder<SessionEnd> end(data, HyperparameterData::message_session_end);
  end.add_enum(SessionEnd::enum_status, how == LOUPE_END_COMPLETED ? SESSION_SUCCESS
                                        : how == LOUPE_END_FAILED  ? SESSION_FAILURE
                                                                   : SESSION_UNKNOWN);
  end.add_double(SessionEnd::double_end_time, time);
  return text;
}

namespace {

/// A regular expression that matches exactly `text`.
std::string expression(const std::string& text) {
  std::string escaped = "^";
  for (const char c : text) {
    if (std::string(R"(\^$.|?*+()[]{}/)").find(c) != std::string::npos) escaped += '\\';
    escaped += c;
  }
  return escaped + "$";
}

/// The length of the common beginning of two names: a band belongs to the line whose name has the longest one, for
/// example "train_loss min" to "train_loss mean".
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
