#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "port/numbers.h"
#include "port/reasons.h"
#include "port/settings.h"

namespace loupe::port {

/// The last module of a step whose output both records have.
const Tensor* Reasons::last_output(uint64_t step) const {
  const Tensor* last = nullptr;
  for (const Tensor& each : first_.tensors) {
    if (each.step == step && each.is("output") && each.index == 0 && counterpart(&each) != nullptr) last = &each;
  }
  return last;
}

/// Whether a factor is how many elements a mean may be taken of, or another exact multiple.
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
  if (std::any_of(counts.begin(), counts.end(), [&](double count) { return count > 1 && are_near(more, count); })) {
    say(subject + " is " + times(factor) + ": a sum in place of a mean");
    return true;
  }
  for (int divisor = 1; divisor <= 9; ++divisor) {
    const double dividend = std::round(more * divisor);
    if (dividend > 1000 || std::abs(more * divisor - dividend) > 1e-5 * dividend) continue;
    say(subject + " is " + times(factor) + ": it is multiplied or divided in one alone");
    return true;
  }
  return false;
}

void Reasons::of_loss(const Tensor& a, const Tensor& b) {
  if (are_near(b.sum, -a.sum) && a.sum != 0) return say("the loss has the other sign in " + second_.called);
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
    if ((line && multiple(line->factor, "it")) || loss_by_gradient(a.step)) return;
    if (!factor_of(a, b, "it")) say("what is computed of the model's output is another loss, or has other targets");
    return;
  }
  if (!mode(a, b) && !parts_of_loss(a.step) && !factor_of(a, b, "it"))
    say("its backward pass differs from here on; one version may detach a tensor");
}

/// Whether the parameter is another one too in one record alone: they have one gradient.
bool Reasons::tied(const Tensor& a, const Tensor& b) {
  const auto twins = [](const Record& record, const Tensor& own) {
    std::vector<const Tensor*> found;
    for (const Tensor& each : record.tensors) {
      if (each.step == own.step && each.is("gradient") && &each != &own && are_identical(each, own))
        found.push_back(&each);
    }
    return found;
  };
  const auto tell = [&](const Tensor& own, const Record& record, const Record& other, const auto& name_of) {
    for (const Tensor* twin : twins(record, own)) {
      const std::string* module = name_of(twin->module);
      const Tensor* theirs = module != nullptr ? other.find(*twin, *module) : nullptr;
      if (theirs == nullptr || are_identical(*theirs, &own == &a ? b : a)) continue;
      const auto name = [](const Tensor& each) {
        return "'" + each.module + (each.module.empty() ? "" : ".") + each.name + "'";
      };
      say(name(own) + " and " + name(*twin) + " are one tensor in " + record.called + " and two in " + other.called +
          ": tie them in both or in neither");
      return true;
    }
    return false;
  };
  return tell(a, first_, second_, [&](const std::string& module) { return alignment_.second(module); }) ||
         tell(b, second_, first_, [&](const std::string& module) { return alignment_.first(module); });
}

void Reasons::of_gradient(const Tensor& a, const Tensor& b) {
  if (tied(a, b)) return;
  const auto with_last = [&](const Tensor& one, const Tensor& other, const Record& of, const std::string& module) {
    const Tensor* last = one.step > 1 ? of.find(one.step - 1, "gradient", module, one.name) : nullptr;
    if (last == nullptr || last->values.size() != one.values.size() || one.values.size() != other.values.size())
      return false;
    Tensor sum = other;
    for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += last->values[i];
    const auto line = linear(sum, one, false);
    if (!line || !are_near(line->factor, 1)) {
      // Both may have been clipped since, each by a factor of its own.
      const auto parts = combination(other, *last, one);
      if (!parts || parts->first < 0.01 || parts->second < 0.01) return false;
    }
    say("it still has that of the step before in " + of.called + ": call zero_grad() before each backward");
    return true;
  };
  if (with_last(b, a, second_, b.module) || with_last(a, b, first_, a.module)) return;
  const bool has_runs = runs(a);
  if ((a.sum_squares == 0) != (b.sum_squares == 0)) {
    say("it is 0 in " + (a.sum_squares == 0 ? first_ : second_).called + " alone");
  } else if (factor_of(a, b, "it")) {
    say("perhaps gradients are clipped, averaged or accumulated in one alone");
  } else if (!order_of_elements(a, b) && !settings_of_module(a) && !has_runs) {
    say("the gradients of the outputs agree; perhaps it is changed between backward and the step of the optimizer");
  }
}

void Reasons::of_update(const Tensor& a, const Tensor& b) {
  const auto others = other_settings(a.step, first_, second_);
  for (const std::string& each : others) say("the gradient is the same, and " + each);
  if (!others.empty() || factor_of(a, b, "the gradient is the same, and the update")) return;
  const Tensor* parameter = first_.find(0, "parameter", a.module, a.name);
  if (parameter != nullptr && a.step == 1 && parameter->shape == a.shape && a.shape == b.shape) {
    Tensor left = b;
    for (std::size_t i = 0; i < left.values.size(); ++i) left.values[i] -= a.values[i];
    if (linear(*parameter, left, false)) {
      say("the gradient is the same, and one update has a share of the weights: weight decay in one alone");
      return;
    }
  }
  say("the gradient is the same: compare the settings of the optimizers, and what changes the weights besides them");
}

void Reasons::of_missing(const Tensor& known, bool in_first) {
  const Record &has = in_first ? first_ : second_, &lacks = in_first ? second_ : first_;
  say(std::string("only ") + has.called + " has one: in " + lacks.called +
      " it is frozen, not reached by the loss, or in " + (known.is("gradient") ? "no optimizer" : "another optimizer"));
}

}  // namespace loupe::port
