#include "stream.h"

#include <loupe/detail/series_reading.h>
#include <loupe/preprocessor.h>

namespace loupe::test {
namespace {

const loupe_component& component(const std::string& preprocessor) {
  const char* plugin = preprocessor == "histogram"      ? "histograms"
                       : preprocessor == "change_ratio" ? "update_ratio"
                                                        : "preprocessors";
  return *find_component(plugin, LOUPE_PREPROCESSOR_ID, preprocessor);
}

}  // namespace

PreprocessorStream::PreprocessorStream(const std::string& preprocessor, const std::string& yaml)
    : PreprocessorStream(component(preprocessor), ComponentOptions(component(preprocessor), yaml)) {}

PreprocessorStream::PreprocessorStream(const std::string& preprocessor, const loupe_options* options)
    : PreprocessorStream(component(preprocessor), ComponentOptions(component(preprocessor), options)) {}

PreprocessorStream::PreprocessorStream(const loupe_component& component, const ComponentOptions& options)
    : instance_(std::make_unique<Instance>(component, options)) {
  request_.struct_size = sizeof request_;
  detail::ErrorBuffer error;
  error.check(table().request(instance_->self(), &request_, error.get()));
  measurer_ = std::make_unique<measure::Measurer>(request_);
}

bool PreprocessorStream::feed(const Tensor& tensor, uint32_t flags) {
  const loupe_tensor view = tensor.view();
  loupe_event event{};
  event.struct_size = sizeof event;
  event.flags = flags;
  event.tensor = &view;
  event.number = number_++;
  return feed(event);
}

bool PreprocessorStream::feed(loupe_event event) {
  const bool by_gradient = (request_.flags & LOUPE_REQUEST_PASS_BY_GRADIENT) != 0;
  const uint32_t training = by_gradient ? LOUPE_EVENT_GRAD_ENABLED : LOUPE_EVENT_TRAINING;
  const uint32_t pass = (event.flags & training) != 0 ? LOUPE_PASS_TRAINING : LOUPE_PASS_EVALUATION;
  if ((request_.passes & pass) == 0 || (request_.places & LOUPE_PLACE_CPU) == 0) return false;
  loupe_measurement measurement;
  if (request_.measures != 0 && event.tensor != nullptr) {
    measurement = measurer_->measure(*event.tensor);
    event.measurement = &measurement;
  }
  detail::ErrorBuffer error;
  error.check(table().process(instance_->self(), &event, error.get()));
  return true;
}

void PreprocessorStream::push(const char* label, double value, uint32_t flags) {
  loupe_event event{};
  event.struct_size = sizeof event;
  event.tap = LOUPE_TAP_PUSH;
  event.flags = flags;
  event.label = label;
  event.scalar = value;
  feed(event);
}

void PreprocessorStream::prime(const Tensor& tensor) {
  measurer_->prime(tensor.view());
}

std::optional<size_t> PreprocessorStream::index(const std::string& series) const {
  for (size_t i = 0; i < table().series_count(instance_->self()); ++i) {
    if (series == detail::series_name(table(), instance_->self(), i)) return i;
  }
  return std::nullopt;
}

std::optional<double> PreprocessorStream::get(const std::string& series, uint32_t aggregation) const {
  const auto i = index(series);
  if (!i) return std::nullopt;
  double value = 0;
  detail::ErrorBuffer error;
  const loupe_status status = table().aggregate(instance_->self(), *i, aggregation, &value, error.get());
  if (status == LOUPE_NOT_FOUND) return std::nullopt;
  error.check(status);
  return value;
}

std::vector<double> PreprocessorStream::values(const std::string& series) const {
  const auto i = index(series);
  if (!i) return {};
  return detail::series_values(table(), instance_->self(), *i);
}

std::vector<std::string> PreprocessorStream::series() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < table().series_count(instance_->self()); ++i) {
    names.push_back(detail::series_name(table(), instance_->self(), i));
  }
  return names;
}

}  // namespace loupe::test
