#include "command/port_reasons.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "command/port_numbers.h"
#include "command/port_settings.h"

namespace loupe::port {
namespace {

using Order = std::vector<std::size_t>;

std::string list_of(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (const std::size_t each : numbers) text += (text.empty() ? "(" : ", ") + std::to_string(each);
  return text + ")";
}

std::string shape_text(const Tensor& tensor) {
  return list_of({tensor.shape.begin(), tensor.shape.end()});
}

}  // namespace

std::vector<std::string> Reasons::tell() {
  const Comparison::Departure& departure = *comparison_.departure;
  const Tensor& known = departure.known();
  if (departure.first == nullptr || departure.second == nullptr) {
    of_missing(known, departure.first != nullptr);
    return std::move(told_);
  }
  const Tensor &a = *departure.first, &b = *departure.second;
  if (a.is("parameter")) of_parameter(a, b);
  if (a.is("input")) of_input(a, b);
  if (a.is("output")) of_output(a, b);
  if (a.is("loss")) of_loss(a, b);
  if (a.is("output_gradient")) of_output_gradient(a, b);
  if (a.is("gradient")) of_gradient(a, b);
  if (a.is("update")) of_update(a, b);
  if (a.is("buffer") && !settings_of_module(a)) mode(a, b);
  if (a.non_finite != b.non_finite)
    say(std::to_string(a.non_finite) + " elements are NaN or infinite in " + first_.called + " and " +
        std::to_string(b.non_finite) + " in " + second_.called);
  return std::move(told_);
}

std::string Reasons::times(double factor) const {
  const bool second = std::abs(factor) >= 1;
  return rounded_text(second ? factor : 1 / factor) + " times as large in " + (second ? second_ : first_).called;
}

bool Reasons::factor_of(const Tensor& a, const Tensor& b, const std::string& subject) {
  const auto line = linear(a, b, false);
  if (!line || are_near(line->factor, 1)) return false;
  say(subject +
      (are_near(line->factor, -1) ? " has the other sign in " + second_.called : " is " + times(line->factor)));
  return true;
}

bool Reasons::order_of_elements(const Tensor& a, const Tensor& b) {
  if (comparison_.departure->difference < 0.01) return false;  // an order would show
  if (const auto order = permutation(a, b)) {
    const bool is_reshaped = a.shape == b.shape;
    if (*order == Order{1, 0} && (!is_reshaped || a.shape[0] == a.shape[1])) {
      say("it is transposed in " + second_.called);
    } else if (is_reshaped && *order == Order{0, 2, 3, 1}) {
      say(second_.called + " reads NHWC as NCHW: its elements lie with the channels last");
    } else if (is_reshaped && *order == Order{0, 3, 1, 2}) {
      say(first_.called + " reads NHWC as NCHW: its elements lie with the channels last");
    } else {
      say("it is permuted in " + second_.called + ": its elements are those of " + first_.called +
          " with the dimensions in the order " + list_of(*order) + (is_reshaped ? ", read in the old shape" : ""));
    }
    return true;
  }
  if (const auto dimension = reordered_dimension(a, b)) {
    const bool is_data = a.is_forward() && is_first_input(a);
    const bool is_image = a.shape.size() == 4 && *dimension == 1;
    say(is_data && *dimension == 0 ? "it has the same samples in another order: another order of the batch"
        : is_image
            ? "it has the same channels in another order, such as RGB for BGR"
            : "it is the same with dimension " + std::to_string(*dimension) + " in another order: permuted rows");
    return true;
  }
  if (!have_same_values(a, b)) return false;
  say("it has the same values in another order: permuted, or read in another layout");
  return true;
}

void Reasons::of_parameter(const Tensor& a, const Tensor& b) {
  why_parameter(a, b);
  std::size_t all = 0, others = 0;
  for (const Tensor& each : first_.tensors) {
    const Tensor* other = each.is("parameter") && &each != &a ? counterpart(&each) : nullptr;
    if (other == nullptr) continue;
    ++all;
    others += difference(each, *other, std::max(each.rms(), other->rms())) > 1e-5 ? 1 : 0;
  }
  if (all > 0)
    say("of the other " + std::to_string(all) + " parameters " + (others == 0 ? "none" : std::to_string(others)) +
        (others < 2 ? " differs" : " differ"));
}

void Reasons::why_parameter(const Tensor& a, const Tensor& b) {
  if (order_of_elements(a, b) || factor_of(a, b, "it")) return;
  if (a.shape != b.shape) {
    say("its shape is " + shape_text(a) + " in " + first_.called + " and " + shape_text(b) + " in " + second_.called);
  } else if (are_alike(a, b)) {
    say("both look drawn from one distribution: another seed, or weights that were not loaded");
  } else {
    say("another initialization: mean and standard deviation are " + rounded_text(mean_of(a)) + " and " +
        rounded_text(deviation_of(a)) + " in " + first_.called + ", " + rounded_text(mean_of(b)) + " and " +
        rounded_text(deviation_of(b)) + " in " + second_.called);
  }
}

bool Reasons::is_first_input(const Tensor& a) const {
  return comparison_.before == nullptr ||
         !std::any_of(first_.tensors.begin(), first_.tensors.end(), [&](const Tensor& each) {
           return each.is("output") && each.step == a.step && &each < &a && alignment_.second(each.module) != nullptr;
         });
}

bool Reasons::data(const Tensor& a, const Tensor& b) {
  for (const Tensor& each : first_.tensors) {
    if (each.what != a.what || each.module != a.module || each.step == a.step) continue;
    if (difference(each, b, each.rms()) > 1e-5) continue;
    say("it is what " + first_.called + " has in step " + std::to_string(each.step) + ": another order of the batches");
    return true;
  }
  if (a.shape != b.shape) {
    say("its shape is " + shape_text(a) + " in " + first_.called + " and " + shape_text(b) + " in " + second_.called);
    return true;
  }
  if (const auto line = linear(a, b, true)) {
    say("it is scaled: " + second_.called + " has " + rounded_text(line->factor) + " times the values of " +
        first_.called + (std::abs(line->offset) > 1e-4 * b.rms() ? ", plus " + rounded_text(line->offset) : "") +
        "; perhaps it is normalized in one alone");
    return true;
  }
  say("different data: mean and standard deviation are " + rounded_text(mean_of(a)) + " and " +
      rounded_text(deviation_of(a)) + " in " + first_.called + ", " + rounded_text(mean_of(b)) + " and " +
      rounded_text(deviation_of(b)) + " in " + second_.called);
  return true;
}

/// Modules of one record that ran since the last tensor that agrees.
bool Reasons::modules_between(const Tensor& a) {
  bool any = false;
  const auto look = [&](const Record& record, const std::vector<std::string>& only, const Tensor* from,
                        const Tensor* to) {
    if (to == nullptr) return;
    for (const Tensor* each = from != nullptr ? from + 1 : record.tensors.data(); each < to; ++each) {
      if (each->step != a.step || !each->is("output") || each->index != 0) continue;
      if (std::find(only.begin(), only.end(), each->module) == only.end()) continue;
      const Module& module = *record.module(each->module);
      if (module.functional) continue;  // which one language does not show
      any = true;
      say("'" + module.name + "' (" + module.type + ") runs in between in " + record.called + " alone");
    }
  };
  look(first_, alignment_.only_first, comparison_.before, &a);
  look(second_, alignment_.only_second, counterpart(comparison_.before), counterpart(&a));
  return any;
}

const Tensor* Reasons::counterpart(const Tensor* own) const {
  const std::string* module = own != nullptr ? alignment_.second(own->module) : nullptr;
  return module != nullptr ? second_.find(*own, *module) : nullptr;
}

/// What is computed between two modules, in one record or in both.
void Reasons::code_between(const Tensor& a, const Tensor& b) {
  const Tensor *before = comparison_.before, *other = counterpart(before);
  const auto passes = [](const Tensor* from, const Tensor& to) {
    return from != nullptr && from->shape == to.shape && difference(*from, to, to.rms()) < 1e-6;
  };
  const bool first = passes(before, a), second = passes(other, b);
  if (first == second || before == nullptr) return say("what is computed between the modules is different code");
  say("in " + (first ? first_ : second_).called + " it is the " + before->what + " of '" + before->module +
      "' itself, in " + (first ? second_ : first_).called +
      " something is computed in between, such as an activation or a skip connection");
}

bool Reasons::mode(const Tensor& a, const Tensor& b) {
  if (a.training == b.training) return false;
  const Record &train = a.training ? first_ : second_, &eval = a.training ? second_ : first_;
  say("it is in training mode in " + train.called + " and in evaluation mode in " + eval.called +
      "; call train() or eval() in both");
  return true;
}

bool Reasons::settings_of_module(const Tensor& a) {
  const std::string* name = alignment_.second(a.module);
  if (name == nullptr) return false;
  const auto others = other_settings(*first_.module(a.module), *second_.module(*name), first_, second_);
  for (const std::string& each : others) say(each);
  return !others.empty();
}

void Reasons::of_input(const Tensor& a, const Tensor& b) {
  const bool modules = !is_first_input(a) && modules_between(a);
  if (order_of_elements(a, b) || modules) return;
  if (is_first_input(a)) {
    data(a, b);
  } else if (a.shape != b.shape) {
    say("its shape is " + shape_text(a) + " in " + first_.called + " and " + shape_text(b) + " in " + second_.called);
  } else if (!factor_of(a, b, "it")) {
    code_between(a, b);
  }
}

void Reasons::of_output(const Tensor& a, const Tensor& b) {
  const Module &own = *first_.module(a.module), &other = *second_.module(*alignment_.second(a.module));
  const bool has_mode = mode(a, b), has_settings = settings_of_module(a), has_modules = modules_between(a);
  if (own.type != other.type)
    say("it is a " + own.type + " in " + first_.called + " and a " + other.type + " in " + second_.called);
  if (a.shape != b.shape)
    say("its shape is " + shape_text(a) + " in " + first_.called + " and " + shape_text(b) + " in " + second_.called);
  if (order_of_elements(a, b) || has_mode || has_settings || has_modules) return;
  if (own.type.find("Dropout") != std::string::npos && a.training) {
    say("both drop, and draw other random numbers; compare with dropout off, by eval() or p = 0");
  } else {
    factor_of(a, b, "it");
  }
}

}  // namespace loupe::port
