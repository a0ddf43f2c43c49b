#include "pipeline/module_node.h"

#include <loupe/draft/abi/loss_input.h>
#include <loupe/draft/abi/step_time.h>
#include <loupe/error.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/cache.h"
#include "core/text.h"
#include "core/work.h"

namespace loupe {

const char* tap_name(uint32_t tap) {
  static constexpr std::pair<uint32_t, const char*> names[] = {
      {LOUPE_TAP_FORWARD_BEFORE, "the entry of forward"},
      {LOUPE_TAP_FORWARD, "forward"},
      {LOUPE_TAP_OUTPUT_GRADIENT, "the output's gradient"},
      {LOUPE_TAP_INPUT_GRADIENT, "the input's gradient"},
      {LOUPE_TAP_PARAMETER_GRADIENT, "the parameter's gradient"},
      {LOUPE_TAP_STEP_GRADIENT, "the gradient before the optimizer's step"},
      {LOUPE_TAP_OPTIMIZER_STEP, "the optimizer's step"},
      {LOUPE_TAP_TICK, "the tick"},
      {LOUPE_TAP_PUSH, "a push"},
      {LOUPE_TAP_ATTRIBUTE_BEFORE, "the attribute before forward"},
      {LOUPE_TAP_ATTRIBUTE, "the attribute after forward"},
      {LOUPE_DRAFT_TAP_LOSS_INPUT, "the cross entropy's input"},
      {LOUPE_DRAFT_TAP_STEP_TIME, "the step's time"},
      {LOUPE_DRAFT_TAP_STEP_MEMORY, "the step's memory"},
  };
  const auto found =
      std::find_if(std::begin(names), std::end(names), [&](const auto& each) { return each.first == tap; });
  return found != std::end(names) ? found->second : "an unknown tap";
}

void Stream::add(GathererNode& gatherer) {
  gatherers_.push_back(&gatherer);
  set_state(false, state_.reads_tensors.load(std::memory_order_relaxed) || gatherer.reads_tensors());
}

void Stream::copy_state(TapState* copy) {
  const std::lock_guard lock(copy_mutex_);
  copy_ = copy;
  if (copy == nullptr) return;
  copy->resting.store(resting(), std::memory_order_relaxed);
  copy->reads_tensors.store(state_.reads_tensors.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void Stream::set_state(bool resting, bool reads_tensors) {
  const std::lock_guard lock(copy_mutex_);
  for (TapState* state : {&state_, copy_}) {
    if (state == nullptr) continue;
    state->resting.store(resting, std::memory_order_relaxed);
    state->reads_tensors.store(reads_tensors, std::memory_order_relaxed);
  }
}

void Stream::follow_lenses() {
  bool all_rest = true, any_reads = false;
  for (const GathererNode* gatherer : gatherers_) {
    all_rest = all_rest && gatherer->resting();
    any_reads = any_reads || gatherer->reads_tensors();
  }
  set_state(all_rest, any_reads);
}

bool Stream::wants_tensors() const {
  return std::any_of(gatherers_.begin(), gatherers_.end(),
                     [](const GathererNode* node) { return node->wants_tensors(); });
}

void Stream::dispatch(const loupe_tensor* tensor, uint32_t flags, ForwardTensors* tensors, double scalar,
                      const char* label) {
  if (resting()) return;
  const LoupeTime time;
  const std::lock_guard lock(module_.mutex());
  if (module_.closed()) return;
  const char* shown = label != nullptr ? label : label_.empty() ? nullptr : label_.c_str();
  loupe_event event{.struct_size = sizeof(loupe_event),
                    .tap = tap_,
                    .flags = flags,
                    .index = index_,
                    .module = module_.c_module(),
                    .label = shown,
                    .number = number_++,
                    .step = module_.step(),
                    .tensor = tensor,
                    .scalar = scalar};
  for (GathererNode* gatherer : gatherers_) gatherer->event(event, tensors);
}

void Stream::fetch() const {
  fetch_lines(&module_.mutex(), cache_line);
  for (const GathererNode* gatherer : gatherers_) gatherer->fetch();
}

bool Stream::take_lacking() {
  if (told_lacking_ || !lacking_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(module_.mutex());
  told_lacking_ = number_ == 0;
  return told_lacking_;
}

void Stream::fail(const std::string& what) {
  if (resting()) return;
  const std::lock_guard lock(module_.mutex());
  if (module_.closed()) return;
  for (GathererNode* gatherer : gatherers_) gatherer->blame_everybody(what, tap_);
}

void Stream::prime(const loupe_tensor& tensor) {
  const std::lock_guard lock(module_.mutex());
  if (module_.closed()) return;
  for (GathererNode* gatherer : gatherers_) gatherer->prime(tensor);
}

ModuleNode::ModuleNode(uint64_t id, ModuleDescription description, const std::atomic<uint64_t>& step, int64_t history)
    : step_(step), history_(history), description_(std::move(description)) {
  for (std::string* text : {&description_.name, &description_.path, &description_.model, &description_.type,
                            &description_.full_type, &description_.settings})
    *text = utf8(*text);
  for (ParameterDescription& each : description_.parameters) {
    each.name = utf8(each.name);
    CParameter& parameter = c_parameters_.emplace_back(each.flags);
    parameter.table = {.struct_size = sizeof(loupe_parameter),
                       .flags = each.flags,
                       .name = each.name.c_str(),
                       .dim = static_cast<int64_t>(each.sizes.size()),
                       .numel = each.numel,
                       .sizes = each.sizes.data()};
    c_parameter_pointers_.push_back(&parameter.table);
  }
  c_module_ = {.struct_size = sizeof(loupe_module),
               .flags = description_.flags,
               .id = id,
               .family = description_.family,
               .name = description_.name.c_str(),
               .path = description_.path.c_str(),
               .type = description_.type.c_str(),
               .full_type = description_.full_type.c_str(),
               .parameters = c_parameter_pointers_.data(),
               .parameter_count = c_parameter_pointers_.size(),
               .settings = description_.settings.empty() ? nullptr : description_.settings.c_str()};
}

Stream* ModuleNode::stream(uint32_t tap, const std::string& label, uint32_t index) const {
  for (const Stream& each : streams_) {
    if (each.tap() == tap && each.index() == index && each.label() == label) return const_cast<Stream*>(&each);
  }
  return nullptr;
}

Stream& ModuleNode::stream_to_subscribe(uint32_t tap, const std::string& label, uint32_t index) {
  const bool is_of_both = tap == LOUPE_DRAFT_TAP_STEP_TIME || tap == LOUPE_DRAFT_TAP_STEP_MEMORY;
  const bool is_known = (tap >= LOUPE_TAP_FORWARD_BEFORE && tap <= LOUPE_TAP_ATTRIBUTE) ||
                        tap == LOUPE_DRAFT_TAP_LOSS_INPUT || is_of_both;
  if (!is_known || (!is_of_both && (tap == LOUPE_TAP_PUSH) != is_pushes_)) {
    throw Error(std::string(tap_name(tap)) + " cannot be watched on " + shown_name(), LOUPE_UNSUPPORTED);
  }
  if (tap == LOUPE_DRAFT_TAP_LOSS_INPUT && (description_.flags & LOUPE_MODULE_ROOT) == 0) {
    throw Error(std::string(tap_name(tap)) + " is seen only at a model's root, not on " + shown_name() +
                    "; watch it where the module has the flag LOUPE_MODULE_ROOT",
                LOUPE_UNSUPPORTED);
  }
  const bool is_attribute = tap == LOUPE_TAP_ATTRIBUTE || tap == LOUPE_TAP_ATTRIBUTE_BEFORE;
  if (is_attribute && label.empty()) {
    throw Error(std::string(tap_name(tap)) + " needs a name; give it as the label", LOUPE_INVALID);
  }
  if (!label.empty() && (tap == LOUPE_TAP_FORWARD || tap == LOUPE_TAP_FORWARD_BEFORE)) {
    throw Error(std::string(tap_name(tap)) + " has no label, but got '" + label +
                    "'; attributes and parameters come at LOUPE_TAP_ATTRIBUTE and LOUPE_TAP_ATTRIBUTE_BEFORE",
                LOUPE_UNSUPPORTED);
  }
  if (closed_) throw Error(shown_name() + " is detached and can no longer be watched", LOUPE_INVALID);
  if (!label.empty() && !description_.offers(tap, label)) {
    std::string own;
    for (std::size_t i = 0; i < c_module_.parameter_count; ++i)
      own += (own.empty() ? "'" : ", '") + std::string(c_module_.parameters[i]->name) + "'";
    throw Error(shown_name() + " has no '" + label + "' for " + tap_name(tap) + "; it has " +
                    (own.empty() ? "no parameter" : own),
                LOUPE_NOT_FOUND);
  }
  const bool has_index = tap == LOUPE_TAP_FORWARD || tap == LOUPE_TAP_OUTPUT_GRADIENT ||
                         tap == LOUPE_TAP_INPUT_GRADIENT || tap == LOUPE_TAP_FORWARD_BEFORE;
  if (index != 0 && !has_index) {
    throw Error(std::string(tap_name(tap)) + " has no output or input with the index " + std::to_string(index) +
                    "; use the index 0",
                LOUPE_UNSUPPORTED);
  }
  if (Stream* known = stream(tap, label, index)) return *known;
  return streams_.emplace_back(*this, tap, label, index);
}

GathererNode& ModuleNode::gatherer(const CatalogueEntry& entry, std::shared_ptr<const OptionSet> options,
                                   const char* label) {
  const std::string key =
      std::string(entry.component->name) + '\n' + (label != nullptr ? label : "") + '\n' + options->key();
  const std::lock_guard lock(mutex_);
  for (GathererNode& each : gatherers_) {
    if (each.key() == key && !each.failed()) return each;
  }
  GathererNode& node = gatherers_.emplace_back(*this, key, entry, std::move(options), label);
  try {
    node.open();
  } catch (...) {
    node.fail();
    throw;
  }
  return node;
}

void ModuleNode::collect_deferred() {
  const std::lock_guard lock(mutex_);
  for (GathererNode& gatherer : gatherers_) gatherer.collect_deferred();
}

void ModuleNode::follow_lenses() {
  const std::lock_guard lock(mutex_);
  for (GathererNode& gatherer : gatherers_) gatherer.follow_lenses();
  for (Stream& stream : streams_) stream.follow_lenses();
}

void ModuleNode::add_hearer(const Hearer& hearer) {
  const std::lock_guard lock(mutex_);
  hearers_.push_back(hearer);
  for (GathererNode& gatherer : gatherers_) gatherer.add_hearer(hearer);
}

void ModuleNode::forget_history() {
  const std::lock_guard lock(mutex_);
  for (GathererNode& gatherer : gatherers_) gatherer.forget_history();
}

uint64_t ModuleNode::unticked() {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const GathererNode& gatherer : gatherers_) sum += gatherer.unticked();
  return sum;
}

bool ModuleNode::has_events() {
  const std::lock_guard lock(mutex_);
  return std::any_of(gatherers_.begin(), gatherers_.end(), [](const GathererNode& each) { return each.has_events(); });
}

void ModuleNode::ticked() {
  const std::lock_guard lock(mutex_);
  for (GathererNode& gatherer : gatherers_) gatherer.ticked();
}

void ModuleNode::set_parameter_flag(std::size_t parameter, uint32_t flag, bool on) {
  std::atomic<uint32_t>& flags = c_parameters_[parameter].flags;
  if (on) {
    flags.fetch_or(flag, std::memory_order_relaxed);
  } else {
    flags.fetch_and(~flag, std::memory_order_relaxed);
  }
}

std::optional<uint32_t> ModuleNode::parameter_flags(std::size_t parameter) const {
  if (parameter >= c_parameters_.size()) return std::nullopt;
  return c_parameters_[parameter].flags.load(std::memory_order_relaxed);
}

void ModuleNode::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace loupe
