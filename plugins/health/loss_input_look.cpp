#include <loupe/draft/abi/loss_input.h>
#include <loupe/event.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "health/rules/elements.h"
#include "health/rules/rule.h"
#include "health/watches.h"

namespace loupe::health {
namespace {

using Kind = LossFault::Kind;
constexpr int64_t most_rows = 8;  // enough rows: scores are not a distribution in all of them by chance

/// The names are in the order of LOUPE_DRAFT_LOSS_CROSS_ENTROPY and the constants after it.
const char* name_of(uint32_t function) {
  constexpr std::array names = {"cross_entropy",
                                "nll_loss",
                                "mse_loss",
                                "l1_loss",
                                "smooth_l1_loss",
                                "huber_loss",
                                "binary_cross_entropy",
                                "binary_cross_entropy_with_logits",
                                "kl_div"};
  static_assert(LOUPE_DRAFT_LOSS_KL_DIV >> LOUPE_DRAFT_SHIFT == static_cast<int>(names.size()));
  const std::size_t number = function >> LOUPE_DRAFT_SHIFT;
  return number == 0 || number > names.size() ? "kl_div" : names[number - 1];
}

/// Sums along one dimension: over the classes of a sample, or over the samples of a class. Exponentials are slow, and
/// are added up only on demand.
struct Sums {
  double smallest = INFINITY, largest = -INFINITY;
  double smallest_sum = INFINITY, largest_sum = -INFINITY;          ///< sums of the elements
  double smallest_exp_sum = INFINITY, largest_exp_sum = -INFINITY;  ///< sums of their exponentials
  bool has_nan = false;
  bool are_positive() const { return smallest >= 0 && !has_nan; }
  bool add_up_to_one(double tolerance) const {
    return are_positive() && smallest_sum > 1 - tolerance && largest_sum < 1 + tolerance;
  }
};

/// Scores of the shape (samples, classes, ...) or (classes).
struct Scores {
  explicit Scores(const Elements& elements_) : elements(elements_) {
    const int64_t at = elements.dim() > 1 ? 1 : 0;
    classes = elements.size(at);
    samples = at == 1 ? elements.size(0) : 1;
    for (int64_t d = at + 1; d < elements.dim(); ++d) inner *= elements.size(d);
  }
  double at(int64_t sample, int64_t c) const { return elements.at((sample * classes + c) * inner); }
  /// The class with the highest score of a sample, at a position within it.
  int64_t highest(int64_t sample, int64_t place) const {
    const int64_t first = sample * classes * inner + place;
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c) {
      if (elements.at(first + c * inner) > elements.at(first + best * inner)) best = c;
    }
    return best;
  }
  Sums over_classes(bool with_exponentials) const {
    return sums(std::min(most_rows, samples), classes, with_exponentials,
                [this](int64_t row, int64_t c) { return at(row, c); });
  }
  Sums over_samples(bool with_exponentials) const {
    return sums(std::min(most_rows, classes), samples, with_exponentials,
                [this](int64_t c, int64_t row) { return at(row, c); });
  }

  const Elements& elements;
  int64_t samples, classes, inner = 1;

 private:
  template <class At>
  static Sums sums(int64_t lines, int64_t length, bool with_exponentials, At&& at) {
    Sums sums;
    for (int64_t line = 0; line < lines; ++line) {
      double sum = 0, exp_sum = 0;
      for (int64_t i = 0; i < length; ++i) {
        const double value = at(line, i);
        sum += value;
        if (with_exponentials) exp_sum += std::exp(value);
        sums.smallest = std::min(sums.smallest, value);
        sums.largest = std::max(sums.largest, value);
      }
      sums.has_nan = sums.has_nan || std::isnan(sum);
      sums.smallest_sum = std::min(sums.smallest_sum, sum);
      sums.largest_sum = std::max(sums.largest_sum, sum);
      sums.smallest_exp_sum = std::min(sums.smallest_exp_sum, exp_sum);
      sums.largest_exp_sum = std::max(sums.largest_exp_sum, exp_sum);
    }
    return sums;
  }
};

/// A dimension's size, counted from the last one, before LibTorch repeated it: a stride of 0 means one element.
int64_t own_size(const loupe_tensor& tensor, int64_t from_end) {
  const int64_t d = tensor.dim - 1 - from_end;
  return d < 0 || tensor.strides[d] == 0 ? 1 : tensor.sizes[d];
}

std::string shape_of(const loupe_tensor& tensor) {
  std::string text;
  for (int64_t i = tensor.dim - 1; i >= 0; --i)
    text += (text.empty() ? "" : ", ") + std::to_string(own_size(tensor, i));
  return "[" + text + "]";
}

/// Whether any of the first targets differs from the first of all.
bool differ(const Elements& targets) {
  if (!targets.readable() || targets.dim() == 0) return false;
  const int64_t few = std::min(most_rows, targets.size(0));
  if (few == 0 || targets.count() == 0) return false;
  const int64_t columns = targets.count() / targets.size(0);
  for (int64_t row = 1; row < few; ++row) {
    if (targets.at(row * columns) != targets.at(0)) return true;
  }
  return false;
}

void look_at_shapes(const Event& event, LossFault& fault) {
  if (event.input_count() < 2) return;
  const loupe_tensor &input = *event.input(0).raw(), &target = *event.input(1).raw();
  int64_t all = 1, of_input = 1, of_target = 1;
  for (int64_t i = 0; i < std::max(input.dim, target.dim); ++i) {
    const int64_t a = own_size(input, i), b = own_size(target, i);
    if (a != b && a != 1 && b != 1) return;
    all *= std::max(a, b);
    of_input *= a;
    of_target *= b;
  }
  if (of_input < 2 || of_target < 2) return;  // one number for all is intended
  if (all == of_target && all == of_input) return;
  fault.kind = all > of_input ? Kind::broadcast : Kind::target_repeated;
  fault.given =
      sentence("an input of ", shape_of(input), " and a target of ", shape_of(target), ": it compares ", all, " pairs");
}

/// @param with_exponentials  also checks whether exponentials add up to 1, which takes longer
void look_at_logarithms(const Elements& input, bool with_exponentials, LossFault& fault) {
  if (!input.readable() || !input.floating() || input.dim() == 0 || input.count() == 0) return;
  const double tolerance = input.is_low_precision() ? 0.05 : 1e-3;
  const Scores scores(input);
  const Sums sums = scores.over_classes(with_exponentials);
  if (sums.has_nan || std::isinf(sums.largest)) return;
  const auto range = [&] { return "numbers from " + number(sums.smallest) + " to " + number(sums.largest); };
  constexpr double rounding = 1e-4, clearly = 0.1;
  if (scores.classes > 1 && sums.add_up_to_one(tolerance)) {
    fault.given = range() + " that add up to 1 in each sample, as probabilities do";
  } else if (sums.are_positive() && scores.samples > 1 && scores.over_samples(false).add_up_to_one(tolerance)) {
    fault.given = range() + " that add up to 1 over the batch, as after a softmax over dimension 0";
  } else if (sums.largest > rounding + tolerance) {
    fault.given = range() + ", but logarithms of probabilities are at most 0";
  } else if (!with_exponentials || (sums.largest_exp_sum < 1 + clearly && sums.smallest_exp_sum > 1 - clearly)) {
    return;
  } else {
    const Sums over_samples = scores.over_samples(true);
    fault.given = range() + " whose exponentials add up to " + number(sums.largest_exp_sum) +
                  " in a sample, but those of a distribution add up to 1";
    if (scores.samples > 1 && std::abs(over_samples.largest_exp_sum - 1) < tolerance &&
        std::abs(over_samples.smallest_exp_sum - 1) < tolerance)
      fault.given =
          "logarithms of probabilities that add up to 1 over the batch, as after a log_softmax over dimension 0";
  }
  fault.kind = Kind::no_logarithms;
}

/// The lower bound of the loss with scores from `low` to `high`: `high` for the right class and `low` for the others.
double floor_of_cross_entropy(int64_t classes, double low, double high) {
  return std::log1p(static_cast<double>(classes - 1) * std::exp(low - high));
}

/// The bounded function of this LOUPE_DRAFT_LOSS_MADE_BY_; null for any other.
const char* name_of_maker(uint32_t maker) {
  switch (maker) {
    case LOUPE_DRAFT_LOSS_MADE_BY_SIGMOID:
      return "sigmoid";
    case LOUPE_DRAFT_LOSS_MADE_BY_SOFTMAX:
      return "softmax";
    case LOUPE_DRAFT_LOSS_MADE_BY_TANH:
      return "tanh";
    case LOUPE_DRAFT_LOSS_MADE_BY_RELU:
      return "ReLU";
    default:
      return nullptr;
  }
}

void look_at_maker(uint32_t maker, int64_t classes, LossFault& fault) {
  const bool is_tanh = maker == LOUPE_DRAFT_LOSS_MADE_BY_TANH, is_relu = maker == LOUPE_DRAFT_LOSS_MADE_BY_RELU;
  const char* name = name_of_maker(maker);
  if (name == nullptr) return;
  fault.kind = is_relu ? Kind::rectified : Kind::bounded;
  fault.maker = name;
  fault.given = sentence("the output of a ", name, ", but it takes unbounded scores");
  if (classes > 1 && !is_relu) fault.floor = floor_of_cross_entropy(classes, is_tanh ? -1 : 0, 1);
}

void look_at_scores(const Elements& input, uint32_t maker, LossFault& fault) {
  if (!input.readable() || !input.floating() || input.dim() == 0 || input.count() == 0) return;
  const Scores scores(input);
  if (scores.classes == 1) {
    fault.kind = Kind::one_class;
    fault.given = "one score a sample";
    return;
  }
  // Logarithms of a distribution are harmless: their softmax is the distribution again.
  const double tolerance = input.is_low_precision() ? 0.05 : 1e-3;
  if (input.dim() > 1 && scores.over_classes(false).add_up_to_one(tolerance)) {
    fault.kind = Kind::distribution;
    return;
  }
  look_at_maker(maker, scores.classes, fault);
}

/// The cross entropy of a few samples, fewer with many classes; NaN unless targets are whole numbers.
double cross_entropy_of(const Elements& input, const Elements& targets) {
  constexpr int64_t few = 32, most_scores = 8192;
  if (!input.readable() || input.dim() != 2 || targets.dim() != 1) return NAN;
  const int64_t samples = std::min({few, input.size(0), 1 + most_scores / std::max<int64_t>(1, input.size(1))});
  const MeanLoss found = mean_cross_entropy(input, targets, samples);
  return found.count == samples ? found.mean : NAN;
}

/// Takes some pairs of outputs and targets of one shape.
void compare(const Elements& input, const Elements& targets, const LossFault& loss, bool is_mse, uint32_t maker,
             Model& model) {
  if (!input.readable() || !targets.readable() || !targets.floating() || input.count() != targets.count()) return;
  constexpr int64_t few = 128;
  const int64_t stride = 1 + (input.count() - 1) / few;
  UnreachableTargets& unreachable = model.passing.unreachable;
  const char* bounded_by = name_of_maker(maker);
  if (bounded_by != nullptr) {
    if (bounded_by != unreachable.maker) unreachable = {};
    unreachable.function = loss.function;
    unreachable.maker = bounded_by;
    unreachable.low = maker == LOUPE_DRAFT_LOSS_MADE_BY_TANH ? -1 : 0;
    if (maker != LOUPE_DRAFT_LOSS_MADE_BY_RELU) unreachable.high = 1;
    ++unreachable.looks;
  }
  for (int64_t place = 0; place < input.count(); place += stride) {
    const double output = input.at(place), target = targets.at(place);
    if (bounded_by != nullptr) unreachable.take(target);
    if (is_mse) model.guessing.take_pair(output, target);
    model.target_tally.take_pair(output, target);
  }
  if (is_mse) model.guessing.take_look();
  model.target_tally.take_look(loss.function);
}

/// Mixes the bits of a number.
uint64_t mixed(uint64_t number) {
  number = (number + 1) * 0x9e3779b97f4a7c15;
  return (number ^ number >> 32) * 0xd6e8feb86659fd93 >> 8;
}

/// Some targets of a loss over classes, each with the class of the highest score.
struct Answers {
  static constexpr int64_t most = 64;
  std::array<int64_t, most> targets{}, answers{};
  int64_t count = 0, classes = 0, right = 0;

  /// @param look  a number that differs between measurements, so that each reads other positions
  Answers(const Elements& input, const Elements& labels, uint64_t look) {
    constexpr int64_t most_scores = 8192;
    if (!input.readable() || !input.floating() || input.dim() < 2 || input.count() == 0) return;
    if (!labels.readable() || labels.floating() || labels.dim() == 0) return;
    const Scores scores(input);
    if (labels.size(0) != scores.samples || labels.count() != scores.samples * scores.inner) return;
    classes = scores.classes;
    const int64_t taken = std::min({most, labels.count(), 1 + most_scores / classes});
    const auto shift = static_cast<int64_t>(mixed(look) % static_cast<uint64_t>(labels.count()));
    for (int64_t i = 0; i < taken; ++i) {
      const int64_t place = (scattered_place(i, taken, labels.count()) + shift) % labels.count();
      const auto target = static_cast<int64_t>(labels.at(place));
      if (target < 0 || target >= classes) continue;  // such as -100, which is ignored by default
      const auto at = static_cast<std::size_t>(count++);
      targets[at] = target;
      answers[at] = scores.highest(place / scores.inner, place % scores.inner);
      right += answers[at] == target ? 1 : 0;
    }
  }
};

}  // namespace

/// The maker, and sums of exponentials, do not change between steps. All parts of a step are measured, since they may
/// differ in kind, and the number of steps between two measurements varies, to avoid the length of a cycle. Unmeasured
/// steps also count.
bool LossInputLook::is_time(const Event& event) {
  constexpr uint64_t at_first = 8, fewest_between = 5, more_between = 7, most_parts = 64;
  if (event.step() != last_time_) {
    if (event.number() >= at_first && event.step() < next_time_) return false;
    last_time_ = event.step();
    next_time_ = last_time_ + fewest_between + mixed(last_time_) % more_between;
    parts_ = 0;
  }
  return ++parts_ <= most_parts;
}

void LossInputLook::process(const Event& event) {
  if (!event.grad_enabled()) {
    watched_.passes.evaluates_losses = true;
    return;
  }
  if ((event.raw()->flags & LOUPE_DRAFT_LOSS_FUNCTION_MASK) == LOUPE_DRAFT_LOSS_LIKENESS) {
    model_.compares_outputs = true;
    return;
  }
  const bool has_different_targets = event.input_count() > 1 && differ(Elements(event.input(1).raw()));
  const Elements input(event.tensor().raw());
  const uint32_t flags = event.raw()->flags;
  const uint32_t function = flags & LOUPE_DRAFT_LOSS_FUNCTION_MASK, maker = flags & LOUPE_DRAFT_LOSS_MADE_BY_MASK;
  const bool is_time = this->is_time(event);
  LossFault fault;
  fault.function = name_of(function);
  const bool is_elementwise = function != LOUPE_DRAFT_LOSS_CROSS_ENTROPY && function != LOUPE_DRAFT_LOSS_NLL;
  if (is_elementwise) look_at_shapes(event, fault);
  if (fault.kind != Kind::none) {
    // the fault is known already
  } else if (function == LOUPE_DRAFT_LOSS_CROSS_ENTROPY) {
    look_at_scores(input, is_time ? maker : 0, fault);
  } else if (function == LOUPE_DRAFT_LOSS_NLL || function == LOUPE_DRAFT_LOSS_KL_DIV) {
    look_at_logarithms(input, function == LOUPE_DRAFT_LOSS_NLL && is_time, fault);
  } else if (function == LOUPE_DRAFT_LOSS_BINARY_CROSS_ENTROPY_WITH_LOGITS) {
    look_at_maker(is_time ? maker : 0, 0, fault);
  }
  const bool is_swapped = (flags & LOUPE_DRAFT_LOSS_TARGET_ALONE_HAS_GRADIENT) != 0;
  if (fault.kind == Kind::none && is_swapped && is_elementwise) {
    fault.kind = Kind::swapped;
    fault.given = "a target that requires a gradient, and an input that does not";
  }
  const bool takes_classes = function == LOUPE_DRAFT_LOSS_CROSS_ENTROPY || function == LOUPE_DRAFT_LOSS_NLL;
  const bool is_compared = is_time && event.input_count() > 1 && fault.kind == Kind::none;
  const bool is_a_distance = function == LOUPE_DRAFT_LOSS_MSE || function == LOUPE_DRAFT_LOSS_L1 ||
                             function == LOUPE_DRAFT_LOSS_SMOOTH_L1 || function == LOUPE_DRAFT_LOSS_HUBER;
  model_.compares_targets = true;
  if (takes_classes) model_.compares_classes = true;
  if (is_a_distance) model_.compares_numbers = true;
  // This also serves nll_loss: logarithms of probabilities are also scores.
  const double loss = is_compared && takes_classes ? cross_entropy_of(input, Elements(event.input(1).raw())) : NAN;
  // With weights or ignored targets, the real loss differs from that of these samples.
  const bool all_count = (flags & LOUPE_DRAFT_LOSS_CHOOSES_TARGETS) == 0;
  std::optional<Answers> answers;
  if (is_compared && takes_classes && all_count) answers.emplace(input, Elements(event.input(1).raw()), event.number());
  const bool has_targets = event.input_count() > 1;
  watched_.passes.expect(takes_classes && has_targets && watched_.passes.wants_means()
                             ? mean_cross_entropy(input, Elements(event.input(1).raw()))
                             : MeanLoss{});
  const std::lock_guard lock(model_.mutex);
  model_.passing.take_loss(
      event, {function, fault.function, loss, answers ? answers->count : 0, answers ? answers->right : 0});
  if (event.number() == 0 && function == LOUPE_DRAFT_LOSS_CROSS_ENTROPY && !std::isnan(loss)) {
    model_.first_cross_entropy = loss;
    model_.classes = input.size(1);
  }
  // A model that acts between its steps, or that teaches another one, makes its own targets.
  if (is_compared && model_.step.passes_without_grad == 0) {
    if (std::isfinite(loss) && all_count) model_.guessing.take_cross_entropy(loss, input.size(1));
    const bool is_mse = function == LOUPE_DRAFT_LOSS_MSE;
    if (is_a_distance) compare(input, Elements(event.input(1).raw()), fault, is_mse, maker, model_);
    if (answers.has_value() && answers->count > 0) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(answers->count); ++i)
        model_.target_tally.take_class(answers->targets[i], answers->answers[i], answers->classes);
      model_.target_tally.take_look(fault.function);
    }
  }
  model_.step.has_different_targets = model_.step.has_different_targets || has_different_targets;
  if (event.input_count() > 1 && event.input(1).dim() > 0) {
    model_.step.targets = event.input(1).size(0);
    model_.step.target_columns = event.input(1).dim() > 1 ? event.input(1).size(1) : 0;
  }
  if (fault.kind == Kind::none) return;
  if (model_.step.loss_fault.kind == Kind::none) model_.step.loss_fault = std::move(fault);
}

}  // namespace loupe::health
