#include "command/port_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "command/port_numbers.h"

namespace loupe::port {
namespace {

constexpr double roundings = 16;           // how many a number may have gone through, for each summand's root
constexpr double growth = 8;               // how far what was apart before may grow from one tensor to the next
constexpr double too_much = 0.01;          // of a tensor's size to be put down to rounding
constexpr double most_usual_drift = 1e-3;  // of a parameter's norm

std::string full_name(const Tensor& tensor) {
  return tensor.module.empty() ? tensor.name : tensor.module + "." + tensor.name;
}

class Walk {
 public:
  Walk(const Record& first, const Record& second, const Alignment& alignment)
      : first_(first), second_(second), alignment_(alignment) {
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
    for (const Tensor& each : first_.tensors) {
      if (each.step > result_.steps) break;
      if (std::exchange(step, each.step) != each.step) begin_step();
      if (each.is("gradient") && !looked_for_missing_) find_missing(each.step);
      if (is_over()) break;
      const std::string* module = each.is("loss") ? &each.module : alignment_.second(each.module);
      if (module == nullptr) continue;
      const Tensor* other = second_.find(each, *module);
      if (other != nullptr) {
        take(each, *other);
      } else if (is_missing(each, second_)) {
        depart(&each, nullptr, infinity);
      }
      if (is_over()) break;
    }
    return std::move(result_);
  }

 private:
  bool is_over() const { return result_.departure || result_.stopped != nullptr; }
  void begin_step() {
    apart_.clear();
    result_.before = nullptr;
    looked_for_missing_ = false;
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
      if (own != to_first_.end() && first_.find(each, own->second) == nullptr && is_missing(each, first_))
        return depart(nullptr, &each, infinity);
    }
  }

  void take(const Tensor& a, const Tensor& b) {
    if (a.is("update")) return take_update(a, b);
    if (a.is("gradient")) note_errors(a, b);
    // An activation that is 0 but for rounding passes its gradient in one and not in the other: some elements differ.
    const bool backward = a.is("output_gradient") || a.is("gradient");
    const double apart = difference(a, b, scale_of(a, b), backward), allowed = tolerance(a, b);
    if (allowed > std::max(too_much, 64 * epsilon_of(a, b))) {
      result_.stopped = &a;
    } else if (apart <= allowed) {
      ++result_.agreeing;
      if (a.is_forward()) result_.before = &a;
      if (std::isfinite(apart)) result_.largest = std::max(result_.largest, apart);
      if (a.is("input")) {
        double& inputs = inputs_[a.module + '\n' + std::to_string(a.call)];
        inputs = a.index == 0 ? apart : std::max(inputs, apart);
      }
    } else if (is_explained(a)) {
      ++result_.explained;
      apart_.insert(a.what + '\n' + a.module);
    } else if (!apart_.empty() && !a.is("output")) {
      result_.stopped = &a;  // behind what rounding has moved apart, all may be
    } else {
      depart(&a, &b, apart);
    }
  }

  /// Whether a parameter of the module that rounding has moved makes the difference, or an input that it reached.
  bool is_explained(const Tensor& a) const {
    if (result_.moved_by_rounding.empty()) return false;
    if (a.is("input")) return !apart_.empty();
    if (a.is("loss") || a.is("output_gradient")) return false;
    const std::string inside = a.module.empty() ? "" : a.module + ".";
    const bool moved =
        std::any_of(result_.moved_by_rounding.begin(), result_.moved_by_rounding.end(), [&](const std::string& each) {
          return each.rfind(inside, 0) == 0 && each.find('.', inside.size()) == std::string::npos;
        });
    const bool reached = std::any_of(apart_.begin(), apart_.end(), [&](const std::string& each) {
      return each == "input\n" + a.module || each.rfind("output\n" + inside, 0) == 0;
    });
    return moved || reached;
  }

  void depart(const Tensor* a, const Tensor* b, double apart) {
    result_.departure = Comparison::Departure{a, b, apart};
    if (a == nullptr || !a->is("output")) return;
    const auto found = inputs_.find(a->module + '\n' + std::to_string(a->call));
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
    const double factor = input != nullptr && a.shape.size() > 1 ? std::max(1.0, input->rms()) : 1;
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
    const double grown =
        growth * (result_.largest + most_drift_) * (a.is("output_gradient") || a.is("gradient") ? 3 : 1);
    return roundings * added * std::sqrt(std::max(1.0, summands)) + rounded + grown;
  }

  /// The largest relative error that each element of a gradient has had.
  void note_errors(const Tensor& a, const Tensor& b) {
    if (a.shape != b.shape) return;
    std::vector<double>& errors = errors_[full_name(a)];
    errors.resize(a.values.size(), 0);
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const double size = std::max(std::abs(a.values[i]), std::abs(b.values[i]));
      if (size > 0) errors[i] = std::max(errors[i], std::abs(a.values[i] - b.values[i]) / size);
    }
  }

  /// Element by element, for an optimizer such as Adam makes a whole step of a gradient that is but rounding. Sums of
  /// elements say nothing then.
  void take_update(const Tensor& a, const Tensor& b) {
    if (a.shape != b.shape || a.non_finite != b.non_finite) return depart(&a, &b, infinity);
    const double scale = std::max(a.rms(), b.rms()), epsilon = epsilon_of(a, b);
    const Tensor* parameter = first_.find(0, "parameter", a.module, a.name);
    const double size = parameter != nullptr ? std::max(std::abs(parameter->minimum), std::abs(parameter->maximum)) : 1;
    const std::vector<double>& errors = errors_[full_name(a)];
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
    double& drift = drift_[full_name(a)];
    drift += parameter->sum_squares > 0 ? distance(a, b) / std::sqrt(parameter->sum_squares) : infinity;
    // A weight that is moved a little makes all behind it a little different; one that is moved far is a case of its
    // own.
    if (drift > most_usual_drift) {
      result_.moved_by_rounding.insert(full_name(a));
    } else {
      most_drift_ = std::max(most_drift_, drift);
    }
  }

  /// An estimate of the norm of a - b, where few elements, mostly unknown ones, may be all that differ. Sums of
  /// differences of either sign are about as large as their norm.
  static double distance(const Tensor& a, const Tensor& b) {
    double known = 0, most = std::abs(a.sum - b.sum);
    for (std::size_t i = 0; i < a.values.size(); ++i)
      known += (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
    if (!a.values.empty())
      most = std::max(most, std::sqrt(known * static_cast<double>(a.numel()) / static_cast<double>(a.values.size())));
    for (std::size_t d = 0; d < a.sums.size() && d < b.sums.size(); ++d) {
      double squares = 0;
      for (std::size_t i = 0; i < a.sums[d].size() && i < b.sums[d].size(); ++i)
        squares += (a.sums[d][i] - b.sums[d][i]) * (a.sums[d][i] - b.sums[d][i]);
      most = std::max(most, std::sqrt(squares));
    }
    return std::isfinite(most) ? most : 0;
  }

  const Record &first_, &second_;
  const Alignment& alignment_;
  Comparison result_;
  std::map<std::string, std::string> to_first_;
  std::map<std::string, double> summands_;  // of an output's element, by module
  double most_summands_ = 1;
  std::map<std::string, double> inputs_;               // how far apart, by module and call
  std::map<std::string, std::vector<double>> errors_;  // of gradients, by parameter
  std::map<std::string, double> drift_;                // of parameters, as a share of their norm
  double most_drift_ = 0;
  std::set<std::string> apart_;  // what rounding has reached in this step
  bool looked_for_missing_ = false;
};

}  // namespace

Comparison compare_records(const Record& first, const Record& second, const Alignment& alignment) {
  return Walk(first, second, alignment).run();
}

}  // namespace loupe::port
