// Reasons that lie in the loss, found in the gradients of outputs.

#include <loupe/files/fingerprint.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "port/numbers.h"
#include "port/reasons.h"

namespace loupe::port {

namespace {

constexpr double near_enough = 1e-3;

bool is_close(double value, double wanted, double scale) {
  return std::abs(value - wanted) <= near_enough * scale;
}

std::vector<double> changes(const Tensor& a, const Tensor& b) {
  std::vector<double> all;
  for (std::size_t i = 0; i < a.values.size(); ++i) all.push_back(b.values[i] - a.values[i]);
  return all;
}

double samples_of(const Tensor& tensor, std::size_t classes) {
  return static_cast<double>(tensor.numel()) / static_cast<double>(tensor.shape[classes]);
}

/// Whether the gradients of a cross entropy's inputs differ by 1 at two classes of some samples, and nowhere else.
bool have_other_targets(const Tensor& a, const Tensor& b, std::size_t classes) {
  const std::vector<double> all = changes(a, b);
  double most = 0;
  for (const double each : all) most = std::max(most, std::abs(each));
  if (!are_near(most * samples_of(a, classes), 1) && !are_near(most, 1)) return false;
  if (!is_close(a.sum, b.sum, most)) return false;
  const auto is_step = [&](double change) {
    return is_close(std::abs(change), 0, most) || is_close(std::abs(change), most, most);
  };
  return std::all_of(all.begin(), all.end(), is_step) &&
         std::count_if(all.begin(), all.end(), [&](double each) { return !is_close(each, 0, most); }) >= 2;
}

/// The label smoothing that the second has in addition; nullopt if that does not explain the difference.
std::optional<double> more_smoothing(const Tensor& a, const Tensor& b, std::size_t classes) {
  const auto count = static_cast<double>(a.shape[classes]);
  const std::vector<double> all = changes(a, b);
  if (count < 3) return std::nullopt;
  // All classes get an equal part of the loss of the target.
  const double part = *std::min_element(all.begin(), all.end(),
                                        [](double one, double other) { return std::abs(one) < std::abs(other); });
  const double lost = -(count - 1) * part;
  std::size_t targets = 0;
  for (const double each : all) {
    const bool is_target = is_close(each, lost, std::abs(lost));
    if (!is_target && !is_close(each, part, std::abs(lost))) return std::nullopt;
    targets += is_target ? 1 : 0;
  }
  for (const double samples : {samples_of(a, classes), 1.0}) {
    const double more = -part * count * samples, rounded = std::round(more * 1000) / 1000;
    const bool is_plain = rounded != 0 && std::abs(rounded) < 1 && is_close(more, rounded, std::abs(rounded));
    if (targets > 0 && targets < all.size() && is_plain) return rounded;
  }
  return std::nullopt;
}

/// The factor between the gradients of each sample, infinite if only the second has a gradient; empty if a sample has
/// several factors, or all samples have the same one.
std::vector<double> factors_of_samples(const Tensor& a, const Tensor& b, std::size_t classes) {
  int64_t stride = 1;
  for (std::size_t d = classes + 1; d < a.shape.size(); ++d) stride *= a.shape[d];
  const std::vector<int64_t> positions = fingerprint_positions(a.shape);
  std::map<int64_t, std::vector<double>> by_sample;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double one = a.values[i], other = b.values[i];
    const bool has_one = std::abs(one) > near_enough * a.rms(), has_other = std::abs(other) > near_enough * b.rms();
    if (!has_one && !has_other) continue;
    const int64_t sample = positions[i] / (stride * a.shape[classes]) * stride + positions[i] % stride;
    by_sample[sample].push_back(one != 0 ? other / one : infinity);
  }
  std::vector<double> factors;
  std::size_t shown = 0;
  for (const auto& [sample, own] : by_sample) {
    for (const double each : own) {
      if (each != own[0] && !is_close(each, own[0], std::abs(own[0]))) return {};
    }
    shown += own.size() > 1 ? 1 : 0;
    factors.push_back(own[0]);
  }
  const bool differ = std::any_of(factors.begin(), factors.end(), [&](double each) {
    return each != factors[0] && !is_close(each, factors[0], std::abs(factors[0]));
  });
  return differ && shown >= 3 ? factors : std::vector<double>();
}

}  // namespace

/// Finds how the losses differ, from the gradient of the last output. The records depart in the loss.
bool Reasons::loss_by_gradient(uint64_t step) {
  const auto gradient = std::find_if(first_.tensors.begin(), first_.tensors.end(), [&](const Tensor& each) {
    return each.step == step && each.is("output_gradient") && counterpart(&each) != nullptr;
  });
  if (gradient == first_.tensors.end()) return false;
  const Tensor &a = *gradient, &b = *counterpart(&a);
  if (a.shape != b.shape || a.shape.size() < 2 || a.numel() == 0 || a.non_finite + b.non_finite > 0) return false;
  const std::string subject = "the gradient of the output of '" + a.module + "'";
  for (const std::size_t classes : {std::size_t{1}, a.shape.size() - 1}) {
    if (a.shape[classes] < 2) continue;
    if (have_other_targets(a, b, classes))
      return found("other targets: " + subject + " differs as if a cross entropy had other classes for some samples");
    if (const auto more = more_smoothing(a, b, classes))
      return found("label smoothing is " + rounded_text(std::abs(*more)) + " more in " +
                   (*more > 0 ? second_ : first_).called + ", by " + subject);
    const std::vector<double> factors = factors_of_samples(a, b, classes);
    if (factors.empty()) continue;
    const bool first_lacks = std::any_of(factors.begin(), factors.end(), [](double each) { return std::isinf(each); });
    const bool second_lacks = std::any_of(factors.begin(), factors.end(), [](double each) { return each == 0; });
    if (first_lacks != second_lacks) {
      say("some samples have no part in the loss of " + (first_lacks ? first_ : second_).called +
          ": ignore_index, or a mask, only there");
    } else {
      say(subject + " has a different factor for each sample: weights of classes or samples in only one");
    }
    return true;
  }
  return false;
}

namespace {

/// The difference between the gradients of two outputs as a multiple of the output, as for the means of a KL divergence
/// from a standard normal distribution, and of exp(x) - 1, as for the logarithms of its variances.
struct Multiples {
  std::optional<double> mean, variance;
};

/// The factor of the multiple, from elements at the same places; nullopt if they are no multiple.
std::optional<double> multiple_of(const std::vector<double>& values, const std::vector<double>& of, bool is_variance) {
  constexpr double fits = 1e-3;
  constexpr std::size_t fewest = 4;
  double products = 0, squares = 0, size = 0;
  const auto base = [&](double value) { return is_variance ? std::expm1(value) : value; };
  for (std::size_t i = 0; i < of.size(); ++i) {
    products += base(of[i]) * values[i];
    squares += base(of[i]) * base(of[i]);
    size += values[i] * values[i];
  }
  if (of.size() < fewest || squares == 0 || products == 0 || !std::isfinite(products)) return std::nullopt;
  const double factor = products / squares, rms = std::sqrt(size / static_cast<double>(of.size()));
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (std::abs(factor * base(of[i]) - values[i]) > fits * rms) return std::nullopt;
  }
  return factor;
}

Multiples multiples_of(const Tensor& output, const Tensor& a, const Tensor& b) {
  if (output.shape != a.shape || a.shape.size() < 2 || output.non_finite > 0) return {};
  std::vector<double> changes;
  for (std::size_t i = 0; i < a.values.size(); ++i) changes.push_back(b.values[i] - a.values[i]);
  Multiples whole{multiple_of(changes, output.values, false), multiple_of(changes, output.values, true)};
  if (whole.mean || whole.variance) {
    if (whole.mean && whole.variance) return {};  // the numbers are so small that both look alike
    return whole;
  }
  // One module may give both, each as a half of its output.
  const std::vector<int64_t> positions = fingerprint_positions(a.shape);
  const std::size_t last = a.shape.size() - 1;
  for (const std::size_t dimension : {std::size_t{1}, last}) {
    int64_t stride = 1;
    for (std::size_t d = dimension + 1; d < a.shape.size(); ++d) stride *= a.shape[d];
    std::vector<double> own[2], of[2];
    for (std::size_t i = 0; i < positions.size() && i < changes.size(); ++i) {
      const int64_t at = positions[i] / stride % a.shape[dimension];
      const std::size_t half = at * 2 >= a.shape[dimension] ? 1 : 0;
      own[half].push_back(changes[i]);
      of[half].push_back(output.values[i]);
    }
    for (const std::size_t means : {std::size_t{0}, std::size_t{1}}) {
      Multiples halves{multiple_of(own[means], of[means], false), multiple_of(own[1 - means], of[1 - means], true)};
      if (halves.mean && halves.variance && are_near(*halves.variance * 2, *halves.mean)) return halves;
    }
  }
  return {};
}

/// How much larger the weight of a divergence is in the second, from the gradients of its means.
std::string weight_text(double factor, const Tensor& like, const Record& second) {
  const auto batch = static_cast<double>(like.shape[0]), all = static_cast<double>(like.numel());
  for (const double own : {1.0, batch, all}) {
    for (const double other : {1.0, batch, all}) {
      if (own != other && are_near(factor, 1 / own - 1 / other)) return "a sum in place of a mean";
    }
  }
  const double more = factor * batch;
  std::string text = "its weight in the mean over samples is " + rounded_text(std::abs(more)) +
                     (more > 0 ? " more in " : " less in ") + second.called;
  if (are_near(std::abs(more), 2)) text += ", as if it had the opposite sign";
  if (are_near(std::abs(more), 1)) text += ", as if it were missing in one";
  return text;
}

}  // namespace

bool Reasons::have_same_loss(uint64_t step) const {
  const Tensor *own = first_.find(step, "loss", ""), *other = second_.find(step, "loss", "");
  return own != nullptr && other != nullptr && std::abs(own->sum - other->sum) <= 1e-5 * std::abs(own->sum);
}

bool Reasons::parts_of_loss(uint64_t step) {
  constexpr double same = 1e-4;
  const bool is_same = have_same_loss(step);  // then its parts have the same weights and signs
  const Tensor *means = nullptr, *variances = nullptr, *both = nullptr;
  double factor = 0, of_variances = 0;
  bool is_first = true;
  for (const Tensor& a : first_.tensors) {
    if (a.step != step || !a.is("output_gradient")) continue;
    const Tensor* b = counterpart(&a);
    if (b == nullptr || a.shape != b->shape || a.non_finite + b->non_finite > 0) continue;
    if (difference(a, *b, std::max(a.rms(), b->rms())) <= same) {
      is_first = false;
      continue;
    }
    const auto line = is_first && !is_same ? linear(a, *b, false) : std::nullopt;
    if (line && !are_near(line->factor, 1)) {
      const std::string subject =
          "the loss has several parts: in one of them, the gradient of the output of '" + a.module + "'";
      if (!multiple(line->factor, subject))
        return found(subject + (are_near(line->factor, -1) ? " has the opposite sign in " + second_.called
                                                           : " is " + times(line->factor)));
    }
    is_first = false;
    Tensor like = a;
    like.what = "output";
    const Tensor* output = first_.find(like, a.module);
    const Multiples found = output != nullptr ? multiples_of(*output, a, *b) : Multiples();
    if (!found.mean && !found.variance) break;  // its output differs already
    if (found.mean) {
      means = &a;
      factor = *found.mean;
    }
    if (found.variance) {
      variances = &a;
      of_variances = *found.variance;
    }
    if (found.mean && found.variance) both = &a;
  }
  const auto quoted = [](const Tensor& tensor) { return "'" + tensor.module + "'"; };
  if (const Tensor* one = means != nullptr ? means : variances; one != nullptr && is_same) {
    const Record& lacks = (means != nullptr ? factor : of_variances) > 0 ? first_ : second_;
    return found("the loss is the same, but a part of it, such as a KL divergence or a penalty of the output of " +
                 quoted(*one) + ", gives no gradient in " + lacks.called + ": it is detached there");
  }
  if (means != nullptr && variances != nullptr && are_near(of_variances * 2, factor))
    return found("the loss has a KL divergence of " +
                 (both != nullptr ? "the halves of the output of " + quoted(*both)
                                  : "the outputs of " + quoted(*means) + " and " + quoted(*variances)) +
                 " in another way: " + weight_text(factor, *means, second_));
  if (const Tensor* one = means != nullptr ? means : variances)
    return found("the gradient of the output of " + quoted(*one) + " differs by a multiple of " +
                 (one == means ? "that output" : "exp(x) - 1 of it") +
                 ": a part of the loss, such as a KL divergence or a penalty, has a different sign or factor");
  return false;
}

/// The last module of a step whose output both records have.
const Tensor* Reasons::last_output(uint64_t step) const {
  const Tensor* last = nullptr;
  for (const Tensor& each : first_.tensors) {
    if (each.step == step && each.is("output") && each.index == 0 && counterpart(&each) != nullptr) last = &each;
  }
  return last;
}

/// Whether a factor is the number of elements over which a mean may be taken, or another exact multiple.
bool Reasons::multiple(double factor, const std::string& subject) {
  const Tensor* last = last_output(comparison_.departure->known().step);
  if (!std::isfinite(factor) || factor <= 0 || are_near(factor, 1)) return false;
  const double more = std::max(factor, 1 / factor);
  std::vector<double> counts;
  if (last != nullptr) {
    double count = 1;
    const auto all = static_cast<double>(last->numel());
    for (const int64_t size : last->shape) {
      counts.push_back(count *= static_cast<double>(size));
      counts.push_back(all / static_cast<double>(size));
    }
  }
  if (std::any_of(counts.begin(), counts.end(), [&](double count) { return count > 1 && are_near(more, count); }))
    return found(subject + " is " + times(factor) + ": a sum in place of a mean");
  for (int divisor = 1; divisor <= 9; ++divisor) {
    const double dividend = std::round(more * divisor);
    if (dividend > 1000 || std::abs(more * divisor - dividend) > 1e-5 * dividend) continue;
    return found(subject + " is " + times(factor) + ": it is multiplied or divided in only one");
  }
  return false;
}

void Reasons::of_loss(const Tensor& a, const Tensor& b) {
  if (are_near(b.sum, -a.sum) && a.sum != 0) return say("the loss has the opposite sign in " + second_.called);
  if (multiple(b.sum / a.sum, "the loss") || loss_by_gradient(a.step) || parts_of_loss(a.step)) return;
  int digits = 3;
  while (digits < 17 && rounded_text(a.sum, digits) == rounded_text(b.sum, digits)) ++digits;
  const std::string losses = " (" + rounded_text(a.sum, digits) + " in " + first_.called + ", " +
                             rounded_text(b.sum, digits) + " in " + second_.called + ")";
  const Tensor* last = last_output(a.step);
  if (last == nullptr) return say("another loss function, or other targets" + losses);
  if (last->module.empty())
    return say("the output of the model is the same: other targets, or another loss function" + losses);
  say("the output of '" + last->module +
      "', the last module that was seen, is the same: what is computed after it (such as a softmax), other targets, or "
      "another loss function" +
      losses);
}

void Reasons::of_output_gradient(const Tensor& a, const Tensor& b) {
  const auto line = linear(a, b, false);
  const bool is_last = std::none_of(first_.tensors.begin(), first_.tensors.end(), [&](const Tensor& each) {
    return each.is("output_gradient") && each.step == a.step && &each < &a && alignment_.second(each.module) != nullptr;
  });
  if (is_last) {
    if (have_same_loss(a.step)) {
      if (!parts_of_loss(a.step) && !factor_of(a, b, "the loss is the same, and its gradient"))
        say("the loss is the same, and its gradient is not: a part of it may be detached");
      return;
    }
    if ((line && multiple(line->factor, "it")) || loss_by_gradient(a.step)) return;
    if (!factor_of(a, b, "it")) say("the loss function is different, or has other targets");
    return;
  }
  if (!mode(a, b) && !parts_of_loss(a.step) && !factor_of(a, b, "it"))
    say("its backward pass differs from here on; one version may detach a tensor");
}

}  // namespace loupe::port
