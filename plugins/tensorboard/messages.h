#pragma once

#include <protozero/pbf_builder.hpp>

namespace loupe::tensorboard {

// The field numbers of the protobuf messages that Loupe writes for TensorBoard. They are written with protozero, which
// consists only of headers: LibTorch may export its own protobuf runtime, and a second one in the same process would
// conflict with it.

enum class Event : protozero::pbf_tag_type {
  double_wall_time = 1,
  int64_step = 2,
  string_file_version = 3,
  message_summary = 5,
  message_session_log = 7
};

enum class SessionLog : protozero::pbf_tag_type { enum_status = 1 };
constexpr int SESSION_LOG_START = 1;

enum class Summary : protozero::pbf_tag_type { message_value = 1 };

enum class SummaryValue : protozero::pbf_tag_type {
  string_tag = 1,
  float_simple_value = 2,
  message_histogram = 5,
  message_tensor = 8,
  message_metadata = 9
};

enum class Metadata : protozero::pbf_tag_type { message_plugin_data = 1 };
enum class PluginData : protozero::pbf_tag_type { string_plugin_name = 1, bytes_content = 2 };

enum class HistogramData : protozero::pbf_tag_type {
  double_minimum = 1,
  double_maximum = 2,
  double_count = 3,
  double_sum = 4,
  double_sum_squares = 5,
  doubles_bucket_limit = 6,
  doubles_bucket = 7
};

enum class Tensor : protozero::pbf_tag_type { enum_type = 1, message_shape = 2, bytes_string_value = 8 };
enum class Shape : protozero::pbf_tag_type { message_dimension = 2 };
enum class Dimension : protozero::pbf_tag_type { int64_size = 1 };
constexpr int TENSOR_FLOAT = 1, TENSOR_STRING = 7;

// Messages of the plugin "custom_scalars".
enum class Layout : protozero::pbf_tag_type { message_category = 2 };
enum class Category : protozero::pbf_tag_type { string_title = 1, message_chart = 2, bool_closed = 3 };
enum class Chart : protozero::pbf_tag_type { string_title = 1, message_lines = 2, message_bands = 3 };
enum class ChartLines : protozero::pbf_tag_type { string_tag_expression = 1 };
enum class ChartBands : protozero::pbf_tag_type { message_band = 1 };
enum class ChartBand : protozero::pbf_tag_type { string_value = 1, string_lower = 2, string_upper = 3 };

// Messages of the plugin "hparams".
enum class HyperparameterData : protozero::pbf_tag_type {
  message_experiment = 2,
  message_session_start = 3,
  message_session_end = 4
};
enum class Experiment : protozero::pbf_tag_type { message_hyperparameter = 4, message_metric = 5 };
enum class HyperparameterInfo : protozero::pbf_tag_type { string_name = 1, enum_type = 4 };
constexpr int HYPERPARAMETER_STRING = 1, HYPERPARAMETER_BOOLEAN = 2, HYPERPARAMETER_NUMBER = 3;
enum class MetricInfo : protozero::pbf_tag_type { message_name = 1 };
enum class MetricName : protozero::pbf_tag_type { string_tag = 2 };
enum class SessionStart : protozero::pbf_tag_type { map_hyperparameters = 1, double_start_time = 5 };
enum class MapEntry : protozero::pbf_tag_type { string_key = 1, message_value = 2 };
enum class Value : protozero::pbf_tag_type { double_number = 2, string_text = 3, bool_boolean = 4 };
enum class SessionEnd : protozero::pbf_tag_type { enum_status = 1, double_end_time = 2 };
constexpr int SESSION_UNKNOWN = 0, SESSION_SUCCESS = 1, SESSION_FAILURE = 2;

}  // namespace loupe::tensorboard
