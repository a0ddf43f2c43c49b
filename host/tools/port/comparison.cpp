#include "port/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "port/numbers.h"

namespace loupe::port {
namespace {

constexpr double roundings = 16;           // the allowed roundings of a number, for each root of its summands
constexpr double growth = 8;               // how much a difference may grow from one tensor to the next
constexpr double too_much = 0.01;          // a share of a tensor's size that rounding cannot explain
constexpr double most_usual_drift = 1e-3;  // a share of a parameter's norm

bool is_inside(const std::string& module, const std::string& outer) {
  return module != outer && (outer.empty() || module.rfind(outer + ".", 0) == 0);
}

/// The key that distinguishes the calls of a module.
std::string call_of(const Tensor& tensor) {
  return tensor.module + '\n' + std::to_string(tensor.call);
}

/// Parameters, by the first record's names, that are tied in one record and in the other only registered beside the
/// tensor that is used, as after `head->weight = embedding->weight` in C++: their values have no effect.
class Unused {
 public:
  Unused(const Record& first, const Record& second, const Alignment& alignment) {
    const std::map<std::string, std::string>& to_second = alignment.to_second;
    std::map<std::string, std::string> to_first;
    for (const auto& each : to_second) to_first[each.second] = each.first;
    for (const Tensor& each : first.tensors) {
      const auto module = each.is("parameter") ? to_second.find(each.module) : to_second.end();
      const Tensor* other = module != to_second.end() ? second.find(each, module->second) : nullptr;
      if (other == nullptr) continue;
      if (is_replaced(each, first, *other, second, to_second) || is_replaced(*other, second, each, first, to_first))
        names_.insert(each.full_name());
    }
  }
  bool has(const Tensor& tensor) const {
    return (tensor.is("parameter") || tensor.is("gradient") || tensor.is("update")) &&
           names_.count(tensor.full_name()) != 0;
  }

 private:
  /// Whether the parameter is tied to one that both records train, while the other record does not train this one.
  static bool is_replaced(const Tensor& parameter, const Record& record, const Tensor& other, const Record& others,
                          const std::map<std::string, std::string>& names) {
    const Tensor* gradient = first_gradient(record, parameter.module, parameter.name);
    if (gradient == nullptr || first_gradient(others, other.module, other.name) != nullptr) return false;
    return std::any_of(record.tensors.begin(), record.tensors.end(), [&](const Tensor& each) {
      if (!each.is("parameter") || &each == &parameter || !are_identical(each, parameter)) return false;
      const Tensor* its = first_gradient(record, each.module, each.name);
      const auto name = names.find(each.module);
      return its != nullptr && its->step == gradient->step && are_identical(*its, *gradient) && name != names.end() &&
             first_gradient(others, name->second, each.name) != nullptr;
    });
  }
  static const Tensor* first_gradient(const Record& record, const std::string& module, const std::string& name) {
    const Tensor* found = nullptr;
    for (uint64_t step = 1; step <= record.steps && found == nullptr; ++step)
      found = record.find(step, "gradient", module, name);
    return found;
  }

  std::set<std::string> names_;
};

class Walk {
 public:
  Walk(const Record& first, const Record& second, const Alignment& alignment)
      : first_(first), second_(second), alignment_(alignment), unused_(first, second, alignment) {
    for (const Tensor& each : first.tensors) {
      if (!each.is("parameter") || each.shape.size() < 2 || each.shape[0] == 0) continue;
      double& own = summands_[each.module];
      own = std::max(own, static_cast<double>(each.numel() / each.shape[0]));
      most_summands_ = std::max(most_summands_, own);
    }
    for (const auto& each : alignment.to_second) to_first_[each.second] = each.first;
    result_.steps = std::min(first.steps, second.steps);
  }

  Comparison run() {
    uint64_t step = 0;
    find_missing_statistic();
    for (const Tensor& each : first_.tensors) {
      if (each.step > result_.steps || result_.departure) break;
      if (step != each.step || !each.is_forward()) settle();
      if (std::exchange(step, each.step) != each.step) begin_step();
      if (each.is("gradient") && !looked_for_missing_) find_missing(each.step);
      if (result_.departure) break;
      const std::string* module = each.is("loss") ? &each.module : alignment_.second(each.module);
      if (module == nullptr || unused_.has(each)) continue;
      const Tensor* other = second_.find(each, *module);
      if (other != nullptr) {
        take(each, *other);
      } else if (is_missing(each, second_) && !is_named_twice(each, first_, second_, alignment_.to_second)) {
        depart(&each, nullptr, infinity);
      }
      if (result_.departure) break;
    }
    settle();
    return std::move(result_);
  }

 private:
  /// A difference at an input, kept until the output of its module shows whether it has an effect.
  struct Held {
    const Tensor* input;
    Comparison found;
  };
  /// A parameter that rounding has moved far.
  struct Moved {
    std::string module;
    double most = 0;   // the drift of an element of a vector, such as a bias
    double share = 0;  // the drift as a share of the norm of a matrix
  };

  void begin_step() {
    moved_outputs_.clear();
    moved_inputs_.clear();
    last_output_ = 0;
    moved_backward_ = 0;
    result_.before = nullptr;
    looked_for_missing_ = false;
  }

  /// Counts the first remaining input difference as a departure if the output of its module was never compared.
  void settle() {
    drop_finished();
    if (!result_.departure && !held_.empty()) result_ = std::move(held_.front().found);
    held_.clear();
  }
  void drop_finished() {
    held_.erase(std::remove_if(held_.begin(), held_.end(),
                               [&](const Held& each) { return finished_.count(call_of(*each.input)) != 0; }),
                held_.end());
    finished_.clear();
  }

  /// Whether the parameter of a gradient or an update is only registered a second time here, because the other record
  /// has it under another name.
  static bool is_named_twice(const Tensor& tensor, const Record& record, const Record& other,
                             const std::map<std::string, std::string>& names) {
    const Tensor* own = record.find(0, "parameter", tensor.module, tensor.name);
    const Tensor* gradient = record.find(tensor.step, "gradient", tensor.module, tensor.name);
    if (own == nullptr || gradient == nullptr) return false;
    return std::any_of(record.tensors.begin(), record.tensors.end(), [&](const Tensor& each) {
      if (!each.is("parameter") || &each == own || !are_identical(each, *own)) return false;
      const Tensor* its = record.find(tensor.step, "gradient", each.module, each.name);
      const auto name = names.find(each.module);
      return its != nullptr && are_identical(*its, *gradient) && name != names.end() &&
             other.find(each, name->second) != nullptr;
    });
  }

  /// Whether the record has other gradients or updates in that step.
  static bool is_missing(const Tensor& tensor, const Record& record) {
    return (tensor.is("gradient") || tensor.is("update")) &&
           std::any_of(record.tensors.begin(), record.tensors.end(),
                       [&](const Tensor& each) { return each.step == tensor.step && each.what == tensor.what; });
  }
  void find_missing(uint64_t step) {
    looked_for_missing_ = true;
    for (const Tensor& each : second_.tensors) {
      if (each.step != step || !each.is("gradient")) continue;
      const auto own = to_first_.find(each.module);
      if (own == to_first_.end() || first_.find(each, own->second) != nullptr || !is_missing(each, first_)) continue;
      const Tensor* parameter = first_.find(0, "parameter", own->second, each.name);
      const bool is_excused =
          parameter != nullptr ? unused_.has(*parameter) : is_named_twice(each, second_, first_, to_first_);
      if (!is_excused) return depart(nullptr, &each, infinity);
    }
  }

  /// Finds a statistic that a norm keeps in only one record: the norms differ in evaluation mode. Other buffers, for
  /// example a mask, may be plain members in one language.
  void find_missing_statistic() {
    const auto lacks = [](const Tensor& each, const Record& other, const std::string* module) {
      const bool is_statistic = each.is("buffer") && each.step == 0 && is_statistic_of_norm(each.name);
      return is_statistic && module != nullptr && other.find(each, *module) == nullptr;
    };
    for (const Tensor& each : first_.tensors) {
      if (lacks(each, second_, alignment_.second(each.module))) return depart(&each, nullptr, infinity);
    }
    for (const Tensor& each : second_.tensors) {
      const auto own = to_first_.find(each.module);
      if (own != to_first_.end() && lacks(each, first_, &own->second)) return depart(nullptr, &each, infinity);
    }
  }

  void take(const Tensor& a, const Tensor& b) {
    if (!a.is("output") || finished_.count(call_of(a)) == 0) drop_finished();
    if (a.is("update")) return take_update(a, b);
    if (a.is("gradient")) note_errors(a, b);
    if (a.is("input") && are_same_mask(a, b)) return agree(a, 0);
    // An activation that is 0 except for rounding passes its gradient in only one record: some elements differ.
    const bool backward = a.is("output_gradient") || a.is("gradient");
    const double scale = scale_of(a, b), apart = difference(a, b, scale, backward), allowed = tolerance(a, b);
    const double most = std::max(too_much, 64 * epsilon_of(a, b));
    if (apart <= std::min(allowed, most)) return agree(a, apart);
    // Rounding cannot explain an output that differs after an input that does.
    const bool has_held = a.is("output") && std::any_of(held_.begin(), held_.end(), [&](const Held& each) {
                            return call_of(*each.input) == call_of(a);
                          });
    if (has_held) return depart(&a, &b, apart);
    const double moved = result_.moved_by_rounding.empty() ? 0 : effect_of_moved(a, scale);
    const bool is_explained = apart <= moved;
    if (is_explained && (a.is_forward() || a.is("buffer"))) {
      explain(a, apart * scale);
    } else if (is_explained || apart <= allowed) {
      doubt(a, apart);
    } else if (a.is("input") && has_output(a)) {
      hold(a, b, apart);
    } else {
      depart(&a, &b, apart);
    }
  }

  void agree(const Tensor& a, double apart) {
    ++result_.agreeing;
    if (a.is_forward()) result_.before = &a;
    if (a.is("output")) {
      finished_.insert(call_of(a));
      last_output_ = 0;
      // A module inside took the first input in some form; a mask or a state may be for later modules.
      held_.erase(std::remove_if(held_.begin(), held_.end(),
                                 [&](const Held& each) {
                                   return each.input->index == 0 && is_inside(a.module, each.input->module);
                                 }),
                  held_.end());
    }
    if (std::isfinite(apart)) result_.largest = std::max(result_.largest, apart);
    spread_ = std::max(spread_, result_.largest);
    if (!a.is("input")) return;
    double& inputs = inputs_[call_of(a)];
    inputs = a.index == 0 ? apart : std::max(inputs, apart);
  }
  void explain(const Tensor& a, double apart) {
    ++result_.explained;
    if (a.is("input")) {
      for (double* known : {&moved_inputs_[call_of(a)], &moved_buffers_[a.module]}) *known = std::max(*known, apart);
    }
    if (!a.is("output")) return;
    double& known = moved_outputs_[a.module];
    known = std::max(known, apart);
    last_output_ = apart / std::max(a.rms(), std::numeric_limits<double>::min());
  }
  void doubt(const Tensor& a, double apart) {
    if (result_.unsure++ == 0) result_.first_unsure = &a;
    spread_ = std::max(spread_, apart);
    if (!a.is_forward()) moved_backward_ = std::max(moved_backward_, apart);
  }

  /// How far a tensor may be apart, as a share of `scale`, because rounding moved parameters that it uses, or tensors
  /// before it. A difference that a norm removes reaches neither the loss nor gradients.
  double effect_of_moved(const Tensor& a, double scale) const {
    if (a.is("loss")) return growth * last_output_;
    if (a.is("output_gradient") || a.is("gradient")) return 3 * growth * moved_backward_;
    const auto reached = [&](const std::map<std::string, double>& what, const std::string& name) {
      const auto found = what.find(name);
      return found != what.end() ? found->second : 0;
    };
    if (a.is("buffer")) return growth * reached(moved_buffers_, a.module) / scale;
    const bool is_input = a.is("input");
    double before = reached(moved_inputs_, call_of(a)), vectors = 0, matrices = 0;
    const bool has_inputs = first_.find(a.step, "input", a.module) != nullptr;
    for (const auto& [module, apart] : moved_outputs_) {
      if (is_input || !has_inputs || is_inside(module, a.module)) before = std::max(before, apart);
    }
    for (const auto& each : moved_) {
      const Moved& moved = each.second;
      const bool runs = first_.find(a.step, "output", moved.module) != nullptr;
      const bool reaches = is_input ? !runs || is_inside(a.module, moved.module)
                                    : a.module == moved.module || (!runs && is_inside(moved.module, a.module));
      if (!reaches) continue;
      vectors += moved.most;
      matrices += moved.share;
    }
    return growth * (before + vectors) / scale + growth * matrices;
  }

  bool has_output(const Tensor& input) const {
    const auto is_its = [&](const Tensor& each, const std::string& module) {
      return each.step == input.step && each.is("output") && each.module == module && each.call == input.call;
    };
    const std::string& module = *alignment_.second(input.module);
    return std::any_of(first_.tensors.begin(), first_.tensors.end(),
                       [&](const Tensor& each) { return is_its(each, input.module); }) &&
           std::any_of(second_.tensors.begin(), second_.tensors.end(),
                       [&](const Tensor& each) { return is_its(each, module); });
  }
  void hold(const Tensor& a, const Tensor& b, double apart) {
    Held held{&a, result_};
    held.found.departure = departure_at(&a, &b, apart);
    held_.push_back(std::move(held));
  }

  static Comparison::Departure departure_at(const Tensor* a, const Tensor* b, double apart) {
    const bool comparable = a != nullptr && b != nullptr && a->shape == b->shape && a->non_finite == b->non_finite;
    const double norm = !comparable ? 0 : std::sqrt(a->sum_squares > 0 ? a->sum_squares : b->sum_squares);
    return {a, b, apart, norm > 0 ? least_distance(*a, *b) / norm : infinity};
  }
  void depart(const Tensor* a, const Tensor* b, double apart) {
    if (!held_.empty()) {
      result_ = std::move(held_.front().found);
      return held_.clear();
    }
    result_.departure = departure_at(a, b, apart);
    if (a == nullptr || !a->is("output")) return;
    const auto found = inputs_.find(call_of(*a));
    if (found != inputs_.end()) result_.inputs = found->second;
  }

  /// The scale of one number of the tensor: its size, or the size of its summands, which may cancel.
  double scale_of(const Tensor& a, const Tensor& b) const {
    const double own = std::max(a.rms(), b.rms());
    const Tensor* input = first_.find(a.step, "input", a.module);
    if (a.is("buffer") && input != nullptr) return std::max(own, input->rms() / 16);
    if (!a.is("gradient")) return own;
    const Tensor* output = first_.find(a.step, "output_gradient", a.module);
    if (output == nullptr) return std::max(own, largest_gradient(a.step));
    // Indices into an embedding are no factors.
    const bool has_factors = input != nullptr && epsilon_of(*input, *input) > 0 && a.shape.size() > 1;
    const double factor = has_factors ? std::max(1.0, input->rms()) : 1;
    return std::max(own, std::sqrt(output->sum_squares) * factor);
  }
  double largest_gradient(uint64_t step) const {
    double largest = 0;
    for (const Tensor& each : first_.tensors) {
      if (each.step == step && each.is("gradient")) largest = std::max(largest, each.rms());
    }
    return largest;
  }

  double tolerance(const Tensor& a, const Tensor& b) const {
    const double epsilon = epsilon_of(a, b);
    if (epsilon == 0) return 0;
    if (a.step == 0) return 4 * epsilon;
    const auto own = summands_.find(a.module);
    const bool sums = a.is("output") || a.is("output_gradient") || a.is("gradient");
    const double summands = !sums ? 1 : own != summands_.end() ? own->second : most_summands_;
    // Sums of shorter types are taken in float32, and rounded once.
    const double added = std::min(epsilon, std::ldexp(1, -23)), rounded = epsilon > added ? 4 * epsilon : 0;
    const double grown = growth * (spread_ + most_drift_) * (a.is("output_gradient") || a.is("gradient") ? 3 : 1);
    return roundings * added * std::sqrt(std::max(1.0, summands)) + rounded + grown;
  }

  /// Notes the largest relative error that each element of a gradient has had.
  void note_errors(const Tensor& a, const Tensor& b) {
    if (a.shape != b.shape) return;
    std::vector<double>& errors = errors_[a.full_name()];
    errors.resize(a.values.size(), 0);
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const double size = std::max(std::abs(a.values[i]), std::abs(b.values[i]));
      if (size > 0) errors[i] = std::max(errors[i], std::abs(a.values[i] - b.values[i]) / size);
    }
  }

  /// Compares element by element: an optimizer such as Adam makes a whole step of a gradient that is only rounding.
  /// Sums of elements show nothing then.
  void take_update(const Tensor& a, const Tensor& b) {
    if (a.shape != b.shape || a.non_finite != b.non_finite) return depart(&a, &b, infinity);
    const double scale = std::max(a.rms(), b.rms()), epsilon = epsilon_of(a, b);
    const Tensor* parameter = first_.find(0, "parameter", a.module, a.name);
    const double size = parameter != nullptr ? std::max(std::abs(parameter->minimum), std::abs(parameter->maximum)) : 1;
    const std::vector<double>& errors = errors_[a.full_name()];
    double most = 0;
    bool departs = false;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      const double apart = std::abs(a.values[i] - b.values[i]);
      const double error = i < errors.size() ? errors[i] : 0;
      const double element = std::max(std::abs(a.values[i]), std::abs(b.values[i]));
      const double rounding = scale * (roundings * epsilon + growth * result_.largest) +
                              4 * epsilon * (size + static_cast<double>(a.step) * element);
      if (apart <= rounding || std::isnan(apart)) continue;
      if (apart <= rounding + 4 * error * std::max(element, scale)) continue;
      departs = true;
      most = std::max(most, scale > 0 ? apart / scale : infinity);
    }
    if (departs) return depart(&a, &b, most);
    ++result_.agreeing;
    if (parameter == nullptr) return;
    // The update counts for a parameter that begins with zeros.
    const double norm = std::sqrt(parameter->sum_squares) + std::sqrt(std::max(a.sum_squares, b.sum_squares));
    if (norm == 0) return;
    Drift& drift = drift_[a.full_name()];
    drift.share += distance(a, b) / norm;
    drift.most += most_apart(a, b);
    // A weight that is moved a little makes all tensors after it a little different. A weight that is moved far is
    // handled separately.
    if (drift.share <= most_usual_drift) {
      most_drift_ = std::max(most_drift_, drift.share);
      return;
    }
    result_.moved_by_rounding.insert(a.full_name());
    const bool is_vector = a.shape.size() < 2;
    moved_[a.full_name()] = {a.module, is_vector ? drift.most : 0, is_vector ? 0 : drift.share};
  }

  /// The largest difference between known elements.
  static double most_apart(const Tensor& a, const Tensor& b) {
    double most = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) most = std::max(most, std::abs(a.values[i] - b.values[i]));
    return most;
  }

  struct Drift {
    double share = 0;  // the drift as a share of the parameter's norm
    double most = 0;   // the drift of an element
  };

  const Record &first_, &second_;
  const Alignment& alignment_;
  const Unused unused_;
  Comparison result_;
  std::map<std::string, std::string> to_first_;
  std::map<std::string, double> summands_;  // the summands of an output's element, by module
  double most_summands_ = 1;
  double spread_ = 0;                                  // the largest difference among tensors that agree or are excused
  std::map<std::string, double> inputs_;               // differences of inputs, by module and call
  std::map<std::string, std::vector<double>> errors_;  // errors of gradients, by parameter
  std::map<std::string, Drift> drift_;                 // drift, by parameter
  double most_drift_ = 0;                              // the largest of parameters that moved little
  std::map<std::string, Moved> moved_;                 // the parameters that moved far, by name
  // How far rounding has moved tensors that use them: in this step by module, or module and call, and in all steps.
  std::map<std::string, double> moved_outputs_, moved_inputs_, moved_buffers_;
  double last_output_ = 0, moved_backward_ = 0;  // shares
  std::vector<Held> held_;
  std::set<std::string> finished_;  // calls whose outputs agree, until a tensor of another call comes
  bool looked_for_missing_ = false;
};

}  // namespace

Comparison compare_records(const Record& first, const Record& second, const Alignment& alignment) {
  return Walk(first, second, alignment).run();
}

}  // namespace loupe::port
