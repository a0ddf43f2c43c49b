#include "torch/attachment.h"

#include <loupe/draft/abi/flags.h>

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <unordered_map>

#include "core/log.h"
#include "torch/all_taps.h"
#include "torch/model/registry.h"
#include "torch/redirect/redirections.h"
#include "torch/taps/forward_pass.h"
#include "torch/taps/forward_taps.h"
#include "torch/taps/gradient_taps.h"
#include "torch/taps/optimizer_taps.h"
#include "torch/taps/script_calls.h"
#include "torch/tensor/tensor_dispatch.h"

namespace loupe {
namespace {

/// Skips gradients of results of TorchScript: inside a graph that is differentiated as a whole there are none.
void leave_out_gradients(TapPoint& point) {
  point.output_gradient = point.input_gradient = nullptr;
  std::erase_if(point.further, [](const Stream* stream) { return stream->tap() != LOUPE_TAP_FORWARD; });
}

}  // namespace

Attachment::Attachment(Monitor& monitor, std::string name)
    : monitor_(monitor),
      mutex_(monitor.mutex()),
      outbox_(monitor.outbox()),
      names_{std::move(name), "", monitor.config().separator} {}

void Attachment::attach(torch::nn::Module& model, const std::vector<torch::optim::Optimizer*>& optimizers,
                        const Exposed& exposed, bool is_loss) {
  declare_all_taps();
  forget_told_unreadable();
  const bool redirect = monitor_.config().redirect;
  if (redirect) Redirections::instance().hold();
  holds_redirections_ = redirect;
  attached_ = true;
  counts_always_ = monitor_.counts_every_step();
  if (counts_always_) counting_attachments.fetch_add(1);
  names_.root_type = short_type(model.name());
  auto* script = dynamic_cast<ScriptRoot*>(&model);
  is_script_ = script != nullptr;
  if (is_script_) {
    script_ = std::shared_ptr<ScriptRoot>(model.shared_from_this(), script);
    opened<ScriptTable>()->prepare(model);
  }

  model_ = std::make_shared<ModelNode>(names_.model, names_.root(), model.name());
  std::vector<const FoundModule*> attached;                          // the modules of the points
  std::unordered_map<std::string, const ModuleNode*> nodes_by_path;  // to find parents
  const std::vector<FoundModule> modules = walk_model(model, monitor_.config().depth);
  const SequentialTaps sequentials(modules);
  for (const FoundModule& found : modules) {
    const std::string type = short_type(found.module->name());
    if (found.is_repeated) {
      coverage_.add_again(names_.of(found.path), type, names_.of(found.first_path));
      continue;
    }
    Visibility visibility = visibility_of(*found.module, redirect);
    if (redirect && found.is_leaf && !visibility.tapped && sequentials.reach(*found.module)) {
      visibility.tapped = true;
      visibility.perhaps = false;
    }
    const auto parent = found.path.empty() ? nodes_by_path.end() : nodes_by_path.find(parent_of(found.path));
    const auto point = make_point(monitor_, model_, parent != nodes_by_path.end() ? parent->second : nullptr, found,
                                  visibility, names_, exposed, is_loss);
    nodes_by_path.emplace(found.path, point->node.get());
    attached.push_back(&found);
    point->model_id = this;
    point->attachment = weak_from_this();
    point->active = active_;
    point->redirects = redirect;
    point->opaque = visibility.opaque;
    point->perhaps = visibility.perhaps;
    points_.push_back(point);
    coverage_.add(names_.of(found.path), type, visibility, !found.is_leaf, !found.module->parameters().empty());
  }
  for (std::size_t i = 0; i < points_.size(); ++i) {
    monitor_.show_module(*points_[i]->node);
    bind_point(*points_[i], *attached[i], exposed);
    if (is_script_ && !attached[i]->path.empty()) leave_out_gradients(*points_[i]);
  }
  steps_.learn_parameters();
  if (any_step_runs()) steps_.pass_by();  // this model will not be informed of the step
  for (torch::optim::Optimizer* optimizer : optimizers) attach_optimizer(*optimizer);
  warn_of_equal_names(monitor_);
  warn_of_inference_parameters();
  monitor_.announce(*model_);
  tell_of_left_parameters();
  prime();
  watch_gradients();
  find_code(model);
  Registry::instance().add(points_);
  set_active(monitor_.looks());
}

void Attachment::find_code(torch::nn::Module& model) {
  points_[0]->is_root = true;
  points_[0]->only_functions = coverage_.tapped() == 0;
  if (is_script_) return;
  if (holds_redirections_) points_[0]->code = find_model_code(model);
  const bool has_own_forward = model.name().compare(0, 11, "torch::nn::") != 0 && coverage_.tapped() < points_.size();
  finds_code_ = !holds_redirections_ || !has_own_forward || !points_[0]->code.empty();
}

void Attachment::warn_of_inference_parameters() const {
  for (const auto& point : points_) {
    for (const ParameterTap& tap : point->parameters) {
      if (!tap.trains() || !tap.tensor.is_inference()) continue;
      log(LOUPE_LOG_WARNING, "parameters of '" + names_.root() + "' (such as '" + tap.name + "' of '" +
                                 point->node->description().name +
                                 "') were made in inference mode, where LibTorch gives them no gradients and counts no "
                                 "changes: neither can be seen; create the model outside c10::InferenceMode");
      return;
    }
  }
}

void Attachment::tell_of_left_parameters() {
  for (const Finding& finding : find_left_parameters(points_)) monitor_.publish(finding.c_form(), "loupe");
}

void Attachment::watch_gradients() {
  bool any = false;
  for (const auto& point : points_) {
    any = any || point->has_gradient_streams || point->input_gradient != nullptr || point->output_gradient != nullptr;
    watch_parameters(*point);
  }
  if (any && holds_redirections_) LeafGradients::instance().redirect();
}

std::shared_ptr<FunctionPoint> Attachment::function_after(TapPoint& after, const FunctionKind& kind,
                                                          std::size_t occurrence) {
  const std::lock_guard lock(*mutex_);
  for (;;) {
    std::size_t known = 0;
    {
      const std::lock_guard functions_lock(after.functions_mutex);
      const auto& points = after.functions_of(kind.index);
      if (occurrence < points.size()) return points[occurrence];
      known = points.size();
    }
    if (!attached_ || after.node->closed()) return nullptr;
    // Lenses visit it now, and may run the model themselves.
    auto point = make_function_point(monitor_, model_, after, kind, known);
    point->node->calls().forward.note();
    {
      const std::lock_guard functions_lock(after.functions_mutex);
      auto& points = after.functions_of(kind.index);
      if (points.size() == known) {
        points.push_back(point);
        function_points_.push_back(std::move(point));
        continue;
      }
    }
    monitor_.remove_module(point->node);  // a lens that ran the model has already made this point
  }
}

bool Attachment::add_unregistered(const torch::nn::Module& module, const TapPoint& after) {
  const std::lock_guard lock(*mutex_);
  // Each thread finds it, and finds it again after another model is attached.
  const bool is_known = std::ranges::any_of(unregistered_, [&](const auto& each) { return each.first == &module; });
  if (!attached_ || is_known) return false;
  ModuleDescription description;
  description.full_type = module.name();
  description.type = short_type(description.full_type);
  description.family = family_of(description.type);
  description.name = after.node->description().name + ":" + description.type;
  const auto same = std::ranges::count_if(unregistered_, [&](const auto& each) {
    const std::string& name = each.second->description().name;
    return name == description.name || name.rfind(description.name + "#", 0) == 0;
  });
  if (same > 0) description.name += "#" + std::to_string(same + 1);
  description.path = description.name;
  description.flags = LOUPE_DRAFT_MODULE_UNREGISTERED;
  description.offers = [](uint32_t, const std::string&) { return false; };
  unregistered_.emplace_back(&module, monitor_.add_module(std::move(description), model_, after.node.get()));
  unregistered_.back().second->calls().forward.note();
  return unregistered_.size() == 1;
}

bool Attachment::has_registered(const torch::nn::Module& module) const {
  const std::lock_guard lock(*mutex_);
  return attached_ && holds_by_now(points_, module);
}

void Attachment::attach_optimizer(torch::optim::Optimizer& optimizer) {
  if (holds_redirections_) tap_optimizer(optimizer, shared_from_this());
  steps_.attach(optimizer, holds_redirections_);
}

void Attachment::await_optimizers() {
  awaits_optimizers_ = true;
  if (holds_redirections_) loupe::await_optimizers(shared_from_this());
}

void Attachment::meet(torch::optim::Optimizer& optimizer) {
  const std::lock_guard lock(*mutex_);
  if (attached_) steps_.meet(optimizer, holds_redirections_);
}

void Attachment::before_step(torch::optim::Optimizer& optimizer) {
  const std::lock_guard lock(*mutex_);
  if (attached_ && is_active()) return steps_.before(optimizer);
  if (attached_ && monitor_.active()) steps_.before_passing(optimizer);
}

void Attachment::after_step(torch::optim::Optimizer& optimizer) {
  loupe::note_step();
  const std::lock_guard lock(*mutex_);
  if (!attached_) return;
  const bool active = is_active(), passes = !active && monitor_.active();
  if (active) {
    steps_.after(optimizer);
  } else if (passes) {
    steps_.after_passing(optimizer);
  } else {
    steps_.pass_by();
  }
  monitor_.note_step(active || passes ? steps_.latest() : nullptr, is_clock_ && steps_.counts(optimizer));
}

void Attachment::end_step() {
  const std::lock_guard lock(*mutex_);
  if (attached_) monitor_.end_step();
}

void Attachment::stepped_by_hand() {
  loupe::note_step();
  const std::lock_guard lock(*mutex_);
  const bool active = is_active();
  if (active) {
    steps_.by_hand();
  } else {
    steps_.pass_by();
  }
  monitor_.note_step(active ? steps_.latest() : nullptr, is_clock_);
}

/// If another thread is busy, for example with a tick, the next forward checks.
void Attachment::notice_unseen_step() {
  const std::unique_lock lock(*mutex_, std::try_to_lock);
  if (lock.owns_lock() && find_unseen_step()) monitor_.end_step(/*seen=*/false);
}

bool Attachment::find_unseen_step() {
  if (!attached_ || !is_active() || !steps_.notice_unseen()) return false;
  loupe::note_step();
  const bool counts = is_clock_ && steps_.latest_counts();
  if (counts) unseen_steps.fetch_add(1, std::memory_order_relaxed);
  monitor_.note_step(steps_.latest(), counts);
  return true;
}

/// The hooks and redirections stay, since other threads may be running them; each checks the flag.
void Attachment::set_active(bool active) {
  if (active_->exchange(active) == active) return;
  active_attachments.fetch_add(active ? 1 : -1);
}

void Attachment::tick() {
  end_pass();
  if (script_ != nullptr && !script_->script_lives()) script_ = nullptr;
  if (holds_redirections_) Redirections::instance().follow_libraries();
  late_modules_.tell(points_, names_.root());
  if (!told_of_unseen_) {
    tell_of_left_parameters();
    told_of_unseen_ = tell_of_unseen(points_, names_.root());
  }
  find_unseen_step();
  follow_parameters();
  steps_.check_at_tick();
  show_parameters();
}

void Attachment::follow_parameters() {
  bool replaced = false;
  for (const auto& point : points_) replaced = follow(*point) || replaced;
  if (replaced) steps_.learn_parameters();
}

void Attachment::show_parameters() {
  for (const auto& point : points_) {
    for (const ParameterTap& tap : point->parameters) dispatch_tensor(tap.tick, tap.tensor, training_flags);
  }
}

void Attachment::after_tick() {
  bool any = false;
  for (const auto& point : points_) {
    if (point->alive() || point->parameters.empty()) continue;
    release_parameters(*point);
    monitor_.remove_module(point->node);
    any = true;
  }
  if (any) steps_.learn_parameters();
}

bool Attachment::follow(TapPoint& point) {
  const auto module = point.owner.lock();
  if (module == nullptr) return false;
  bool replaced = false;
  const auto current = module->named_parameters(/*recurse=*/false);
  for (ParameterTap& tap : point.parameters) {
    const at::Tensor* now = tap.is_buffer ? nullptr : current.find(tap.name);
    if (now == nullptr || now->unsafeGetTensorImpl() == tap.tensor.unsafeGetTensorImpl()) continue;
    const at::Tensor old = tap.tensor;
    {
      const std::lock_guard lock(point.node->mutex());
      tap.tensor = *now;
      tap.accumulator = nullptr;
    }
    if (tap.gradient != nullptr) LeafGradients::instance().forget(old, *tap.gradient);
    watch_parameters(point);
    replaced = true;
  }
  return replaced;
}

void Attachment::release_parameters(TapPoint& point) {
  for (const ParameterTap& tap : point.parameters) {
    if (tap.gradient != nullptr) LeafGradients::instance().forget(tap.tensor, *tap.gradient);
  }
  // Threads that ran the model keep the point until they run another model; release the parameters earlier.
  std::vector<ParameterTap> released;
  const std::lock_guard lock(point.node->mutex());
  const std::lock_guard lending(point.lending);
  released.swap(point.parameters);
}

void Attachment::detach() {
  if (!std::exchange(attached_, false)) return;
  set_active(false);
  if (std::exchange(counts_always_, false)) counting_attachments.fetch_sub(1);
  Registry::instance().remove(active_.get());
  forget_optimizers(this);
  steps_.forget();
  // Start from the last one, which is quick because lists are shortened from their ends.
  std::for_each(unregistered_.rbegin(), unregistered_.rend(), [&](auto& each) { monitor_.remove_module(each.second); });
  std::for_each(function_points_.rbegin(), function_points_.rend(),
                [&](const auto& point) { monitor_.remove_module(point->node); });
  std::for_each(points_.rbegin(), points_.rend(), [&](const auto& point) {
    release_parameters(*point);
    monitor_.remove_module(point->node);
  });
  LeafGradients::instance().forget_all(active_.get());
  model_ = nullptr;
  script_ = nullptr;
  if (holds_redirections_) Redirections::instance().release();
}

bool Attachment::has_more_to_tell() const {
  return !coverage_.is_whole() || is_script_ || !finds_code_ || monitor_.config().every > 1;
}

std::string Attachment::summary() const {
  std::string text = "attached '" + names_.root() + "': " + coverage_.counts();
  if (!steps_.any() && !awaits_optimizers_) text += ", no optimizer";
  text += monitor_.sampling_words();
  if (is_script_) text += "; a TorchScript model: only gradients of parameters and only inputs of leaves are seen";
  if (!finds_code_)
    text +=
        "; the program's symbols are stripped, so functions before the first module are not seen and a trainer's "
        "own functions count as the model's";
  if (steps_.any() && !holds_redirections_)
    text += "; with taps: explicit call inspector.optimizer_stepped() after each step";
  return text + coverage_.untapped();
}

}  // namespace loupe
