#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "testing/bench_impl.h"

namespace loupe::testing {

Bench::Bench(const std::string& yaml, const std::vector<std::string>& plugins,
             const std::vector<const loupe_entry*>& linked)
    : impl_(std::make_unique<Impl>(yaml, plugins, linked)) {}
Bench::~Bench() = default;
Bench::Bench(Bench&&) noexcept = default;
Bench& Bench::operator=(Bench&&) noexcept = default;

Module Bench::module(const std::string& name, const std::string& type, const std::vector<Parameter>& parameters,
                     std::uint32_t flags) {
  return impl_->add(name, type, parameters, flags);
}
void Bench::set(Module module, const std::string& name, const Tensor& value) {
  impl_->set(module, name, value);
}
void Bench::forget(Module module) {
  impl_->made(module).node->close();
}
void Bench::optimizer(const std::string& type, double learning_rate, double momentum, double weight_decay) {
  std::vector<loupe_held_parameter> held;
  int64_t elements = 0;
  for (const Impl::Made& module : impl_->modules_) {
    for (std::size_t i = 0; i < module.node->description().parameters.size(); ++i) {
      const ParameterDescription& parameter = module.node->description().parameters[i];
      if ((parameter.flags & LOUPE_PARAMETER_OPTIMIZED) == 0) continue;
      held.push_back({sizeof(loupe_held_parameter), 0, module.node->c_module(), i});
      elements += parameter.numel;
    }
  }
  impl_->optimizer_ = std::make_unique<OptimizerFacts>(1, "", type);
  GroupFacts group;
  if (!std::isnan(learning_rate)) group.set_rate(learning_rate);
  if (!std::isnan(weight_decay)) group.set_weight_decay(weight_decay);
  if (!std::isnan(momentum)) group.set(type.rfind("Adam", 0) == 0 ? "beta1" : "momentum", momentum);
  group.group.tensor_count = held.size();
  group.group.element_count = elements;
  impl_->optimizer_->set_groups({group});
  impl_->optimizer_->set_parameters({held}, held.empty() ? nullptr : held[0].module->model);
}

void Bench::forward(Module module, const Tensor& output, Pass pass) {
  impl_->forward(module, {}, {output}, pass);
}
void Bench::forward(Module module, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, Pass pass) {
  impl_->forward(module, inputs, outputs, pass);
}
void Bench::output_gradient(Module module, const Tensor& gradient, std::uint32_t index) {
  impl_->dispatch(module, LOUPE_TAP_OUTPUT_GRADIENT, index, gradient);
}
void Bench::input_gradient(Module module, const Tensor& gradient, std::uint32_t index) {
  impl_->dispatch(module, LOUPE_TAP_INPUT_GRADIENT, index, gradient);
}
void Bench::gradient(Module module, const std::string& parameter, const Tensor& gradient) {
  impl_->gradient(module, parameter, gradient);
}
void Bench::push_loss(double value, bool train, bool keep) {
  const Config& config = impl_->monitor().config();
  std::uint32_t flags = LOUPE_EVENT_LOSS;
  if (train) flags |= backward_flags;
  if (keep) flags |= LOUPE_EVENT_MEMORY;
  impl_->monitor().push(train ? config.train_loss : config.validation_loss, value, flags);
}
void Bench::push_metric(const std::string& name, double value, bool keep) {
  impl_->monitor().push(name, value, keep ? std::uint32_t{LOUPE_EVENT_MEMORY} : 0);
}
void Bench::step() {
  impl_->step();
}
void Bench::epochs(double count) {
  impl_->monitor().set_epochs(count);
}
void Bench::tick() {
  impl_->monitor().tick(std::nullopt);
}
void Bench::tick(double epoch) {
  impl_->monitor().tick(epoch);
}
void Bench::end() {
  for (const auto& lens : impl_->monitor().lenses()) {
    if (lens->quarantined()) impl_->quarantined_at_end.push_back(lens->name());
  }
  impl_->monitor_.reset();
}

void Bench::show(const Tag& tag) {
  impl_->to_tell.push_back([tag](Report& report) {
    TagStyle style{.type = tag.type,
                   .log_y = tag.log_y,
                   .big = tag.big,
                   .y_minimum = tag.y_minimum,
                   .y_maximum = tag.y_maximum,
                   .title = tag.title,
                   .unit = tag.unit,
                   .description = tag.description,
                   .healthy = tag.healthy,
                   .advice = tag.advice};
    report.tag(tag.id, style);
  });
}
void Bench::show(const std::string& tag, const std::string& layer, const std::string& line, double value) {
  impl_->to_tell.push_back([=](Report& report) { report.value(tag, layer, line, value); });
}
void Bench::show(const std::string& tag, const std::string& layer, const Range& range) {
  impl_->to_tell.push_back(
      [=](Report& report) { report.range(tag, layer, range.low_name, range.high_name, range.low, range.high); });
}
void Bench::show(const std::string& tag, const std::string& layer, const std::string& line,
                 const Histogram& histogram) {
  if (histogram.edges.size() != histogram.counts.size() + 1)
    throw std::invalid_argument("a histogram has one edge more than counts");
  impl_->to_tell.push_back([=](Report& report) {
    loupe_histogram told{.struct_size = sizeof(loupe_histogram),
                         .tag = tag.c_str(),
                         .layer = layer.c_str(),
                         .line = line.c_str(),
                         .edges = histogram.edges.data(),
                         .counts = histogram.counts.data(),
                         .bin_count = histogram.counts.size()};
    report.histogram(told);
  });
}
void Bench::show(const Finding& finding) {
  Impl* impl = impl_.get();
  impl_->to_tell.push_back([finding, impl](Report& report) {
    loupe::Finding told{finding.rule, finding.severity, finding.message};
    told.advice = finding.advice;
    told.parameter = finding.parameter;
    told.tag = finding.tag;
    told.value = finding.value;
    told.threshold = finding.threshold;
    told.caused_by = finding.caused_by;
    told.file = finding.file;
    told.line = finding.line;
    told.is_over = finding.state == LOUPE_FINDING_GONE;
    for (const Impl::Made& made : impl->modules_) {
      if (made.node->description().name == finding.layer) told.module = made.node->c_module();
    }
    report.finding(told);
  });
}

namespace {

std::string list_text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text.empty() ? " nothing" : text;
}

/// The value that is kept for a place. The layer of a big plot may be its tag.
template <class Map>
const typename Map::mapped_type* find_shown(const Map& shown, const std::string& tag, const std::string& layer,
                                            const std::string& line) {
  const auto found = shown.find({tag, layer == tag ? "" : layer, line});
  return found == shown.end() ? nullptr : &found->second;
}

template <class Map>
const typename Map::mapped_type& require_shown(const Map& shown, const char* what, const std::string& tag,
                                               const std::string& layer, const std::string& line,
                                               const std::vector<std::string>& log) {
  if (const auto* found = find_shown(shown, tag, layer, line)) return *found;
  std::vector<std::string> places;
  for (const auto& [place, each] : shown) {
    places.push_back("'" + std::get<0>(place) + "', '" + std::get<1>(place) + "', '" + std::get<2>(place) + "'");
  }
  throw std::out_of_range(std::string("the last tick showed no ") + what + " '" + tag + "', '" + layer + "', '" + line +
                          "'; it showed" + list_text(places) + "\nthe log has" + list_text(log));
}

}  // namespace

double Bench::value(const std::string& tag, const std::string& layer, const std::string& line) const {
  return require_shown(impl_->seen().values, "value", tag, layer, line, log());
}
bool Bench::has_value(const std::string& tag, const std::string& layer, const std::string& line) const {
  return find_shown(impl_->seen().values, tag, layer, line) != nullptr;
}
Range Bench::range(const std::string& tag, const std::string& layer, const std::string& low_name) const {
  return require_shown(impl_->seen().ranges, "range", tag, layer, low_name, log());
}
Histogram Bench::histogram(const std::string& tag, const std::string& layer, const std::string& line) const {
  return require_shown(impl_->seen().histograms, "histogram", tag, layer, line, log());
}
std::vector<std::string> Bench::layers(const std::string& tag) const {
  std::set<std::string> layers;
  const auto collect = [&](const auto& shown) {
    for (const auto& [place, each] : shown) {
      if (std::get<0>(place) == tag) layers.insert(std::get<1>(place));
    }
  };
  collect(impl_->seen().values);
  collect(impl_->seen().ranges);
  collect(impl_->seen().histograms);
  return {layers.begin(), layers.end()};
}
std::optional<double> Bench::query(const std::string& name) const {
  return impl_->monitor().query(name);
}
Tag Bench::tag(const std::string& id) const {
  const auto found = impl_->seen().tags.find(id);
  if (found == impl_->seen().tags.end()) {
    throw std::out_of_range("no tag '" + id + "' was reported; these were:" + list_text(tags()) + "\nthe log has" +
                            list_text(log()));
  }
  return found->second;
}
std::vector<std::string> Bench::tags() const {
  std::vector<std::string> ids;
  for (const auto& [id, tag] : impl_->seen().tags) ids.push_back(id);
  return ids;
}
std::vector<Finding> Bench::findings() const {
  return impl_->seen().findings;
}
std::vector<std::string> Bench::log() const {
  impl_->seen();
  return impl_->lines.get();
}
bool Bench::is_quarantined(const std::string& lens) const {
  if (impl_->monitor_ == nullptr) {
    const auto& names = impl_->quarantined_at_end;
    return std::find(names.begin(), names.end(), lens) != names.end();
  }
  for (const auto& each : impl_->monitor_->lenses()) {
    if (each->name() == lens) return each->quarantined();
  }
  throw std::invalid_argument("the bench has no lens '" + lens + "'");
}

}  // namespace loupe::testing
