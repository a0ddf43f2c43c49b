#include "torch/taps/optimizer_steps.h"

#include <loupe/draft/abi/flags.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/cache.h"
#include "core/forks.h"
#include "core/log.h"
#include "torch/model/registry.h"
#include "torch/taps/early_clips.h"
#include "torch/taps/optimizer_reader.h"
#include "torch/taps/optimizer_taps.h"
#include "torch/taps/unregistered.h"
#include "torch/tensor/compat.h"
#include "torch/tensor/parameter_changes.h"
#include "torch/tensor/tensor_dispatch.h"

namespace loupe {
namespace {

/// Numbers for optimizers: one with parameters of several models has the same number for each of them.
class OptimizerNumbers {
 public:
  static OptimizerNumbers& instance() {
    static auto* numbers = new OptimizerNumbers();  // optimizers may step during static destruction
    return *numbers;
  }
  /// @param of  the models' step counters; each accepts a number once
  uint64_t take(const OptimizerSteps* of, const torch::optim::Optimizer& optimizer, uint64_t fingerprint) {
    constexpr std::size_t most = 64;
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(assigned_.begin(), assigned_.end(), [&](const Assigned& each) {
      return each.optimizer == &optimizer && each.fingerprint == fingerprint && each.taken_by.count(of) == 0;
    });
    if (known != assigned_.end()) {
      known->taken_by.insert(of);
      return known->number;
    }
    if (assigned_.size() == most) assigned_.pop_front();
    assigned_.push_back({&optimizer, fingerprint, ++last_, {of}});
    return last_;
  }

 private:
  struct Assigned {
    const torch::optim::Optimizer* optimizer;  // only to compare with
    uint64_t fingerprint, number;
    std::unordered_set<const OptimizerSteps*> taken_by;
  };
  ProcessMutex mutex_;
  std::deque<Assigned> assigned_;
  uint64_t last_ = 0;
};

constexpr std::size_t most_holders = 64;

/// Sets a flag of the parameter that lenses see.
void set_flag(const TapPoint& point, const ParameterTap& tap, uint32_t flag, bool on) {
  point.node->set_parameter_flag(static_cast<std::size_t>(&tap - point.parameters.data()), flag, on);
}

void note_gradient(const TapPoint& point, const ParameterTap& tap) {
  if (tap.trains()) set_flag(point, tap, LOUPE_DRAFT_PARAMETER_GRADIENT, tap.tensor.grad().defined());
}

/// The count of a tensor's changes; not counted for one made in inference mode.
uint32_t version_of(const at::Tensor& tensor) {
  return tensor.is_inference() ? 0 : static_cast<uint32_t>(tensor._version());
}

/// Prefetches the memory for the steps of the next modules' parameters, one pointer after the other: nearer modules'
/// memory has arrived by now. Modules with and without parameters often alternate.
void fetch_after(const OptimizerSteps::Points& points, std::size_t now) {
  constexpr std::size_t apart = 2;
  const auto ahead = [&](std::size_t stages) {
    const std::size_t place = now + stages * apart;
    return place < points.size() ? points[place].get() : nullptr;
  };
  if (const TapPoint* point = ahead(4)) fetch_lines(&point->parameters, sizeof point->parameters);
  if (const TapPoint* point = ahead(3)) {
    for (const ParameterTap& tap : point->parameters) fetch_lines(&tap, &tap.name);
  }
  if (const TapPoint* point = ahead(2)) {
    for (const ParameterTap& tap : point->parameters) {
      fetch_lines(tap.tensor.unsafeGetTensorImpl(), sizeof(c10::TensorImpl));
      if (tap.step != nullptr) fetch_lines(tap.step, sizeof(Stream));
      if (tap.kept_gradient != nullptr) fetch_lines(tap.kept_gradient.get(), sizeof(KeptGradient));
    }
  }
  if (const TapPoint* point = ahead(1)) {
    for (const ParameterTap& tap : point->parameters) {
      if (tap.step != nullptr && !tap.step->resting()) tap.step->fetch();
    }
  }
}

}  // namespace

template <class Call>
void OptimizerSteps::each_parameter(Call&& call) {
  for (const auto& point : points_) {
    for (ParameterTap& tap : point->parameters) {
      if (!tap.is_buffer) call(*point, tap);
    }
  }
}

void OptimizerSteps::learn_parameters() {
  ParametersByModel::Set now;
  each_parameter([&](const TapPoint&, ParameterTap& tap) { now.insert(tap.tensor.unsafeGetTensorImpl()); });
  attached_parameters().set(this, now);  // marked again when seen next
  const std::lock_guard lock(parameters_mutex_);
  parameters_ = std::move(now);
}

bool OptimizerSteps::holds_any(const torch::optim::Optimizer& optimizer) const {
  const std::lock_guard lock(parameters_mutex_);
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      if (parameters_.count(parameter.unsafeGetTensorImpl()) != 0) return true;
    }
  }
  return false;
}

bool OptimizerSteps::concerns(const torch::optim::Optimizer& optimizer) const {
  {
    const std::lock_guard lock(parameters_mutex_);
    if (attached_.count(&optimizer) != 0) return true;
  }
  return holds_any(optimizer);
}

void OptimizerSteps::attach(torch::optim::Optimizer& optimizer, bool seen) {
  {
    const std::lock_guard lock(parameters_mutex_);
    attached_.insert(&optimizer);
  }
  meet(optimizer, seen);
  if (!holds_any(optimizer))
    log(LOUPE_LOG_WARNING, "the optimizer attached with '" + names_.root() +
                               "' holds none of its parameters; its steps change nothing here");
}

void OptimizerSteps::meet(torch::optim::Optimizer& optimizer, bool seen) {
  const uint64_t bit = uint64_t{1} << slot_of(optimizer);
  if (seen && !may_step_unseen(optimizer)) {
    unseen_ &= ~bit;
  } else {
    unseen_ |= bit;
  }
  for (const auto& point : points_) point->checks_steps.store(unseen_ != 0, std::memory_order_relaxed);
}

void OptimizerSteps::forget() {
  {
    // A later optimizer may get the address of one of these.
    const std::lock_guard lock(parameters_mutex_);
    attached_.clear();
  }
  attached_parameters().set(this, {});
  trained_parameters().set(this, {});
}

bool OptimizerSteps::Holder::is(const torch::optim::Optimizer& other) const {
  return optimizer == &other && !(has_state && other.state().empty());
}

bool OptimizerSteps::is_left(const Holder& holder) const {
  const std::lock_guard lock(parameters_mutex_);
  return attached_.count(holder.optimizer) == 0 &&
         std::none_of(holder.held.begin(), holder.held.end(),
                      [&](const c10::TensorImpl* each) { return parameters_.count(each) != 0; });
}

std::size_t OptimizerSteps::slot_of(const torch::optim::Optimizer& optimizer) {
  const uint64_t fingerprint = fingerprint_of(optimizer);
  const uint64_t generation = attached_parameters().generation();
  std::size_t same = holders_.size();
  for (std::size_t i = 0; i < holders_.size(); ++i) {
    if (holders_[i].is(optimizer) && holders_[i].fingerprint == fingerprint && holders_[i].generation == generation)
      return i;
    // It was created again for the same or replaced parameters, or given others.
    if (holders_[i].optimizer == &optimizer ||
        (same == holders_.size() && (holders_[i].fingerprint == fingerprint || is_left(holders_[i]))))
      same = i;
  }
  if (same == holders_.size()) {
    if (holders_.size() < most_holders) {
      holders_.push_back({});
    } else {
      same = next_reused_++ % most_holders;
    }
  } else if (holders_[same].optimizer != &optimizer) {
    same = slot_beside(same, optimizer);
  }
  Holder& holder = holders_[same];
  const bool marked = holder.fingerprint == fingerprint && holder.generation == generation;
  if (!marked) holder.values = 0;
  const std::string type = optimizer_type(optimizer);
  const bool is_new = !holder.is(optimizer) || holder.facts->get().type != type;
  if (is_new) {
    const uint64_t number = OptimizerNumbers::instance().take(this, optimizer, fingerprint);
    holder.facts = std::make_unique<OptimizerFacts>(number, names_.model, type);
  }
  holder.optimizer = &optimizer;
  holder.has_state = !optimizer.state().empty();
  holder.fingerprint = fingerprint;
  holder.generation = generation;
  if (!marked) mark(optimizer, same);
  read(optimizer, same);
  if (is_new || !marked)
    holder.facts->set_parameters(holder.parameters, points_.empty() ? nullptr : points_[0]->node->c_module()->model);
  return same;
}

std::size_t OptimizerSteps::slot_beside(std::size_t slot, const torch::optim::Optimizer& optimizer) {
  constexpr std::size_t most_displaced = 4;
  const auto known = std::find_if(displaced_.begin(), displaced_.end(), [&](const Holder& each) {
    return each.is(optimizer) && each.fingerprint == holders_[slot].fingerprint;
  });
  if (known != displaced_.end() && holders_.size() < most_holders) {
    holders_.push_back(std::move(*known));
    holders_.back().generation = UINT64_MAX;  // its parameters must be marked with its new slot
    displaced_.erase(known);
    return holders_.size() - 1;
  }
  if (displaced_.size() == most_displaced) displaced_.pop_front();
  displaced_.push_back(std::exchange(holders_[slot], {}));
  return slot;
}

void OptimizerSteps::read(const torch::optim::Optimizer& optimizer, std::size_t slot) {
  read_groups(optimizer, groups_);
  for (std::size_t i = 0; i < groups_.size() && i < holders_[slot].unknown.size(); ++i) {
    groups_[i].group.unknown_tensor_count = holders_[slot].unknown[i].tensors;
    groups_[i].group.unknown_element_count = holders_[slot].unknown[i].elements;
  }
  holders_[slot].facts->set_groups(groups_);
}

const loupe_optimizer* OptimizerSteps::latest() const {
  const Holder* found = nullptr;
  for (std::size_t i = 0; i < holders_.size(); ++i) {
    if ((latest_ >> i & 1) == 0) continue;
    if (found != nullptr) return nullptr;
    found = &holders_[i];
  }
  return found == nullptr ? nullptr : &found->facts->get();
}

void OptimizerSteps::list(std::vector<const loupe_optimizer*>& all) const {
  for (const Holder& each : holders_) all.push_back(&each.facts->get());
}

void OptimizerSteps::mark(const torch::optim::Optimizer& optimizer, std::size_t slot) {
  const uint64_t bit = uint64_t{1} << slot;
  std::unordered_set<const c10::TensorImpl*>& held = holders_[slot].held;
  held.clear();
  holders_[slot].unknown.clear();
  holders_[slot].parameters.clear();
  std::unordered_map<const c10::TensorImpl*, loupe_held_parameter> own;
  for (const auto& point : points_) {
    for (std::size_t i = 0; i < point->parameters.size(); ++i) {
      own.try_emplace(point->parameters[i].tensor.unsafeGetTensorImpl(),
                      loupe_held_parameter{sizeof(loupe_held_parameter), 0, point->node->c_module(), i});
    }
  }
  for (const auto& group : optimizer.param_groups()) {
    Unknown& unknown = holders_[slot].unknown.emplace_back();
    auto& parameters = holders_[slot].parameters.emplace_back();
    for (const at::Tensor& parameter : group.params()) {
      held.insert(parameter.unsafeGetTensorImpl());
      if (const auto found = own.find(parameter.unsafeGetTensorImpl()); found != own.end())
        parameters.push_back(found->second);
      if (attached_parameters().has(parameter.unsafeGetTensorImpl())) continue;
      ++unknown.tensors;
      unknown.elements += parameter.numel();
    }
  }
  each_parameter([&](const TapPoint& point, ParameterTap& tap) {
    tap.holders = held.count(tap.tensor.unsafeGetTensorImpl()) != 0 ? tap.holders | bit : tap.holders & ~bit;
    set_flag(point, tap, LOUPE_PARAMETER_TRAINABLE, tap.trains());
    set_flag(point, tap, LOUPE_PARAMETER_OPTIMIZED, tap.holders != 0);
  });
  counting_ = 1;
  each_parameter([&](const TapPoint&, const ParameterTap& tap) {
    if ((tap.holders & 1) != 0) counting_ |= tap.holders;
  });
  ParametersByModel::Set trained;
  for (const Holder& each : holders_) trained.insert(each.held.begin(), each.held.end());
  trained_parameters().set(this, std::move(trained));
}

void OptimizerSteps::before(torch::optim::Optimizer& optimizer) {
  const std::size_t slot = slot_of(optimizer);
  if (!std::exchange(has_stepped_, true)) {
    for (const auto& point : points_) {
      if (point->is_root) point->node->calls().step.note();
    }
  }
  read(optimizer, slot);
  const uint64_t bit = uint64_t{1} << slot;
  each_parameter([&](const TapPoint&, const ParameterTap& tap) {
    if (tap.step_gradient != nullptr && (tap.holders & bit) != 0 && tap.tensor.requires_grad())
      dispatch_tensor(tap.step_gradient, tap.tensor.grad(), training_flags);
  });
}

void OptimizerSteps::after(torch::optim::Optimizer& optimizer) {
  const std::size_t slot = slot_of(optimizer);
  holders_[slot].has_state = !optimizer.state().empty();
  stepped(uint64_t{1} << slot);
}

void OptimizerSteps::after_passing(torch::optim::Optimizer& optimizer) {
  passed_by_ = true;
  const std::size_t slot = known_slot_of(optimizer);
  holders_[slot].has_state = !optimizer.state().empty();
  latest_ = uint64_t{1} << slot;
}

std::size_t OptimizerSteps::known_slot_of(const torch::optim::Optimizer& optimizer) {
  const auto known = std::find_if(holders_.begin(), holders_.end(),
                                  [&](const Holder& holder) { return holder.optimizer == &optimizer; });
  return known != holders_.end() ? static_cast<std::size_t>(known - holders_.begin()) : slot_of(optimizer);
}

bool OptimizerSteps::counts(const torch::optim::Optimizer& optimizer) {
  return (counting_ >> known_slot_of(optimizer) & 1) != 0;
}

void OptimizerSteps::stepped(uint64_t holders) {
  latest_ = holders;
  const auto step = [&](const TapPoint& point, ParameterTap& tap) {
    note_gradient(point, tap);
    if ((tap.holders & holders) == 0 || !tap.tensor.requires_grad()) return;
    tap.stepped = tap.stepped_since_tick = true;
    tap.version = version_of(tap.tensor);
    uint32_t flags = 0;
    if (tap.kept_gradient != nullptr) {
      const KeptGradient::Step of_step = tap.kept_gradient->at_step(tap.tensor.grad());
      if (of_step.not_cleared) flags |= LOUPE_DRAFT_EVENT_NOT_CLEARED;
      if (of_step.clipped_early && !was_clipped_later()) flags |= LOUPE_DRAFT_EVENT_CLIPPED_EARLY;
    }
    dispatch_tensor(tap.step, tap.tensor, training_flags | flags);
  };
  for (std::size_t i = 0; i < points_.size(); ++i) {
    fetch_after(points_, i);
    for (ParameterTap& tap : points_[i]->parameters) {
      if (!tap.is_buffer) step(*points_[i], tap);
    }
  }
}

void OptimizerSteps::by_hand() {
  latest_ = ~uint64_t{0};
  each_parameter([&](const TapPoint&, ParameterTap& tap) {
    if (!tap.tensor.requires_grad()) return;
    const uint32_t version = version_of(tap.tensor);
    // Do not count a step that a tap saw twice if nothing changed since.
    if (tap.holders != 0 && tap.stepped && tap.version == version) return;
    tap.stepped_since_tick = true;
    tap.version = version;
    dispatch_tensor(tap.step, tap.tensor, training_flags);
  });
  changed_in_value();  // updates the known values
}

bool OptimizerSteps::notice_unseen() {
  uint64_t changed = 0;
  each_parameter([&](const TapPoint&, ParameterTap& tap) {
    if ((tap.holders & unseen_) == 0) return;
    const uint32_t version = version_of(tap.tensor);
    if (version != tap.version && !tap.stepped && tap.tensor.grad().defined()) changed |= tap.holders & unseen_;
    tap.version = version;
    tap.stepped = false;
  });
  const uint64_t by_value = changed_in_value();
  if (changed == 0) changed = by_value;
  if (changed == 0) return false;
  stepped(changed);
  each_parameter([&](const TapPoint&, ParameterTap& tap) {
    if ((tap.holders & changed) != 0) tap.stepped = false;
  });
  return true;
}

/// The unseen optimizers whose parameters have changed since the last call. Operators on lists of parameters, such as
/// fused ones, do not count changes. Only a few parameters of each optimizer are checked.
uint64_t OptimizerSteps::changed_in_value() {
  constexpr int enough = 4;
  uint64_t changed = 0;
  for (std::size_t i = 0; i < holders_.size(); ++i) {
    const uint64_t bit = uint64_t{1} << i;
    if ((unseen_ & bit) == 0) continue;
    int looked_at = 0;
    bool any_gradient = false;
    uint64_t values = 1;
    each_parameter([&](const TapPoint&, const ParameterTap& tap) {
      if ((tap.holders & bit) == 0 || !tap.tensor.requires_grad()) return;
      any_gradient = any_gradient || tap.tensor.grad().defined();
      if (looked_at++ < enough) values = values * 31 + sample_hash(tap.tensor);
    });
    if (!any_gradient) continue;
    const uint64_t before = std::exchange(holders_[i].values, values);
    if (before != 0 && before != values) changed |= bit;
  }
  return changed;
}

/// Keeps the changes since the last tick if only some steps were skipped.
void OptimizerSteps::prime() {
  each_parameter([this](const TapPoint&, ParameterTap& tap) {
    tap.version = version_of(tap.tensor);
    tap.stepped = false;
    if (tap.kept_gradient != nullptr) tap.kept_gradient->forget();
    if (!passed_by_) tap.stepped_since_tick = false;
    if (tap.step == nullptr) return;
    if (!passed_by_) tap.values = sample_hash(tap.tensor);
    const TorchTensorView view(tap.tensor);
    if (view.readable()) tap.step->prime(*view.get());
  });
}

void OptimizerSteps::check_at_tick() {
  tell_of_unseen_changes();
  tell_of_uncovered();
}

/// Compares values, too, for optimizers that write through Tensor::data without changing the version.
void OptimizerSteps::tell_of_unseen_changes() {
  std::string changed;
  // During a step (its own if a closure ticks, or another thread's) its changes are not yet reported.
  const bool some_unseen = std::exchange(passed_by_, false) || any_step_runs();
  each_parameter([&](const TapPoint& point, ParameterTap& tap) {
    const bool stepped = std::exchange(tap.stepped_since_tick, false);
    set_flag(point, tap, LOUPE_PARAMETER_TRAINABLE, tap.trains());
    set_flag(point, tap, LOUPE_DRAFT_PARAMETER_CHANGED, stepped);
    if (tap.step == nullptr) return;
    const uint64_t values = sample_hash(tap.tensor);
    const uint32_t version = version_of(tap.tensor);
    const bool is_newer = std::exchange(tap.version, version) != version;
    // Values on a device are not fetched for this; there only the version counts.
    const bool differs = values != 0 ? values != tap.values : is_newer;
    tap.values = values;
    set_flag(point, tap, LOUPE_DRAFT_PARAMETER_CHANGED, differs);
    const bool may_be_told = !stepped && !some_unseen && changed.empty() && point.alive();
    if (differs && may_be_told && tap.trains() && tap.tensor.grad().defined())
      changed = "'" + tap.name + "' of '" + point.node->description().name + "'";
  });
  if (changed.empty() || std::exchange(told_of_changes_, true)) return;
  log(LOUPE_LOG_WARNING,
      "parameters of '" + names_.root() + "' (such as " + changed +
          ") changed in this epoch, but no optimizer's step was seen, so these updates are not shown: the program "
          "wrote the values itself, or steps with an optimizer " +
          (is_only_watched()
               ? "that is no torch::optim::Optimizer"
               : "that is not attached; attach it, or call inspector.optimizer_stepped() after each step"));
}

void OptimizerSteps::tell_of_uncovered() {
  constexpr std::size_t shown_modules = 5;
  if (holders_.empty() || std::exchange(told_of_uncovered_, true)) return;
  std::vector<std::pair<const TapPoint*, std::string>> uncovered;  // a module and its parameters' names
  std::size_t count = 0;
  each_parameter([&](const TapPoint& point, const ParameterTap& tap) {
    if (tap.holders != 0 || !tap.trains() || !point.alive()) return;
    ++count;
    if (uncovered.empty() || uncovered.back().first != &point) {
      uncovered.emplace_back(&point, tap.name);
    } else {
      uncovered.back().second += ", " + tap.name;
    }
  });
  if (count == 0) return;
  std::string names;
  for (std::size_t i = 0; i < uncovered.size() && i < shown_modules; ++i) {
    names += (i == 0 ? "'" : "; '") + uncovered[i].first->node->description().name + "' (" + uncovered[i].second + ")";
  }
  if (uncovered.size() > shown_modules)
    names += "; and those of " + std::to_string(uncovered.size() - shown_modules) + " more modules";
  const bool is_attached_by_none = is_only_watched();
  log(LOUPE_LOG_WARNING,
      std::to_string(count) + " parameters of '" + names_.root() + "' require gradients, but no " +
          (is_attached_by_none ? "" : "attached ") + "optimizer holds them, so their updates are not shown: " + names +
          "; " +
          (is_attached_by_none ? "give them to an optimizer"
                               : "attach their optimizer too: inspector.attach_optimizer(optimizer)") +
          ", or freeze them");
}

}  // namespace loupe
