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
  size_t index = 0;
  const bool found = detail::find_series(table(), instance_->self(), series.c_str(), &index, nullptr) == LOUPE_OK;
  return found ? std::optional(index) : std::nullopt;
}

std::optional<double> PreprocessorStream::get(const std::string& series, Aggregate aggregate) const {
  const auto i = index(series);
  if (!i) return std::nullopt;
  static const auto of = [](loupe_source* source) { return reinterpret_cast<const PreprocessorStream*>(source); };
  loupe_wiring wiring{};
  wiring.read = [](void*, loupe_source* source, size_t index, loupe_series* row, loupe_error* error) {
    return of(source)->table().read(of(source)->instance_->self(), index, row, error);
  };
  wiring.quantiles = [](void*, loupe_source* source, size_t index, const double* q, size_t q_count, double* values,
                        loupe_error* error) {
    return of(source)->table().quantiles(of(source)->instance_->self(), index, q, q_count, values, error);
  };
  auto* source = reinterpret_cast<loupe_source*>(const_cast<PreprocessorStream*>(this));
  return SeriesNumbers(&wiring, source, *i).get(aggregate);
}

std::vector<double> PreprocessorStream::values(const std::string& series) const {
  const auto i = index(series);
  if (!i) return {};
  return detail::series_values(table(), instance_->self(), *i);
}

std::vector<std::string> PreprocessorStream::series() const {
  return detail::series_names(table(), instance_->self());
}

}  // namespace loupe::test
