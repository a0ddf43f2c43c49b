// Which rule's finding can bring about which others. One finding is told for each cause: its effects become information
// that points to it.

#include "health/rules/causes.h"

#include <algorithm>
#include <cstring>

namespace loupe::health {
namespace {

using Strength = Cause::Strength;

/// A layer that lets no gradient through, its figure being 1, and a parameter at or before it whose gradient is 0.
bool blocks_gradient(const Observation& cause, const Observation& effect) {
  return cause.value == 1 && effect.value == 0 && effect.place > 0 && effect.place <= cause.place;
}

/// A layer that gives nothing but zeros, and a parameter before it, or of the next layer, which they are the input of.
bool silences(const Observation& cause, const Observation& effect) {
  constexpr uint64_t to_next_layer = 2;  // a dropout or the like may lie between
  const bool is_next = effect.place > cause.place && effect.place - cause.place <= to_next_layer;
  return blocks_gradient(cause, effect) || (cause.value == 1 && effect.value == 0 && cause.place > 0 && is_next);
}

bool is_of_one_model(const loupe_module* a, const loupe_module* b) {
  return a == nullptr || b == nullptr || a->model == b->model;
}

}  // namespace

const std::vector<Cause>& causes() {
  static const auto& table = *new std::vector<Cause>{
      // What the data show for certain.
      {"dead_units", {"unchanged_parameter"}, Strength::sure, &silences},
      {"constant_output", {"unchanged_parameter"}, Strength::sure, &blocks_gradient},
      {"unnormalized_input", {"vanishing_gradient", "dead_units", "constant_output"}, Strength::sure},
      {"excessive_weight_decay",
       {"vanishing_gradient", "dead_units", "constant_output", "update_ratio"},
       Strength::sure},

      // What the loop, the optimizer or the loss is given.
      {"non_finite",
       {"exploding_gradient", "dead_units", "constant_output", "loss_spike", "diverging_loss", "update_ratio",
        "loss_not_decreasing"}},
      {"gradients_not_cleared",
       {"exploding_gradient", "dead_units", "saturated_activation", "constant_output", "loss_spike", "loss_oscillating",
        "diverging_loss", "update_ratio", "loss_not_decreasing"}},
      {"no_step", {"loss_not_decreasing", "unchanged_parameter"}},
      {"zero_learning_rate", {"update_ratio", "loss_not_decreasing"}},
      {"no_effect", {"unchanged_parameter", "update_ratio", "loss_not_decreasing"}},
      {"nothing_trainable",
       {"unchanged_parameter", "vanishing_gradient", "dead_units", "constant_output", "update_ratio",
        "loss_not_decreasing"}},
      {"stale_optimizer", {"unchanged_parameter", "update_ratio", "loss_not_decreasing"}},
      {"repeated_rows", {"dead_units", "constant_output", "loss_oscillating", "loss_not_decreasing"}},
      {"repeated_batch", {"loss_not_decreasing"}},
      {"weights_reset", {"loss_not_decreasing"}},
      {"new_optimizer", {"loss_not_decreasing"}},
      {"mode_mismatch", {"loss_not_decreasing"}},
      {"learning_rate_change",
       {"exploding_gradient", "dead_units", "saturated_activation", "constant_output", "loss_spike", "loss_oscillating",
        "diverging_loss", "update_ratio", "loss_not_decreasing"}},
      {"double_softmax", {"vanishing_gradient", "loss_not_decreasing"}},
      {"loss_input",
       {"unchanged_parameter", "vanishing_gradient", "exploding_gradient", "dead_units", "saturated_activation",
        "constant_output", "loss_spike", "loss_oscillating", "diverging_loss", "update_ratio", "loss_not_decreasing"}},
      {"unbalanced_targets", {"dead_units", "constant_output", "vanishing_gradient", "loss_not_decreasing"}},
      {"target_scale",
       {"exploding_gradient", "dead_units", "saturated_activation", "constant_output", "loss_oscillating",
        "update_ratio", "loss_not_decreasing"}},
      {"unbounded_loss",
       {"exploding_gradient", "dead_units", "saturated_activation", "constant_output", "loss_spike", "loss_oscillating",
        "diverging_loss", "update_ratio"}},
      {"unnormalized_input",
       {"exploding_gradient", "saturated_activation", "loss_spike", "loss_oscillating", "diverging_loss",
        "update_ratio", "loss_not_decreasing"}},
      {"excessive_weight_decay", {"loss_not_decreasing"}},

      // What layers do to each other and to the loss.
      {"poor_initialization", {"loss_not_decreasing"}},
      {"poor_initialization", {"non_finite"}, Strength::hint},
      {"unchanged_parameter", {"update_ratio", "loss_not_decreasing"}},
      {"gradient_underflow", {"loss_not_decreasing"}},
      {"vanishing_gradient", {"update_ratio", "loss_not_decreasing"}},
      {"exploding_gradient", {"update_ratio", "loss_not_decreasing"}},
      {"dead_units", {"update_ratio", "loss_not_decreasing"}},
      {"saturated_activation", {"update_ratio", "loss_not_decreasing"}},
      {"constant_output", {"update_ratio", "loss_not_decreasing"}},
      {"loss_spike", {"update_ratio", "loss_not_decreasing"}},
      {"loss_oscillating", {"update_ratio", "loss_not_decreasing"}},
      {"diverging_loss", {"update_ratio", "loss_not_decreasing"}},
  };
  return table;
}

const Cause* link_between(const Observation& cause, const Observation& effect) {
  const auto found = std::find_if(causes().begin(), causes().end(), [&](const Cause& each) {
    const auto is_effect = [&](const char* name) { return std::strcmp(name, effect.rule) == 0; };
    const bool is_bad_enough = each.strength != Strength::likely ||
                               (cause.severity > LOUPE_SEVERITY_INFO && cause.severity >= effect.severity);
    return std::strcmp(each.rule, cause.rule) == 0 && is_bad_enough &&
           std::any_of(each.effects.begin(), each.effects.end(), is_effect) &&
           is_of_one_model(cause.module, effect.module) && (each.agrees == nullptr || each.agrees(cause, effect));
  });
  return found != causes().end() ? &*found : nullptr;
}

}  // namespace loupe::health
