#include "run/program_losses.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <cmath>
#include <utility>

#include "inspector/program_inspector.h"

namespace loupe {

ProgramLosses::ProgramLosses(Inspector& inspector, const Names& names, Tell tell)
    : inspector_(inspector),
      tell_(std::move(tell)),
      names_(names.train, names.given),
      validation_names_(names.validation, {}) {}

/// Where backward() is called from. One loss may have several places, as in both arms of an `if`, of which a step comes
/// by one alone.
const void* ProgramLosses::origin_of(const at::Tensor& loss, const void* place, std::size_t trainings) {
  const void* origin = origins_.of(place);
  if (!names_.knows(origin)) {
    const std::uint64_t signature = signature_of(loss);
    const auto same = std::find_if(signatures_.begin(), signatures_.end(),
                                   [&](const auto& each) { return each.second == signature; });
    if (same != signatures_.end() && in_step_.empty() && trainings == 1) {
      names_.join(origin, same->first);
    } else {
      signatures_.emplace_back(origin, signature);
    }
  }
  in_step_.insert(origin);
  return origin;
}

/// What a loss function gives while the program validates is compared with the training loss only where that is its
/// result too.
void ProgramLosses::note_role(const at::Tensor& loss, const MadeLoss& made, bool is_main) {
  if (!is_main) return;
  for (auto& [function, role] : roles_) role.is_loss = false;
  if (made.function != nullptr) {
    Role& role = roles_[made.function];
    role.is_loss = true;
    role.factor = at::Tensor();
    const at::NoGradGuard no_graph;
    const bool without_scale = scale_.is_divided_out().value_or(LossScale::is_likely(made.scale));
    const at::Tensor shown = without_scale ? made.unscaled : loss;
    const auto is_zero = [&] { return made.result.device().is_cpu() && made.result.item<double>() == 0; };
    if (made.has_factors && !is_zero()) role.factor = shown.detach() / made.result;
  }
  for (const Evaluated& each : std::exchange(early_, {})) evaluated(each.result, each.function, each.place);
}

void ProgramLosses::before_backward(const at::Tensor& loss, const void* place, std::size_t trainings) {
  if (!stepped_.empty()) name_losses();
  const void* origin = origin_of(loss, place, trainings);
  const LossNames::Named named = names_.of(origin);
  const MadeLoss made = makers_.of(loss);
  note_role(loss, made, named.is_main);
  const bool waits = std::find(nameless_.begin(), nameless_.end(), origin) != nameless_.end();
  if (waits || (named.is_new && trainings > 1 && names_.is_numbered(origin))) {
    if (!waits) nameless_.push_back(origin);
    nameless_losses_.emplace_back(origin, LossScale::Waiting{"", loss.detach(), made});
    return;
  }
  if (named.name.empty()) return;
  if (named.is_new)
    tell_.trained(named.name,
                  std::string("what backward() is called on") + (named.is_main ? "" : " at a further place"));
  show(named.name, loss, made);
}

void ProgramLosses::show(const std::string& name, const at::Tensor& loss, const MadeLoss& made) {
  constexpr std::size_t most_waiting = 256;
  const bool is_scaled = made.scale != 1;
  if (is_scaled && !scale_.is_divided_out()) {
    scale_.wait({name, loss.detach(), made});
    if (scale_.count() == most_waiting) show_waiting(LossScale::is_likely(made.scale));
    return;
  }
  const bool without_scale = is_scaled && *scale_.is_divided_out();
  ProgramInspector::push_loss(inspector_, name, without_scale ? made.unscaled : loss, /*train=*/true);
  if (without_scale) show_scale(made.scale);
}

void ProgramLosses::show_scale(double scale) {
  if (std::isfinite(scale)) inspector_.push_metric("loss scale", scale);
}

void ProgramLosses::show_waiting(bool without_scale) {
  for (const LossScale::Waiting& each : scale_.take()) {
    ProgramInspector::push_loss(inspector_, each.name, without_scale ? each.made.unscaled : each.loss, /*train=*/true);
    if (without_scale) show_scale(each.made.scale);
  }
}

void ProgramLosses::before_step(const torch::optim::Optimizer& optimizer) {
  in_step_.clear();
  if (!scale_.any_waits()) return;
  scale_.before_step(optimizer);
  if (!scale_.is_divided_out()) return;
  const bool is_divided = *scale_.is_divided_out();
  if (is_divided)
    tell_.guess(
        "the loss is shown without the scale that it is multiplied by, as gradients are divided by that before a "
        "step");
  show_waiting(is_divided);
}

void ProgramLosses::after_step(const std::vector<std::string>& models) {
  if (!nameless_.empty()) stepped_.insert(models.begin(), models.end());
}

/// Where there are several models, a loss is named after the one whose optimizer steps next, if that is one.
void ProgramLosses::name_losses() {
  for (const void* place : std::exchange(nameless_, {})) {
    const LossNames::Named numbered = names_.of(place);
    std::string name = numbered.name, when = numbered.is_main ? "" : " at a further place";
    if (stepped_.size() == 1) {
      name = names_.call(place, *stepped_.begin() + " loss");
      when = " before an optimizer of '" + *stepped_.begin() + "' steps";
    }
    tell_.trained(name, "what backward() is called on" + when);
  }
  stepped_.clear();
  for (const auto& [place, waiting] : std::exchange(nameless_losses_, {}))
    show(names_.of(place).name, waiting.loss, waiting.made);
}

void ProgramLosses::end_epoch() {
  if (!nameless_.empty()) name_losses();
  // Where no step was taken gradients overflowed, as they may at first, or they are still added up.
  if (scale_.any_waits()) show_waiting(scale_.is_likely_of_waiting());
}

void ProgramLosses::evaluated(const at::Tensor& result, const char* function, const void* place) {
  constexpr std::size_t most_early = 1000;
  if (!any()) {
    if (early_.size() < most_early) early_.push_back({result, function, place});
    return;
  }
  const auto role = roles_.find(function);
  if (role == roles_.end() || !role->second.is_loss) {
    const std::string name = std::string(function) + " (validation)";
    const auto [part, is_first] = names_of_parts_.try_emplace(function, name, std::vector<std::string>());
    const LossNames::Named named = part->second.of(place);
    if (named.is_new)
      tell_.guess("'" + named.name + "' is what " + function +
                  " gives in eval mode or without gradients, which is not the loss that is trained");
    if (!named.name.empty()) ProgramInspector::push_metric(inspector_, named.name, result);
    return;
  }
  const LossNames::Named named = validation_names_.of(place);
  if (named.name.empty()) return;
  if (named.is_new)
    tell_.guess("'" + named.name +
                "' is what a loss function gives in eval mode or without gradients, as a mean of the batch");
  const at::NoGradGuard no_graph;
  const at::Tensor& factor = role->second.factor;
  const bool fits = factor.defined() && factor.device() == result.device();
  ProgramInspector::push_loss(inspector_, named.name, fits ? result * factor : result, /*train=*/false);
}

}  // namespace loupe
