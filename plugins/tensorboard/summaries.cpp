#include "tensorboard/summaries.h"

#include "tensorboard/messages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace loupe::tensorboard {

namespace {

/// The edges without infinities, which TensorBoard cannot draw.
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

  // TensorBoard takes a bucket to begin where the one before ends, and so the first one needs an empty one before it.
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
    // Everything is in the metadata; a summary needs a value all the same.
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

}  // namespace loupe::tensorboard
