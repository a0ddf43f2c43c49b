#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

#include <loupe/detail/thunks.h>

#include "core/log.h"
#include "pipeline/monitor.h"
#include "pipeline/optimizer_facts.h"
#include "testing/made_tensor.h"
#include "testing/shown.h"
#include "testing/teller.h"
#include "torch/module_types.h"

namespace loupe::testing {
namespace {

constexpr std::uint32_t backward_flags = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;

/// The lines to the user, for every bench that lives.
class Lines {
 public:
  Lines() {
    const std::lock_guard lock(mutex());
    if (living().empty()) {
      set_log_sink([](int, const std::string& line) {
        const std::lock_guard each_lock(mutex());
        for (Lines* each : living()) each->lines_.push_back(line);
      });
    }
    living().insert(this);
  }
  ~Lines() {
    const std::lock_guard lock(mutex());
    living().erase(this);
    if (living().empty()) set_log_sink({});
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  std::vector<std::string> get() const {
    const std::lock_guard lock(mutex());
    return lines_;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static std::set<Lines*>& living() {
    static std::set<Lines*> instances;
    return instances;
  }
  std::vector<std::string> lines_;
};

/// A component of the bench's own, whose instance is made of what `context` points at.
template <class Kind, class Made, class Context>
loupe_component own_component(const char* interface_id, const char* name, const void* table, Context& context) {
  loupe_component component{};
  component.struct_size = sizeof component;
  component.interface_id = interface_id;
  component.name = name;
  component.help = "part of loupe/testing.h";
  component.table = table;
  component.context = &context;
  component.create = [](const loupe_component* self, const loupe_host*, const loupe_options*, void** made,
                        loupe_error* error) {
    return loupe::detail::guarded(error,
                                  [&] { *made = static_cast<Kind*>(new Made(*static_cast<Context*>(self->context))); });
  };
  component.destroy = [](void* made) { delete static_cast<Kind*>(made); };
  return component;
}

ComponentConfig own_config(Kind kind, const loupe_component& component) {
  static const PluginLibrary library{"loupe/testing.h", nullptr, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR};
  return {{kind, &component, &library}, component.name, false, std::make_unique<OptionSet>(), 1, 1, "loupe/testing.h"};
}

std::string list_text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text.empty() ? " nothing" : text;
}

}  // namespace

class Bench::Impl {
 public:
  Impl(const std::string& yaml, const std::vector<std::string>& plugins,
       const std::vector<const loupe_entry*>& linked) {
    offer_tensor_services();
    Catalogue catalogue;
    for (const loupe_entry* entry : linked) {
      if (entry == nullptr) throw std::invalid_argument("a Bench is given an entry that is null");
      catalogue.add_plugin(linked_plugin(*entry));
    }
    for (const std::string& path : plugins) catalogue.add_path(path);
    // What a test names must work; what merely lies in Loupe's folders is told in the log.
    if (!catalogue.problems().empty()) throw std::runtime_error(catalogue.problems().front());
    Config config = Config::from_text(yaml, "test.yaml", ".", std::move(catalogue));
    config.lenses.push_back(own_config(Kind::lens, teller_));
    config.visualizers.push_back(own_config(Kind::visualizer, keeper_));
    monitor_ = std::make_unique<Monitor>(std::move(config));
    monitor_->set_before_tick([this] { tell_parameters(); });
    monitor_->set_optimizers([this] {
      std::vector<const loupe_optimizer*> optimizers;
      if (optimizer_) optimizers.push_back(&optimizer_->get());
      return optimizers;
    });
  }

  struct Value {
    std::shared_ptr<MadeTensor> tensor;
    bool is_parameter = false;
  };
  struct Made {
    std::shared_ptr<ModuleNode> node;
    std::map<std::string, Value> values;
    std::map<std::string, std::shared_ptr<MadeTensor>> gradients;  // since the last step
  };

  Monitor& monitor() {
    if (monitor_ == nullptr) throw std::logic_error("the bench's run has ended; make another Bench");
    return *monitor_;
  }
  Made& made(Module module) {
    if (module.index >= modules_.size() || modules_[module.index].node->closed())
      throw std::invalid_argument("the bench has no such module, or it was forgotten");
    return modules_[module.index];
  }

  Module add(const std::string& name, const std::string& type, const std::vector<Parameter>& parameters,
             std::uint32_t flags);
  void set(Module module, const std::string& name, const Tensor& value);
  void gradient(Module module, const std::string& parameter, const Tensor& value);
  void forward(Module module, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, Pass pass);
  void step();
  void tell_parameters();

  ToTell to_tell;
  Shown shown;
  Lines lines;
  std::vector<std::string> quarantined_at_end;
  std::unique_ptr<OptimizerFacts> optimizer_;
  std::vector<Made> modules_;
  loupe_component teller_ =
      own_component<Lens, Teller>(LOUPE_LENS_ID, "the test", loupe::detail::lens_table<false>(), to_tell);
  loupe_component keeper_ = own_component<Visualizer, Keeper>(LOUPE_VISUALIZER_ID, "the test",
                                                              loupe::detail::visualizer_table<false>(), shown);
  std::unique_ptr<Monitor> monitor_;  // ends first
};

namespace {

/// The parameter of that name, which must have these sizes.
const ParameterDescription* find_parameter(const ModuleNode& node, const std::string& name) {
  const auto& parameters = node.description().parameters;
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [&](const auto& each) { return each.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

const ParameterDescription& parameter_of(const ModuleNode& node, const std::string& name, const Tensor& value) {
  const ParameterDescription* parameter = find_parameter(node, name);
  if (parameter == nullptr) {
    throw std::invalid_argument(node.shown_name() + " has no parameter '" + name + "'; name it in Bench::module");
  }
  if (parameter->sizes != value.sizes) {
    throw std::invalid_argument("the parameter '" + name + "' of " + node.shown_name() + " has the sizes " +
                                shape_text(parameter->sizes) + ", and is given a tensor of " + shape_text(value.sizes));
  }
  return *parameter;
}

std::shared_ptr<MadeTensor> make(const Tensor& tensor) {
  return std::make_shared<MadeTensor>(tensor);
}

void dispatch(ModuleNode& node, std::uint32_t tap, const std::string& label, std::uint32_t index, const Tensor& tensor,
              std::uint32_t flags) {
  if (Stream* stream = node.stream(tap, label, index)) stream->dispatch(&make(tensor)->view(), flags);
}

}  // namespace

Module Bench::Impl::add(const std::string& name, const std::string& type, const std::vector<Parameter>& parameters,
                        std::uint32_t flags) {
  ModuleDescription description;
  description.name = name;
  description.path = (flags & LOUPE_MODULE_ROOT) != 0 ? "" : name;
  description.type = type;
  description.full_type = "torch::nn::" + type + "Impl";
  description.family =
      (flags & LOUPE_MODULE_LOSS) != 0 ? static_cast<std::uint32_t>(LOUPE_FAMILY_LOSS) : family_of(type);
  description.flags = flags;
  std::set<std::string> attributes;
  for (const Parameter& parameter : parameters) {
    if (parameter.flags == attribute) {
      attributes.insert(parameter.name);
      continue;
    }
    int64_t numel = 1;
    for (const std::int64_t size : parameter.sizes) numel *= size;
    description.parameters.push_back({parameter.name, parameter.flags, parameter.sizes, numel});
  }
  description.offers = [parameters = description.parameters, attributes](uint32_t tap, const std::string& label) {
    const bool at_forward = tap == LOUPE_TAP_FORWARD || tap == LOUPE_TAP_FORWARD_BEFORE;
    for (const ParameterDescription& each : parameters) {
      if (each.name == label) return at_forward || tap == LOUPE_TAP_TICK || (each.flags & LOUPE_PARAMETER_BUFFER) == 0;
    }
    return at_forward && attributes.count(label) != 0;
  };
  description.lend = [this, index = modules_.size()](const std::string& parameter, bool gradient,
                                                     const ModuleDescription::Take& take) {
    if (index >= modules_.size()) return false;  // a lens asks while it is shown the module
    const Made& made = modules_[index];
    const auto value = made.values.find(parameter);
    const auto summed = made.gradients.find(parameter);
    const bool has = gradient ? summed != made.gradients.end() : value != made.values.end();
    if (has) take(gradient ? summed->second->view() : value->second.tensor->view());
    return has;
  };
  modules_.push_back({monitor().add_module(std::move(description)), {}, {}});
  return {modules_.size() - 1};
}

void Bench::Impl::set(Module module, const std::string& name, const Tensor& value) {
  Made& to = made(module);
  const bool is_parameter = find_parameter(*to.node, name) != nullptr;
  if (is_parameter) parameter_of(*to.node, name, value);
  Value& known = to.values[name];
  const bool fits = known.tensor != nullptr && known.tensor->tensor().sizes == value.sizes &&
                    known.tensor->tensor().type == value.type;
  const bool is_first = known.tensor == nullptr;
  if (fits) {
    known.tensor->overwrite(value.values);
  } else {
    known = {make(value), is_parameter};
  }
  Stream* stream = is_first && is_parameter ? to.node->stream(LOUPE_TAP_OPTIMIZER_STEP, name) : nullptr;
  if (stream != nullptr) stream->prime(known.tensor->view());
}

void Bench::Impl::gradient(Module module, const std::string& parameter, const Tensor& value) {
  Made& of = made(module);
  parameter_of(*of.node, parameter, value);
  const auto gradient = make(value);
  of.gradients[parameter] = gradient;
  if (Stream* stream = of.node->stream(LOUPE_TAP_PARAMETER_GRADIENT, parameter))
    stream->dispatch(&gradient->view(), backward_flags);
}

void Bench::Impl::forward(Module module, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                          Pass pass) {
  Made& of = made(module);
  const std::uint32_t flags = (pass.training ? std::uint32_t{LOUPE_EVENT_TRAINING} : 0) |
                              (pass.grad ? std::uint32_t{LOUPE_EVENT_GRAD_ENABLED} : 0);
  const auto views_of = [](const std::vector<Tensor>& tensors, std::vector<std::shared_ptr<MadeTensor>>& kept) {
    std::vector<const loupe_tensor*> views;
    for (const Tensor& each : tensors) {
      kept.push_back(make(each));
      views.push_back(&kept.back()->view());
    }
    return views;
  };
  std::vector<std::shared_ptr<MadeTensor>> kept;
  const auto in = views_of(inputs, kept), out = views_of(outputs, kept);
  // All of the entry comes before all of the result.
  for (const bool is_entry : {true, false}) {
    for (Stream& stream : of.node->streams()) {
      const bool entered = stream.tap() == LOUPE_TAP_FORWARD_BEFORE || stream.tap() == LOUPE_TAP_INPUT;
      if ((!entered && stream.tap() != LOUPE_TAP_FORWARD) || entered != is_entry) continue;
      if (!stream.label().empty()) {
        const auto value = of.values.find(stream.label());
        stream.dispatch(value != of.values.end() ? &value->second.tensor->view() : nullptr, flags);
        continue;
      }
      const auto& from = entered ? in : out;
      if (stream.index() >= from.size() && stream.tap() != LOUPE_TAP_FORWARD_BEFORE) continue;
      const loupe_tensor* shown = stream.index() < from.size() ? from[stream.index()] : nullptr;
      const bool lends = stream.wants_tensors();
      stream.dispatch(shown, flags, lends ? in.data() : nullptr, lends ? in.size() : 0,
                      lends && !entered ? out.data() : nullptr, lends && !entered ? out.size() : 0);
    }
  }
}

void Bench::Impl::step() {
  for (Made& each : modules_) {
    if (each.node->closed()) continue;
    for (const auto& [parameter, gradient] : each.gradients) {
      if (Stream* stream = each.node->stream(LOUPE_TAP_STEP_GRADIENT, parameter))
        stream->dispatch(&gradient->view(), backward_flags);
    }
  }
  for (Made& each : modules_) {
    const auto& parameters = each.node->description().parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      each.node->set_parameter_flag(i, LOUPE_PARAMETER_GRADIENT, each.gradients.count(parameters[i].name) != 0);
    }
    for (const auto& [name, value] : each.values) {
      Stream* stream = value.is_parameter ? each.node->stream(LOUPE_TAP_OPTIMIZER_STEP, name) : nullptr;
      if (stream != nullptr) stream->dispatch(&value.tensor->view(), backward_flags);
    }
    each.gradients.clear();
  }
  monitor().note_step(optimizer_ ? &optimizer_->get() : nullptr);
}

void Bench::Impl::tell_parameters() {
  for (Made& each : modules_) {
    for (const auto& [name, value] : each.values) {
      Stream* stream = value.is_parameter ? each.node->stream(LOUPE_TAP_TICK, name) : nullptr;
      if (stream != nullptr) stream->dispatch(&value.tensor->view(), backward_flags);
    }
  }
}

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
  uint64_t tensors = 0;
  int64_t elements = 0;
  for (const Impl::Made& module : impl_->modules_) {
    for (const ParameterDescription& parameter : module.node->description().parameters) {
      if ((parameter.flags & LOUPE_PARAMETER_OPTIMIZED) == 0) continue;
      ++tensors;
      elements += parameter.numel;
    }
  }
  impl_->optimizer_ = std::make_unique<OptimizerFacts>(1, "", type);
  impl_->optimizer_->set_groups(
      {{sizeof(loupe_parameter_group), 0, learning_rate, momentum, weight_decay, tensors, elements, 0, 0}});
}

void Bench::forward(Module module, const Tensor& output, Pass pass) {
  impl_->forward(module, {}, {output}, pass);
}
void Bench::forward(Module module, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, Pass pass) {
  impl_->forward(module, inputs, outputs, pass);
}
void Bench::output_gradient(Module module, const Tensor& gradient, std::uint32_t index) {
  dispatch(*impl_->made(module).node, LOUPE_TAP_OUTPUT_GRADIENT, "", index, gradient, backward_flags);
}
void Bench::input_gradient(Module module, const Tensor& gradient, std::uint32_t index) {
  dispatch(*impl_->made(module).node, LOUPE_TAP_INPUT_GRADIENT, "", index, gradient, backward_flags);
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
    TagStyle style;
    style.type = tag.type;
    style.log_y = tag.log_y;
    style.big = tag.big;
    style.title = tag.title;
    style.unit = tag.unit;
    style.description = tag.description;
    style.healthy = tag.healthy;
    style.advice = tag.advice;
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
    loupe_histogram told{};
    told.struct_size = sizeof told;
    told.tag = tag.c_str();
    told.layer = layer.c_str();
    told.line = line.c_str();
    told.edges = histogram.edges.data();
    told.counts = histogram.counts.data();
    told.bin_count = histogram.counts.size();
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
    told.state = finding.state;
    for (const Impl::Made& made : impl->modules_) {
      if (made.node->description().name == finding.layer) told.module = made.node->c_module();
    }
    report.finding(told);
  });
}

namespace {

/// What is kept under a place, where a big plot may be called like its tag.
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
  return require_shown(impl_->shown.values, "value", tag, layer, line, log());
}
bool Bench::has_value(const std::string& tag, const std::string& layer, const std::string& line) const {
  return find_shown(impl_->shown.values, tag, layer, line) != nullptr;
}
Range Bench::range(const std::string& tag, const std::string& layer, const std::string& low_name) const {
  return require_shown(impl_->shown.ranges, "range", tag, layer, low_name, log());
}
Histogram Bench::histogram(const std::string& tag, const std::string& layer, const std::string& line) const {
  return require_shown(impl_->shown.histograms, "histogram", tag, layer, line, log());
}
std::vector<std::string> Bench::layers(const std::string& tag) const {
  std::set<std::string> layers;
  const auto collect = [&](const auto& shown) {
    for (const auto& [place, each] : shown) {
      if (std::get<0>(place) == tag) layers.insert(std::get<1>(place));
    }
  };
  collect(impl_->shown.values);
  collect(impl_->shown.ranges);
  collect(impl_->shown.histograms);
  return {layers.begin(), layers.end()};
}
Tag Bench::tag(const std::string& id) const {
  const auto found = impl_->shown.tags.find(id);
  if (found == impl_->shown.tags.end()) {
    throw std::out_of_range("no tag '" + id + "' was told; these were:" + list_text(tags()) + "\nthe log has" +
                            list_text(log()));
  }
  return found->second;
}
std::vector<std::string> Bench::tags() const {
  std::vector<std::string> ids;
  for (const auto& [id, tag] : impl_->shown.tags) ids.push_back(id);
  return ids;
}
std::vector<Finding> Bench::findings() const {
  return impl_->shown.findings;
}
std::vector<std::string> Bench::log() const {
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
