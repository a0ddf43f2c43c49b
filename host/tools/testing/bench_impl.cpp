#include "testing/bench_impl.h"

#include <loupe/draft/abi/flags.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/strict.h"
#include "services/event_print.h"
#include "torch/model/module_types.h"

namespace loupe::testing {
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

using Views = std::vector<const loupe_tensor*>;

class Lent : public ForwardTensors {
 public:
  Lent(const Views& inputs, const Views& outputs) : inputs_(inputs), outputs_(outputs) {}
  void lend(loupe_event& event) override {
    event.inputs = inputs_.data();
    event.input_count = inputs_.size();
    event.outputs = outputs_.data();
    event.output_count = outputs_.size();
  }

 private:
  const Views &inputs_, &outputs_;
};

template <class Told>
Shown::Place place(const Told& told, const char* line) {
  return {text_of(told.tag), text_of(told.layer), text_of(line)};
}

}  // namespace

void Keeper::tag(const loupe_tag& tag) {
  shown_.tags[tag.id] = {tag.id,
                         title_of(tag),
                         text_of(tag.unit),
                         text_of(tag.description),
                         text_of(tag.healthy),
                         text_of(tag.advice),
                         tag.type,
                         is_logarithmic(tag),
                         is_big(tag),
                         y_minimum_of(tag),
                         y_maximum_of(tag)};
}

void Keeper::begin_tick(const loupe_tick&) {
  shown_.values.clear();
  shown_.ranges.clear();
  shown_.histograms.clear();
}

void Keeper::row(const loupe_row& row) {
  const std::string at = row.step != 0 ? "@" + std::to_string(row.step) : "";
  each_value(row, [&](const RowValue& value) { shown_.values[place(value, (value.line + at).c_str())] = value.value; });
  each_range(row, [&](const RowRange& range) {
    shown_.ranges[place(range, (range.low_name + at).c_str())] = {range.low_name, range.high_name, range.low,
                                                                  range.high};
  });
}

void Keeper::histogram(const loupe_histogram& histogram) {
  shown_.histograms[place(histogram, histogram.line)] = {{histogram.edges, histogram.edges + histogram.bin_count + 1},
                                                         {histogram.counts, histogram.counts + histogram.bin_count}};
}

void Keeper::finding(const loupe_finding& finding) {
  shown_.findings.push_back({text_of(finding.rule), text_of(finding.message), text_of(finding.layer),
                             text_of(finding.parameter), text_of(finding.advice), text_of(finding.tag),
                             text_of(finding.source), text_of(finding.caused_by), text_of(finding.file),
                             finding.severity, finding.state, finding.line, finding.id, value_of(finding),
                             threshold_of(finding)});
}

Bench::Impl::Impl(const std::string& yaml, const std::vector<std::string>& plugins,
                  const std::vector<const loupe_entry*>& linked) {
  offer_tensor_services();
  refuse_mistakes();
  set_event_print([](const loupe_event& event) { return print_of(event, nullptr); });
  Catalogue catalogue;
  for (const loupe_entry* entry : linked) {
    if (entry == nullptr) throw std::invalid_argument("a Bench is given an entry that is null");
    catalogue.add_plugin(linked_.emplace_back(read_entry(*entry, "linked into this program")));
  }
  for (const std::string& path : plugins) catalogue.add_path(path);
  // A plugin that a test names must work; faults of others in Loupe's folders go to the log.
  if (!catalogue.problems().empty()) throw std::runtime_error(catalogue.problems().front());
  Config config = Config::from_text(yaml, "test.yaml", ".", std::move(catalogue));
  config.lenses.push_back(own_config(Kind::lens, teller_));
  config.visualizers.push_back(own_config(Kind::visualizer, keeper_));
  monitor_ = std::make_unique<Monitor>(std::move(config), this);
}

std::vector<const loupe_optimizer*> Bench::Impl::optimizers() {
  std::vector<const loupe_optimizer*> optimizers;
  if (optimizer_) optimizers.push_back(&optimizer_->get());
  return optimizers;
}

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
    if (parameter.is_attribute) {
      attributes.insert(parameter.name);
      continue;
    }
    int64_t numel = 1;
    for (const std::int64_t size : parameter.sizes) numel *= size;
    description.parameters.push_back({parameter.name, parameter.flags, parameter.sizes, numel});
  }
  description.offers = [parameters = description.parameters, attributes](uint32_t tap, const std::string& label) {
    const bool is_attribute = tap == LOUPE_TAP_ATTRIBUTE || tap == LOUPE_TAP_ATTRIBUTE_BEFORE;
    for (const ParameterDescription& each : parameters) {
      if (each.name == label)
        return is_attribute || tap == LOUPE_TAP_TICK || (each.flags & LOUPE_PARAMETER_BUFFER) == 0;
    }
    return is_attribute && attributes.count(label) != 0;
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
  const ModuleNode* parent = parent_of(description);
  modules_.push_back({monitor().add_module(std::move(description), model_, parent), {}, {}});
  return {modules_.size() - 1};
}

/// The parent by path: "block" for "block.fc1"; the root if that was not made.
const ModuleNode* Bench::Impl::parent_of(const ModuleDescription& child) const {
  const ModuleNode* parent = nullptr;
  if ((child.flags & (LOUPE_MODULE_ROOT | LOUPE_MODULE_LOSS)) != 0) return parent;
  for (const Made& each : modules_) {
    const std::string& path = each.node->description().path;
    const bool is_root = (each.node->description().flags & LOUPE_MODULE_ROOT) != 0;
    const bool holds = is_root ? parent == nullptr : child.path.rfind(path + ".", 0) == 0;
    const bool is_nearer = parent == nullptr || path.size() > parent->description().path.size();
    if (holds && is_nearer && !each.node->closed()) parent = each.node.get();
  }
  return parent;
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
  if (!monitor().looks()) return;
  if (Stream* stream = of.node->stream(LOUPE_TAP_PARAMETER_GRADIENT, parameter))
    stream->dispatch(&gradient->view(), backward_flags);
}

void Bench::Impl::forward(Module module, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                          Pass pass) {
  Made& of = made(module);
  if (!monitor().looks()) return;
  const std::uint32_t flags = (pass.training ? std::uint32_t{LOUPE_EVENT_TRAINING} : 0) |
                              (pass.grad ? std::uint32_t{LOUPE_EVENT_GRAD_ENABLED} : 0);
  const auto views_of = [](const std::vector<Tensor>& tensors, std::vector<std::shared_ptr<MadeTensor>>& kept) {
    Views views;
    for (const Tensor& each : tensors) {
      kept.push_back(make(each));
      views.push_back(&kept.back()->view());
    }
    return views;
  };
  std::vector<std::shared_ptr<MadeTensor>> kept;
  const Views in = views_of(inputs, kept), out = views_of(outputs, kept), none;
  // All of the entry comes before all of the result.
  for (const bool is_entry : {true, false}) {
    for (Stream& stream : of.node->streams()) {
      if (stream.tap() == (is_entry ? LOUPE_TAP_ATTRIBUTE_BEFORE : LOUPE_TAP_ATTRIBUTE)) {
        const auto value = of.values.find(stream.label());
        stream.dispatch(value != of.values.end() ? &value->second.tensor->view() : nullptr, flags);
        continue;
      }
      if (stream.tap() != (is_entry ? LOUPE_TAP_FORWARD_BEFORE : LOUPE_TAP_FORWARD)) continue;
      const auto& from = is_entry ? in : out;
      if (stream.index() >= from.size() && !is_entry) continue;
      const loupe_tensor* shown = stream.index() < from.size() ? from[stream.index()] : nullptr;
      Lent tensors(in, is_entry ? none : out);
      stream.dispatch(shown, flags, stream.wants_tensors() ? &tensors : nullptr);
    }
  }
}

void Bench::Impl::step() {
  const bool looks = monitor().looks();
  for (Made& each : modules_) {
    if (each.node->closed() || !looks) continue;
    for (const auto& [parameter, gradient] : each.gradients) {
      if (Stream* stream = each.node->stream(LOUPE_TAP_STEP_GRADIENT, parameter))
        stream->dispatch(&gradient->view(), backward_flags);
    }
  }
  for (Made& each : modules_) {
    const auto& parameters = each.node->description().parameters;
    for (std::size_t i = 0; looks && i < parameters.size(); ++i) {
      each.node->set_parameter_flag(i, LOUPE_DRAFT_PARAMETER_GRADIENT, each.gradients.count(parameters[i].name) != 0);
    }
    for (const auto& [name, value] : each.values) {
      Stream* stream = value.is_parameter ? each.node->stream(LOUPE_TAP_OPTIMIZER_STEP, name) : nullptr;
      if (stream != nullptr && looks) stream->dispatch(&value.tensor->view(), backward_flags);
    }
    each.gradients.clear();
  }
  monitor().note_step(optimizer_ ? &optimizer_->get() : nullptr);
  monitor().end_step();
}

void Bench::Impl::dispatch(Module module, std::uint32_t tap, std::uint32_t index, const Tensor& tensor) {
  ModuleNode& node = *made(module).node;
  Stream* stream = monitor().looks() ? node.stream(tap, "", index) : nullptr;
  if (stream != nullptr) stream->dispatch(&make(tensor)->view(), backward_flags);
}

void Bench::Impl::looking_changed() {
  if (!monitor().looks()) return;
  for (Made& each : modules_) {
    for (const auto& [name, value] : each.values) {
      Stream* stream = value.is_parameter ? each.node->stream(LOUPE_TAP_OPTIMIZER_STEP, name) : nullptr;
      if (stream != nullptr) stream->prime(value.tensor->view());
    }
  }
}

void Bench::Impl::before_tick() {
  for (Made& each : modules_) {
    for (const auto& [name, value] : each.values) {
      Stream* stream = value.is_parameter ? each.node->stream(LOUPE_TAP_TICK, name) : nullptr;
      if (stream != nullptr) stream->dispatch(&value.tensor->view(), backward_flags);
    }
  }
}

}  // namespace loupe::testing
