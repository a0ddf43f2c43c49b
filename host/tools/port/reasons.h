#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "port/alignment.h"
#include "port/comparison.h"
#include "port/record.h"

namespace loupe::port {

/// Why two records depart, as far as their numbers show it.
class Reasons {
 public:
  Reasons(const Record& first, const Record& second, const Alignment& alignment, const Comparison& comparison)
      : first_(first), second_(second), alignment_(alignment), comparison_(comparison) {}

  /// Sentences without a full stop; none where the numbers show nothing. There must be a departure.
  std::vector<std::string> find();

 private:
  void of_parameter(const Tensor& a, const Tensor& b);
  void why_parameter(const Tensor& a, const Tensor& b);
  void of_buffer(const Tensor& a, const Tensor& b);
  bool form(const Tensor& a, const Tensor& b);
  void of_input(const Tensor& a, const Tensor& b);
  void of_output(const Tensor& a, const Tensor& b);
  void of_loss(const Tensor& a, const Tensor& b);
  void of_output_gradient(const Tensor& a, const Tensor& b);
  void of_gradient(const Tensor& a, const Tensor& b);
  void of_update(const Tensor& a, const Tensor& b);
  void of_missing(const Tensor& known, bool in_first);

  bool has_values_of_another(const Tensor& a, const Tensor& b);
  static bool are_halves(const Tensor& tensor);
  bool has_most_values(const Tensor& a, const Tensor& b);
  bool order_of_elements(const Tensor& a, const Tensor& b);
  std::string order_along(const Tensor& a, const Tensor& b, std::size_t dimension) const;
  bool data(const Tensor& a, const Tensor& b);
  bool modules_between(const Tensor& a);
  void code_between(const Tensor& a, const Tensor& b);
  const Tensor* counterpart(const Tensor* own) const;
  bool mode(const Tensor& a, const Tensor& b);
  bool runs(const Tensor& a);
  bool arguments(const Tensor& a);
  /// The number of calls of the module in the tensor's step, or of tensors that its call gets.
  static std::size_t count(const Record& record, const Tensor& like, const std::string& module, bool calls);
  bool settings_of_module(const Tensor& a);
  const Tensor* last_output(uint64_t step) const;
  bool loss_by_gradient(uint64_t step);
  bool have_same_loss(uint64_t step) const;
  /// Whether one term of the loss has a different factor or sign. The output gradients show which term.
  bool parts_of_loss(uint64_t step);
  bool tied(const Tensor& a, const Tensor& b);
  bool multiple(double factor, const std::string& subject);
  bool factor_of(const Tensor& a, const Tensor& b, const std::string& subject);
  bool is_first_input(const Tensor& a) const;
  void say(const std::string& sentence) { reasons_.push_back(sentence); }
  bool found(const std::string& sentence) {
    say(sentence);
    return true;
  }
  void say_shapes(const Tensor& a, const Tensor& b);
  std::string spreads_text(const Tensor& a, const Tensor& b) const;
  /// "OWN in C++ and THEIRS in Python".
  std::string in_both(const std::string& own, const std::string& theirs) const;
  /// "32 times as large in C++", "32 times as large in Python".
  std::string times(double factor) const;

  const Record &first_, &second_;
  const Alignment& alignment_;
  const Comparison& comparison_;
  std::vector<std::string> reasons_;
};

}  // namespace loupe::port
