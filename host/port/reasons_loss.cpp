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

/// How much more label smoothing the second has.
std::optional<double> more_smoothing(const Tensor& a, const Tensor& b, std::size_t classes) {
  const auto count = static_cast<double>(a.shape[classes]);
  const std::vector<double> all = changes(a, b);
  if (count < 3) return std::nullopt;
  // What the target loses, all classes get a part of.
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

/// The factor between the gradients of each sample, infinite where only the second has one; empty where a sample has
/// several, or all have one.
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

/// What the gradient of the last output says of the loss, in which the records depart.
bool Reasons::loss_by_gradient(uint64_t step) {
  const auto found = std::find_if(first_.tensors.begin(), first_.tensors.end(), [&](const Tensor& each) {
    return each.step == step && each.is("output_gradient") && counterpart(&each) != nullptr;
  });
  if (found == first_.tensors.end()) return false;
  const Tensor &a = *found, &b = *counterpart(&a);
  if (a.shape != b.shape || a.shape.size() < 2 || a.numel() == 0 || a.non_finite + b.non_finite > 0) return false;
  const std::string subject = "the gradient of the output of '" + a.module + "'";
  for (const std::size_t classes : {std::size_t{1}, a.shape.size() - 1}) {
    if (a.shape[classes] < 2) continue;
    if (have_other_targets(a, b, classes)) {
      say("other targets: " + subject + " differs as that of a cross entropy does with other classes for some samples");
      return true;
    }
    if (const auto more = more_smoothing(a, b, classes)) {
      say("label smoothing is " + rounded_text(std::abs(*more)) + " more in " + (*more > 0 ? second_ : first_).called +
          ", by " + subject);
      return true;
    }
    const std::vector<double> factors = factors_of_samples(a, b, classes);
    if (factors.empty()) continue;
    const bool first_lacks = std::any_of(factors.begin(), factors.end(), [](double each) { return std::isinf(each); });
    const bool second_lacks = std::any_of(factors.begin(), factors.end(), [](double each) { return each == 0; });
    if (first_lacks != second_lacks) {
      say("some samples have no part in the loss of " + (first_lacks ? first_ : second_).called +
          ": ignore_index, or a mask, in that alone");
    } else {
      say(subject + " has another factor for each sample: weights of classes or samples in one alone");
    }
    return true;
  }
  return false;
}

}  // namespace loupe::port
