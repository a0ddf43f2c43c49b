// Losses of several parts: what the gradients of the outputs that they are computed of say of one part.

#include <loupe/files/fingerprint.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "port/numbers.h"
#include "port/reasons.h"

namespace loupe::port {
namespace {

/// By what the gradients of two outputs differ, as multiples: of the output, as those of the means of a KL divergence
/// from a standard normal distribution do; and of exp(x) - 1, as those of the logarithms of its variances do.
struct Multiples {
  std::optional<double> mean, variance;
};

/// The elements of both at some places.
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
    if (whole.mean && whole.variance) return {};  // so small that both look alike
    return whole;
  }
  // One module may give both, a half each.
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

/// What a divergence's weight is more in the second, by the gradients of its means.
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
  if (are_near(std::abs(more), 2)) text += ", as where its sign is the other";
  if (are_near(std::abs(more), 1)) text += ", as where it is missing in one";
  return text;
}

}  // namespace

bool Reasons::parts_of_loss(uint64_t step) {
  constexpr double same = 1e-4;
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
    const auto line = is_first ? linear(a, *b, false) : std::nullopt;
    if (line && !are_near(line->factor, 1)) {
      const std::string subject =
          "the loss has several parts: in one of them, the gradient of the output of '" + a.module + "'";
      if (!multiple(line->factor, subject))
        say(subject +
            (are_near(line->factor, -1) ? " has the other sign in " + second_.called : " is " + times(line->factor)));
      return true;
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
  if (means != nullptr && variances != nullptr && are_near(of_variances * 2, factor)) {
    say("the loss has a KL divergence of " +
        (both != nullptr ? "the halves of the output of " + quoted(*both)
                         : "the outputs of " + quoted(*means) + " and " + quoted(*variances)) +
        " in another way: " + weight_text(factor, *means, second_));
    return true;
  }
  if (const Tensor* one = means != nullptr ? means : variances) {
    say("the gradient of the output of " + quoted(*one) + " differs by a multiple of " +
        (one == means ? "that output" : "exp(x) - 1 of it") +
        ": a part of the loss, as of a KL divergence or a penalty, has another sign or factor");
    return true;
  }
  return false;
}

}  // namespace loupe::port
