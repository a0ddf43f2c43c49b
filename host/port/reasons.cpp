#include "port/reasons.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "port/forms.h"
#include "port/numbers.h"
#include "port/settings.h"

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
  if (a.is("buffer")) of_buffer(a, b);
  if (a.non_finite != b.non_finite && !are_inverted_masks(a, b))
    say(std::to_string(a.non_finite) + " elements are NaN or infinite in " + first_.called + " and " +
        std::to_string(b.non_finite) + " in " + second_.called);
  return std::move(told_);
}

void Reasons::of_buffer(const Tensor& a, const Tensor& b) {
  const bool own = is_new_statistic(a), theirs = is_new_statistic(b);
  if (a.step == 0 && own != theirs)
    return say("it is what a new module has in " + (own ? first_ : second_).called +
               ": load the buffers as well as the parameters");
  if (a.step == 0 && (are_roots(a, b) || are_roots(b, a)))
    return say("it is the root in " + (are_roots(a, b) ? second_ : first_).called +
               ": a standard deviation in place of a variance");
  if (a.step == 0 && form(a, b)) return;
  if (!settings_of_module(a) && !mode(a, b)) runs(a);
}

/// Whether the elements are the others' in another form.
bool Reasons::form(const Tensor& a, const Tensor& b) {
  for (const bool from_first : {true, false}) {
    const auto types = from_first ? reread_types(a, b) : reread_types(b, a);
    if (!types) continue;
    say("its elements in " + (from_first ? second_ : first_).called + " are the bytes of " + types->first +
        " read as " + types->second + ": read the file in the type that it was written in");
    return true;
  }
  if (are_inverted_masks(a, b)) {
    say("the mask is inverted: it hides in " + second_.called + " what it does not in " + first_.called);
    return true;
  }
  const auto own = dimension_of_shares(a), theirs = dimension_of_shares(b);
  if (!own || !theirs || *own == *theirs) return false;
  say("it is a softmax over dimension " + std::to_string(*own) + " in " + first_.called + " and over dimension " +
      std::to_string(*theirs) + " in " + second_.called);
  return true;
}

std::string Reasons::times(double factor) const {
  const bool second = std::abs(factor) >= 1;
  const double times = second ? factor : 1 / factor;
  int digits = 3;
  while (digits < 9 && std::stod(rounded_text(times, digits)) == 1) ++digits;
  return rounded_text(times, digits) + " times as large in " + (second ? second_ : first_).called;
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
    say(order_along(a, b, *dimension));
    return true;
  }
  if (!have_same_values(a, b)) return false;
  say("it has the same values in another order: permuted, or read in another layout");
  return true;
}

/// What slices in another order are, by the dimension along which they lie.
std::string Reasons::order_along(const Tensor& a, const Tensor& b, std::size_t dimension) const {
  const auto dims = a.shape.size();
  if (a.is_forward() && is_first_input(a) && dimension == 0) {
    const Tensor *loss = first_.find(a.step, "loss", ""), *other = second_.find(a.step, "loss", "");
    const bool same_loss =
        loss != nullptr && other != nullptr && std::abs(loss->sum - other->sum) <= 1e-4 * std::abs(loss->sum);
    return same_loss ? "it has the same samples in another order: another order of the batch"
                     : "it is the same in another order along dimension 0 (the batch, or time)";
  }
  if (dims == 4 && dimension == 1)
    return std::string("it has the same channels in another order") + (a.shape[1] == 3 ? ", such as RGB for BGR" : "");
  const std::vector<double>&one = a.sums[dimension], &two = b.sums[dimension];
  const double slice = a.rms() * std::sqrt(static_cast<double>(a.numel()) / static_cast<double>(one.size()));
  const bool is_mirrored = dims > 2 && dimension + 2 >= dims &&
                           std::equal(one.begin(), one.end(), two.rbegin(), two.rend(),
                                      [&](double x, double y) { return std::abs(x - y) <= 1e-4 * slice; });
  const bool is_column = dimension > 0 && dimension + 1 == dims, is_row = dimension == 0 || dimension + 2 == dims;
  return "it is the same with dimension " + std::to_string(dimension) + " in another order" +
         (is_mirrored          ? ": mirrored"
          : is_column          ? ": permuted columns"
          : is_row && dims > 1 ? ": permuted rows"
                               : "");
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
  if (has_values_of_another(a, b) || order_of_elements(a, b) || form(a, b) || factor_of(a, b, "it")) return;
  if (a.shape != b.shape) {
    say("its shape is " + shape_text(a) + " in " + first_.called + " and " + shape_text(b) + " in " + second_.called);
  } else if (!has_most_values(a, b)) {
    if (are_alike(a, b))
      return say("both look drawn from one distribution: another seed, or weights that were not loaded");
    say("another initialization: mean and standard deviation are " + rounded_text(mean_of(a)) + " and " +
        rounded_text(deviation_of(a)) + " in " + first_.called + ", " + rounded_text(mean_of(b)) + " and " +
        rounded_text(deviation_of(b)) + " in " + second_.called);
  }
}

/// Whether weights were copied from or into the wrong place.
bool Reasons::has_values_of_another(const Tensor& a, const Tensor& b) {
  if (deviation_of(b) <= 1e-6 * b.rms()) return false;  // such as ones, which many may have
  for (const Tensor& each : first_.tensors) {
    if (!each.is("parameter") || &each == &a || each.numel() != b.numel()) continue;
    const bool is_same = each.shape == b.shape && difference(each, b, b.rms()) < 1e-6;
    if (!is_same && permutation(each, b) != Order{1, 0}) continue;
    say("it has the values of " + first_.called + "'s '" + (each.module.empty() ? "" : each.module + ".") + each.name +
        "'" + (is_same ? "" : ", transposed"));
    return true;
  }
  return false;
}

/// Whether all known elements are numbers that float16 or bfloat16 has.
bool Reasons::are_halves(const Tensor& tensor) {
  constexpr int bits = 11;  // of float16; bfloat16 has 8
  return std::all_of(tensor.values.begin(), tensor.values.end(), [](double value) {
    int exponent = 0;
    const double scaled = std::ldexp(std::frexp(value, &exponent), bits);
    return scaled == std::nearbyint(scaled);
  });
}

/// Whether the known elements are the same but for a few, or but for rounding.
bool Reasons::has_most_values(const Tensor& a, const Tensor& b) {
  std::size_t same = 0, similar = 0;
  const double rms = std::max(a.rms(), b.rms());
  for (std::size_t i = 0; i < a.values.size() && i < b.values.size(); ++i) {
    const double size = std::max(std::abs(a.values[i]), std::abs(b.values[i]));
    const double apart = std::abs(a.values[i] - b.values[i]);
    same += apart <= 1e-3 * size ? 1 : 0;
    similar += apart <= 4e-3 * size + 1e-4 * rms ? 1 : 0;  // bfloat16 has 8 bits
  }
  if (a.values.empty()) return false;
  if (similar == a.values.size() && comparison_.departure->difference < 0.01 && (are_halves(a) || are_halves(b))) {
    say("the values are the same but for rounding, as of weights kept in half precision");
    return true;
  }
  if (same * 2 <= a.values.size()) return false;
  say("most of its values are the same: some elements were changed");
  return true;
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

std::size_t Reasons::count(const Record& record, const Tensor& like, const std::string& module, bool calls) {
  return static_cast<std::size_t>(std::count_if(record.tensors.begin(), record.tensors.end(), [&](const Tensor& each) {
    if (each.step != like.step || each.module != module) return false;
    return calls ? each.is("output") && each.index == 0 : each.is("input") && each.call == like.call;
  }));
}

/// Whether the tensor's module runs more often in one record.
bool Reasons::runs(const Tensor& a) {
  const std::string* module = alignment_.second(a.module);
  if (module == nullptr || a.step == 0) return false;
  const std::size_t own = count(first_, a, a.module, true), theirs = count(second_, a, *module, true);
  if (own == theirs || own == 0 || theirs == 0) return false;
  say("'" + a.module + "' runs " + times_text(own, first_, theirs, second_));
  return true;
}

/// Whether the module's call is given another number of tensors: a mask, or a state.
bool Reasons::arguments(const Tensor& a) {
  const std::string* module = alignment_.second(a.module);
  if (module == nullptr) return false;
  const std::size_t own = count(first_, a, a.module, false), theirs = count(second_, a, *module, false);
  if (own == theirs || own == 0 || theirs == 0) return false;
  const bool more = own > theirs;
  const Record& less = more ? second_ : first_;
  const std::size_t most = std::max(own, theirs), least = std::min(own, theirs);
  say("it is given " + std::to_string(most) + " tensors in " + (more ? first_ : second_).called + " and " +
      std::to_string(least) + " in " + less.called +
      // PyTorch before 2 does not show what is passed by name.
      (less.language == "Python" && less.libtorch.rfind("1.", 0) == 0 ? ", not counting what is passed by name"
                                                                      : ", such as a mask or a state"));
  return true;
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
  if (a.call > 0) runs(a);
  if (order_of_elements(a, b) || modules || form(a, b)) return;
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
  const bool has_mode = mode(a, b), has_settings = settings_of_module(a), has_modules = modules_between(a),
             has_arguments = arguments(a);
  if (own.type != other.type)
    say("it is a " + own.type + " in " + first_.called + " and a " + other.type + " in " + second_.called);
  if (a.shape != b.shape)
    say("its shape is " + shape_text(a) + " in " + first_.called + " and " + shape_text(b) + " in " + second_.called);
  if (order_of_elements(a, b) || has_mode || has_settings || has_modules || has_arguments || form(a, b)) return;
  if (own.type.find("Dropout") != std::string::npos && a.training) {
    say("both drop, and draw other random numbers; compare with dropout off, by eval() or p = 0");
    return;
  }
  factor_of(a, b, "it");
  const bool is_trained = std::any_of(first_.tensors.begin(), first_.tensors.end(), [&](const Tensor& each) {
    return each.step + 1 == a.step && each.is("update") && each.module == a.module;
  });
  if (is_trained)
    say("the last update of its weights is the same; perhaps they are changed outside the optimizer's step in one "
        "alone");
}

}  // namespace loupe::port
