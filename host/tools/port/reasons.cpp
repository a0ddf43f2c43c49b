#include "port/reasons.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "port/numbers.h"

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

std::vector<std::string> Reasons::find() {
  const Comparison::Departure& departure = *comparison_.departure;
  const Tensor& known = departure.known();
  if (departure.first == nullptr || departure.second == nullptr) {
    of_missing(known, departure.first != nullptr);
    return std::move(reasons_);
  }
  const Tensor &a = *departure.first, &b = *departure.second;
  static const std::map<std::string, void (Reasons::*)(const Tensor&, const Tensor&)> by_kind = {
      {"parameter", &Reasons::of_parameter}, {"input", &Reasons::of_input},
      {"output", &Reasons::of_output},       {"loss", &Reasons::of_loss},
      {"gradient", &Reasons::of_gradient},   {"output_gradient", &Reasons::of_output_gradient},
      {"update", &Reasons::of_update},       {"buffer", &Reasons::of_buffer}};
  if (const auto kind = by_kind.find(a.what); kind != by_kind.end()) (this->*kind->second)(a, b);
  if (a.non_finite != b.non_finite && !are_inverted_masks(a, b))
    say(in_both(std::to_string(a.non_finite) + " elements are NaN or infinite", std::to_string(b.non_finite)));
  return std::move(reasons_);
}

void Reasons::of_buffer(const Tensor& a, const Tensor& b) {
  const bool own = is_new_statistic(a), theirs = is_new_statistic(b);
  if (a.step == 0 && own != theirs)
    return say("it has the values of a new module in " + (own ? first_ : second_).called +
               ": load the buffers as well as the parameters");
  if (a.step == 0 && (are_roots(a, b) || are_roots(b, a)))
    return say("it is the root in " + (are_roots(a, b) ? second_ : first_).called +
               ": a standard deviation in place of a variance");
  if (a.step == 0 && form(a, b)) return;
  if (!settings_of_module(a) && !mode(a, b)) runs(a);
}

/// Whether one tensor is the other in another form.
bool Reasons::form(const Tensor& a, const Tensor& b) {
  for (const bool from_first : {true, false}) {
    const auto types = from_first ? reread_types(a, b) : reread_types(b, a);
    if (!types) continue;
    return found("its elements in " + (from_first ? second_ : first_).called + " are the bytes of " + types->first +
                 " read as " + types->second + ": read the file in the type that it was written in");
  }
  if (are_inverted_masks(a, b))
    return found("the mask is inverted: it hides in " + second_.called + " what it does not in " + first_.called);
  const auto own = dimension_of_shares(a), theirs = dimension_of_shares(b);
  if (!own || !theirs || *own == *theirs) return false;
  return found("it is a softmax over dimension " + std::to_string(*own) + " in " + first_.called +
               " and over dimension " + std::to_string(*theirs) + " in " + second_.called);
}

std::string Reasons::in_both(const std::string& own, const std::string& theirs) const {
  return own + " in " + first_.called + " and " + theirs + " in " + second_.called;
}

void Reasons::say_shapes(const Tensor& a, const Tensor& b) {
  say("its shape is " + in_both(shape_text(a), shape_text(b)));
}

std::string Reasons::spreads_text(const Tensor& a, const Tensor& b) const {
  const auto text = [](const Tensor& tensor, const Record& record) {
    return rounded_text(mean_of(tensor)) + " and " + rounded_text(deviation_of(tensor)) + " in " + record.called;
  };
  return "mean and standard deviation are " + text(a, first_) + ", " + text(b, second_);
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
  return found(subject + (are_near(line->factor, -1) ? " has the opposite sign in " + second_.called
                                                     : " is " + times(line->factor)));
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
  if (const auto dimension = reordered_dimension(a, b)) return found(order_along(a, b, *dimension));
  if (!have_same_values(a, b)) return false;
  return found("it has the same values in another order: permuted, or read in another layout");
}

/// Describes slices that are in another order, by their dimension.
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
    say_shapes(a, b);
  } else if (!has_most_values(a, b)) {
    if (are_alike(a, b))
      return say("both look drawn from one distribution: another seed, or weights that were not loaded");
    say("another initialization: " + spreads_text(a, b));
  }
}

/// Whether weights were copied from or into the wrong place.
bool Reasons::has_values_of_another(const Tensor& a, const Tensor& b) {
  if (deviation_of(b) <= 1e-6 * b.rms()) return false;  // for example ones, which many parameters may have
  for (const Tensor& each : first_.tensors) {
    if (!each.is("parameter") || &each == &a || each.numel() != b.numel()) continue;
    const bool is_same = each.shape == b.shape && difference(each, b, b.rms()) < 1e-6;
    if (!is_same && permutation(each, b) != Order{1, 0}) continue;
    return found("it has the values of " + first_.called + "'s '" + each.full_name() + "'" +
                 (is_same ? "" : ", transposed"));
  }
  return false;
}

/// Whether all known elements are numbers that float16 or bfloat16 has.
bool Reasons::are_halves(const Tensor& tensor) {
  constexpr int bits = 11;  // the bits of float16; bfloat16 has 8
  return std::all_of(tensor.values.begin(), tensor.values.end(), [](double value) {
    int exponent = 0;
    const double scaled = std::ldexp(std::frexp(value, &exponent), bits);
    return scaled == std::nearbyint(scaled);
  });
}

/// Whether the known elements are the same except for a few, or except for rounding.
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
  if (similar == a.values.size() && comparison_.departure->difference < 0.01 && (are_halves(a) || are_halves(b)))
    return found("the values are the same but for rounding, as if weights were kept in half precision");
  if (same * 2 <= a.values.size()) return false;
  return found("most of its values are the same: some elements were changed");
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
    return found("it is what " + first_.called + " has in step " + std::to_string(each.step) +
                 ": another order of the batches");
  }
  if (a.shape != b.shape) {
    say_shapes(a, b);
    return true;
  }
  if (const auto line = linear(a, b, true))
    return found("it is scaled: " + second_.called + " has " + rounded_text(line->factor) + " times the values of " +
                 first_.called +
                 (std::abs(line->offset) > 1e-4 * b.rms() ? ", plus " + rounded_text(line->offset) : "") +
                 "; perhaps it is normalized in only one");
  return found("different data: " + spreads_text(a, b));
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
  return found("'" + a.module + "' runs " + times_text(own, first_, theirs, second_));
}

/// Whether the module's call is given another number of tensors: a mask that hides something, or a state.
bool Reasons::arguments(const Tensor& a) {
  const std::string* module = alignment_.second(a.module);
  if (module == nullptr) return false;
  const std::size_t own = count(first_, a, a.module, false), theirs = count(second_, a, *module, false);
  if (own == theirs || own == 0 || theirs == 0) return false;
  const bool is_first = own > theirs;
  const Record &more = is_first ? first_ : second_, &less = is_first ? second_ : first_;
  // PyTorch before 2 does not show arguments that are passed by name.
  if (less.language == "Python" && less.libtorch.rfind("1.", 0) == 0) return false;
  const std::size_t most = std::max(own, theirs), least = std::min(own, theirs);
  const std::string& name = is_first ? a.module : *module;
  const bool has_effect = std::any_of(more.tensors.begin(), more.tensors.end(), [&](const Tensor& each) {
    return each.is("input") && each.step == a.step && each.call == a.call && each.module == name &&
           each.index >= least && (each.sum_squares != 0 || each.non_finite != 0);
  });
  return has_effect && found("it is given " + std::to_string(most) + " tensors in " + more.called + " and " +
                             std::to_string(least) + " in " + less.called + ", such as a mask or a state");
}

const Tensor* Reasons::counterpart(const Tensor* own) const {
  const std::string* module = own != nullptr ? alignment_.second(own->module) : nullptr;
  return module != nullptr ? second_.find(*own, *module) : nullptr;
}

/// Describes the code between two modules, in one record or in both.
void Reasons::code_between(const Tensor& a, const Tensor& b) {
  const Tensor *before = comparison_.before, *other = counterpart(before);
  const auto passes = [](const Tensor* from, const Tensor& to) {
    return from != nullptr && from->shape == to.shape && difference(*from, to, to.rms()) < 1e-6;
  };
  const bool first = passes(before, a), second = passes(other, b);
  if (first == second || before == nullptr) return say("the code between the modules differs");
  say("in " + (first ? first_ : second_).called + " it is the " + before->what + " of '" + before->module +
      "' itself, in " + (first ? second_ : first_).called +
      " something is computed in between, such as an activation or a skip connection");
}

bool Reasons::mode(const Tensor& a, const Tensor& b) {
  if (a.training == b.training) return false;
  const Record &train = a.training ? first_ : second_, &eval = a.training ? second_ : first_;
  return found("it is in training mode in " + train.called + " and in evaluation mode in " + eval.called +
               "; call train() or eval() in both");
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
    say_shapes(a, b);
  } else if (!factor_of(a, b, "it")) {
    code_between(a, b);
  }
}

void Reasons::of_output(const Tensor& a, const Tensor& b) {
  const Module &own = *first_.module(a.module), &other = *second_.module(*alignment_.second(a.module));
  const bool has_mode = mode(a, b), has_settings = settings_of_module(a), has_modules = modules_between(a),
             has_arguments = arguments(a);
  if (own.type != other.type) say("it is " + in_both("a " + own.type, "a " + other.type));
  if (a.shape != b.shape) say_shapes(a, b);
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
    say("the last update of its weights is the same; perhaps they are changed outside the optimizer's step in only "
        "one");
}

/// Names modules that ran since the last tensor that agrees, and only in one record.
bool Reasons::modules_between(const Tensor& a) {
  const Tensor *from = comparison_.before, *others_from = counterpart(from), *to = counterpart(&a);
  const auto ran = [&](const Record& record, const Tensor* begin, const Tensor* end, bool functional) {
    std::vector<const Module*> modules;
    if (end == nullptr) return modules;
    for (const Tensor* each = begin != nullptr ? begin + 1 : record.tensors.data(); each < end; ++each) {
      if (each->step != a.step || !each->is("output") || each->index != 0) continue;
      const Module* module = record.module(each->module);
      if (module != nullptr && module->functional == functional) modules.push_back(module);
    }
    return modules;
  };
  // If the modules run in another order, one of them may have run before.
  if (others_from != nullptr && to != nullptr && to < others_from) return false;
  const auto own = ran(first_, from, &a, false), theirs = ran(second_, others_from, to, false);
  bool any = false;
  // One language does not show functions.
  const auto function_of = [&](const Record& record) -> std::string {
    const bool is_first = &record == &first_;
    const auto functions = is_first ? ran(first_, from, &a, true) : ran(second_, others_from, to, true);
    return functions.size() == 1 ? ", and the function '" + functions[0]->type + "' in " + record.called : "";
  };
  const auto tell = [&](const Module& module, const Record& record, const Record& other, const std::string* name) {
    const auto is_inside = [&](const Module& each) { return each.name.rfind(module.name + ".", 0) == 0; };
    // A container that only calls its children may be recorded in only one language.
    if (name != nullptr && (name->empty() || std::any_of(record.modules.begin(), record.modules.end(), is_inside)))
      return;
    const bool is_seen =
        name == nullptr || std::any_of(other.tensors.begin(), other.tensors.end(),
                                       [&](const auto& each) { return each.is("output") && each.module == *name; });
    any = true;
    say("'" + module.name + "' (" + module.type +
        (is_seen ? ") runs in between only in " : ") is seen in between only in ") + record.called +
        (own.size() + theirs.size() == 1 ? function_of(other) : ""));
  };
  const auto is_pair = [&](const Module* one, const Module* other) {
    const std::string* name = alignment_.second(one->name);
    return name != nullptr && *name == other->name;
  };
  for (const Module* each : own) {
    if (std::none_of(theirs.begin(), theirs.end(), [&](const Module* other) { return is_pair(each, other); }))
      tell(*each, first_, second_, alignment_.second(each->name));
  }
  for (const Module* each : theirs) {
    if (std::none_of(own.begin(), own.end(), [&](const Module* other) { return is_pair(other, each); }))
      tell(*each, second_, first_, alignment_.first(each->name));
  }
  return any;
}

/// Whether the parameter and another one are the same tensor in only one record: they have one gradient there.
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
      return found("'" + own.full_name() + "' and '" + twin->full_name() + "' are one tensor in " + record.called +
                   " and two in " + other.called + ": tie them in both or in neither");
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
      // Both gradients may have been clipped since, by different factors.
      const auto parts = combination(other, *last, one);
      if (!parts || parts->first < 0.01 || parts->second < 0.01) return false;
    }
    return found("it still has that of the step before in " + of.called + ": call zero_grad() before each backward");
  };
  if (with_last(b, a, second_, b.module) || with_last(a, b, first_, a.module)) return;
  const bool has_runs = runs(a);
  if ((a.sum_squares == 0) != (b.sum_squares == 0)) {
    say("it is 0 only in " + (a.sum_squares == 0 ? first_ : second_).called);
  } else if (factor_of(a, b, "it")) {
    say("perhaps gradients are clipped, averaged or accumulated in only one");
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
      say("the gradient is the same, and one update has a share of the weights: weight decay in only one");
      return;
    }
  }
  say("the gradient is the same: compare the settings of the optimizers, and what else changes the weights");
}

void Reasons::of_missing(const Tensor& known, bool in_first) {
  if (known.is("buffer")) {
    Tensor own = known;
    if (!in_first) own.module = *alignment_.first(known.module);
    settings_of_module(own);
    return;
  }
  say("in " + (in_first ? second_ : first_).called + " it is frozen, not reached by the loss, or in " +
      (known.is("gradient") ? "no optimizer" : "another optimizer"));
}

}  // namespace loupe::port
