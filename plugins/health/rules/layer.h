#pragma once

#include <loupe/detail/tensor.h>
#include <loupe/event.h>
#include <loupe/lens.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "health/rules/alikeness.h"

namespace loupe::health {

/// The kinds of layers that the rules distinguish.
enum class Role { linear, convolution, normalization, rectifier, bounded, dropout, softmax, other };

Role role_of(const Module& module);
/// The bounds of a bounded activation's outputs: 0 or -1 to 1.
struct Bounds {
  double low, high;
};
Bounds bounds_of(const std::string& type);

constexpr int64_t looked_at_first = 4;  ///< the first events of a window, which are all measured

/// One module or function: what it did since the last step, and over the window. Under its model's mutex.
struct Layer {
  explicit Layer(const Module& shown);

  const loupe_module* module;
  std::string name, type;
  Role role;
  bool is_batch_norm;
  bool takes_time_first;    ///< a recurrent layer whose options do not set batch_first
  double running_momentum;  ///< share of a batch's statistics in a batch norm's running ones; 0 if it keeps none
  bool shows_non_finite;    ///< a NaN, or a harmful Inf, in its input shows in its output
  bool only_passes_on;      ///< NaN and Inf in its output come from its input
  bool only_selects;        ///< its output holds only elements of its input
  uint64_t first_run = 0;   ///< its position in the order of first runs, from 1; 0: it has not run

  uint64_t trained_at = 0;  ///< Model::step_now when it last ran in training

  // It ran in evaluation mode: without gradients since the last tick, or with gradients ever.
  bool was_evaluated = false, learns_in_evaluation = false;

  // At the first step: the mean over the units of each unit's variance over the batch.
  double start_variance = 0;
  int64_t start_looks = 0;

  bool may_be_added_up = false;  ///< its model's tally may add it up, according to the last fully measured step
  bool is_added_up = false;      ///< it is added up, so its elements are not read
  bool lacks_input = false;      ///< its events come without it

  // Over the window.
  bool knows_life = false;     ///< enough units were active
  std::vector<uint8_t> alive;  ///< whether each unit was ever active
  int64_t alive_units = 0, looks = 0, samples = 0;
  int64_t bounded_seen = 0, bounded_pressed = 0;
  int64_t variation_looks = 0, constant_looks = 0,
          varied_looks = 0;    ///< counted in neither of the last two if its input did not vary
  double constant_spread = 0;  ///< the spread of its rows if it was constant: a share of their size

  // Over the run.
  bool was_judged = false, began_saturated = false;
  double silent_at_first = NAN;  ///< share of the units that were silent in the run's first batch; NaN: not measured
  uint32_t frozen_epochs =
      0;  ///< epochs in a row in which a batch norm ran in training and nothing changed its parameters
  uint32_t lone_softmax_runs = 0;  ///< runs in a row with a softmax over one element
  Alikeness alike;

  /// Its neighbours in the training passes of a fully measured step.
  struct Neighbours {
    Layer* from = nullptr;         ///< the layer whose output was always its unchanged input
    Layer* to = nullptr;           ///< the layer that took its output unchanged
    uint32_t runs = 0, taken = 0;  ///< how often it ran, and how often that layer took its output
    bool steady = true;            ///< the neighbours were always the same
    bool has_one_input = true;
    bool has_varied = false;       ///< its output varied with its input
    bool was_constant = false;     ///< its output was constant although its input varied
    bool has_small_input = false;  ///< compared with its output
  } neighbours;
  bool wavers = false;  ///< its neighbours were not always the same
  const Layer *usual_from = nullptr, *usual_to = nullptr;
  bool has_usual = false;
  Source outputs;                       ///< the stream of its output
  Source device_outputs, device_looks;  ///< the same on a device: the measurements, and a notice that it ran
  uint32_t rests = 0;                   ///< LOUPE_REST_ bits of these sources

  /// Forgets detached neighbours.
  void forget_detached() {
    const auto is_gone = [](const Layer* layer) { return layer != nullptr && layer->module == nullptr; };
    if (is_gone(neighbours.from)) neighbours.from = nullptr;
    if (is_gone(neighbours.to)) neighbours.to = nullptr;
    if (neighbours.to == nullptr) neighbours.taken = 0;
    if (is_gone(usual_from) || is_gone(usual_to)) has_usual = false;
    if (is_gone(alike.code.other)) alike.code = {};
  }
  /// The measured layer whose output, or a part of it, is this layer's input while it rests; itself if its own input is
  /// measured.
  const Layer* last_seen_before() const {
    const Layer* layer = this;
    while (layer != nullptr && (layer->rests & LOUPE_REST_EVENTS) != 0) layer = layer->neighbours.from;
    return layer;
  }
  /// The number of steps until its elements, which change slowly, are read again; 0: not in this window.
  uint32_t look_interval() const {
    constexpr int64_t many_samples = 256;
    constexpr uint32_t often = 4;
    const uint32_t seldom = may_be_added_up ? 32 : 16;  // in addition to each fully measured step
    if (role == Role::bounded) return often;
    if (role == Role::rectifier) return knows_life ? 0 : samples < many_samples ? often : seldom;
    if (varied_looks > 0) return 0;  // it is not constant
    return variation_looks < looked_at_first ? often : seldom;
  }
  /// Whether its elements are read in the event of this number.
  bool is_time(uint64_t event) const {
    if (may_be_added_up) return !is_added_up;
    if (role == Role::rectifier && looks < looked_at_first) return true;
    const uint32_t interval = look_interval();
    return interval != 0 && event % interval == 1;
  }
  /// Whether it is a layer over series, such as Conv1d: its batches have samples, channels and times.
  bool is_over_series() const { return type.find("1d") != std::string::npos; }
  /// Whether its results may overflow.
  bool is_maker() const { return (role == Role::linear || role == Role::convolution) && !only_selects; }
  /// Whether its output was the same for all inputs often enough.
  bool is_constant() const {
    constexpr int64_t enough = 2;
    return varied_looks == 0 && (constant_looks >= enough || (rests != 0 && neighbours.was_constant));
  }
  void next_window() {
    knows_life = false;
    alive.assign(alive.size(), 0);
    alive_units = looks = samples = bounded_seen = bounded_pressed = 0;
    variation_looks = constant_looks = varied_looks = 0;
    alike.next_window();
  }
};

/// One parameter of one module. Under its model's mutex. The members that each step uses are together at the beginning,
/// because the model evicts the caches between two events.
struct alignas(64) ParameterState {
  // Since the last step.
  uint64_t seen_at = 0;  ///< Model::step_now at the last update of the members below
  double gradient_norm = 0, change_norm = 0, norm = 0;
  uint32_t gradients_of_step = 0;  ///< the number of gradients in its last step
  uint32_t gradients = 0;
  bool stepped = false, not_cleared = false, is_finite = true, has_change = false;
  bool is_sampled = false;  ///< the change is estimated from some of the elements
  bool clipped_early = false;
  bool is_unused = false, is_reused = false;  ///< its gradient: no step has used it; this step is not the first

  bool is_low_precision = false;
  const loupe_parameter* parameter = nullptr;  ///< null once it is detached
  bool is_added_up = false;                    ///< its model's tallies add it up, while nothing is unusual
  bool rests = false;                          ///< its gradient rests while it is added up

  // Over the window.
  double gradient_norm_sum = 0, ratio_sum = 0, largest_ratio = 0, largest_change = 0;
  uint64_t gradient_count = 0, ratio_count = 0, change_count = 0;

  // Over the run.
  uint64_t steps = 0, steps_with_gradient = 0;
  uint32_t unoptimized_steps = 0, cut_off_steps = 0;  ///< the numbers of such steps in a row
  uint64_t unoptimized_hash = 0;                      ///< hash of its values at the first unoptimized step; 0: not read
  bool changes_elsewhere = false;                     ///< although no optimizer holds it
  uint64_t seen_gradients = 0, nonzero_gradients = 0;
  uint64_t telling_gradients = 0;  ///< the number of steps in which no weight of the model was all zeros
  bool told_of_zeros = false;      ///< all of its first gradients were 0
  bool told_unreached = false;     ///< it got no gradient while each step was measured
  double largest_gradient = 0;     ///< norm, of all steps so far
  bool ever_changed = false;       ///< it changed from one tick to the next
  double first_norm = 0;           ///< the norm after the first step
  bool has_device_change = false;  ///< a change on a device was measured; it comes after later steps were counted
  bool began_at_zero = false;      ///< it began at 0, so its first steps are larger than its norm

  const loupe_module* module = nullptr;  ///< null once it is detached
  std::size_t index = 0;                 ///< its index in the module's parameters
  // Returns its current flags; null for a record.
  const loupe_parameter_service* service = nullptr;
  void* host = nullptr;
  std::string layer, name;
  const Layer* runs = nullptr;  ///< its module's layer; null if its runs are not seen
  Source gradient_source, step_source;
  Source device_gradient_look;  ///< a source of the same stream as the first source
  /// The numbers of 16-bit elements with a gradient that were read, and that did not change.
  int64_t low_precision_seen = 0, low_precision_unchanged = 0;

  bool is(uint32_t flag) const {
    if (parameter == nullptr) return false;
    uint32_t flags = parameter->flags;
    if (service != nullptr) service->flags(host, module, index, &flags, nullptr);
    return (flags & flag) != 0;
  }
  /// Whether gradients pass through it, as through a weight or a scale, unless it is all zeros.
  bool passes_gradients() const { return is_matrix() || name.find("bias") == std::string::npos; }
  /// Whether it began at zero, and is still far smaller than the usual initial weights of its shape.
  bool is_still_small() const {
    constexpr double far = 0.1;
    if (!began_at_zero || !passes_gradients() || parameter == nullptr || parameter->numel == 0) return false;
    const int64_t units = is_matrix() ? parameter->sizes[0] : parameter->numel;
    return norm < far * std::sqrt(static_cast<double>(units));  // usual weights have rows with a norm near 1
  }
  bool is_matrix() const { return parameter != nullptr && parameter->dim >= 2; }
  /// Whether elements outside the sample may have changed: an embedding changes only in the rows that were used.
  bool may_change_unseen() const {
    if (!is_sampled || module == nullptr) return is_sampled;
    const uint32_t family = module->family;
    return family != LOUPE_FAMILY_LINEAR && family != LOUPE_FAMILY_CONVOLUTION && family != LOUPE_FAMILY_RECURRENT &&
           family != LOUPE_FAMILY_ATTENTION;
  }
  /// Whether the step replaced nearly all of a weight that was not zero.
  bool is_replaced() const {
    constexpr double nearly_all = 0.95;
    return has_change && change_norm > nearly_all * norm && !is_all_new(change_norm);
  }
  /// Whether the weight was zero before this change.
  bool is_all_new(double change) const {
    const double tolerance = is_sampled ? 0.05 : 1e-6;  // ten times the error of an estimate, and of a rounded norm
    return std::abs(norm - change) <= tolerance * norm;
  }
  void take_gradient(double gradient) {
    if (!std::isfinite(gradient)) return;
    gradient_norm_sum += gradient;
    ++gradient_count;
  }
  /// Takes the norm of a step's change; `norm` must be from the same step.
  void take_change(double change, bool is_first) {
    largest_change = std::max(largest_change, change);
    ++change_count;
    if (is_first) began_at_zero = is_all_new(change);
    if (!(norm > 0)) return;
    if (is_first) first_norm = norm;
    ratio_sum += change / norm;
    largest_ratio = std::max(largest_ratio, change / norm);
    ++ratio_count;
  }
  /// The mean over the window without its largest step: loading weights is not an optimizer step.
  double mean_ratio() const { return (ratio_sum - largest_ratio) / static_cast<double>(ratio_count - 1); }
  /// Begins the current step. Called when an event comes or the parameter is judged.
  void follow(uint64_t step_now) {
    if (seen_at == step_now) return;
    seen_at = step_now;
    gradients = 0;
    stepped = not_cleared = has_change = clipped_early = false;
    is_finite = true;
    if (is_low_precision) low_precision_seen = low_precision_unchanged = 0;
  }
  void next_window() {
    gradient_norm_sum = ratio_sum = largest_ratio = largest_change = 0;
    gradient_count = ratio_count = change_count = 0;
  }
};

}  // namespace loupe::health
