#pragma once

#include <cstdint>
#include <string>

namespace loupe::health {

/// A fault in the arguments of a loss function.
struct LossFault {
  enum class Kind {
    none,
    distribution,     ///< a cross entropy got probabilities
    one_class,        ///< a cross entropy got one score per sample
    broadcast,        ///< an elementwise loss got an input that is repeated to fit the target
    target_repeated,  ///< the same, with a target that is repeated to fit the input
    no_logarithms,    ///< a loss that takes logarithms of probabilities got something else
    bounded,          ///< a loss that takes scores got the output of a bounded function
    rectified,        ///< the same, with the output of a rectifier
    swapped           ///< input and target are swapped
  };
  Kind kind = Kind::none;
  const char* function = "";  ///< "mse_loss"
  std::string given;          ///< the argument, for a sentence
  const char* maker = "";     ///< for `bounded` and `rectified`: "sigmoid"
  double floor = 0;           ///< for `bounded`: the lower bound of the loss; 0 if unknown
};

/// Compares a loss with that of a guess which knows the distribution of the targets but not the sample: the cross
/// entropy of equal scores, ln C, or the mean squared error of the targets' mean, which is their variance. Uses some
/// elements of some steps.
class Guessing {
 public:
  /// @param loss  the mean cross entropy of some samples
  void take_cross_entropy(double loss, int64_t classes);
  void take_pair(double input, double target) {
    squares_ += (input - target) * (input - target);
    target_sum_ += target;
    target_squares_ += target * target;
    ++pairs_;
  }
  /// Counts a step in which pairs were taken. If there is also a cross entropy, only that is compared.
  void take_look() { looks_ += is_cross_entropy() ? 0 : 1; }
  /// Call it at a tick; continues the comparison if too few steps were measured since the last one.
  void end_epoch();
  /// Whether the loss was no better for several epochs in a row.
  bool is_no_better() const { return epochs_ >= epochs_enough && !is_better_since(); }
  /// Whether it was no better at the last comparison.
  bool was_no_better() const { return epochs_ > 0 && !is_better_since(); }
  /// Whether the loss is far lower since the last comparison, if anything was measured.
  bool is_far_better() const;
  bool is_cross_entropy() const { return classes_ > 0; }
  /// "guessing among 5 classes gives 1.61", if it was compared.
  const std::string& text() const { return text_; }

 private:
  static constexpr int epochs_enough = 3;
  struct Compared {
    double loss, guess;
    bool is_no_better() const { return guess > 0 && loss >= 0.98 * guess; }
  };
  /// The values since the last comparison; there must be some.
  Compared compared() const;
  bool is_better_since() const { return looks_ > 0 && !compared().is_no_better(); }
  double cross_entropy_ = 0, uniform_ = 0;
  double squares_ = 0, target_sum_ = 0, target_squares_ = 0;
  int64_t pairs_ = 0, classes_ = 0;
  uint32_t looks_ = 0;
  int epochs_ = 0;  ///< the number of such epochs in a row
  std::string text_;
};

/// Describes a model's training targets, for some elements of some steps: their most common class, whether the model
/// answers any other, and their size compared with its outputs.
class TargetTally {
 public:
  /// @param answer  the class with the highest score
  void take_class(int64_t target, int64_t answer, int64_t classes);
  /// Takes a pair for a loss that compares element by element.
  void take_pair(double output, double target) {
    output_squares_ += output * output;
    target_squares_ += target * target;
    ++pairs_;
  }
  /// Counts a step with targets of this function.
  void take_look(const char* function);
  /// Call it at a tick, before `is_unbalanced` and the others; continues if too few steps were measured.
  void end_epoch();

  /// Whether most targets are one class.
  bool is_unbalanced() const { return is_unbalanced_; }
  /// Whether the model answered only that class for several epochs in a row.
  bool answers_one_class() const { return epochs_of_one_answer_ >= epochs_enough; }
  int64_t common_class() const { return common_; }
  int64_t classes() const { return classes_; }
  double share() const { return share_; }
  /// Whether the targets were far larger than the outputs for several epochs in a row. Two are enough where the outputs
  /// are below a thousandth of the targets: the loss has hardly moved.
  bool are_far_larger() const { return epochs_far_larger_ >= (is_hardly_begun_ ? 2 : epochs_enough); }
  double target_size() const { return target_size_; }  ///< root mean square of the last epoch
  double output_size() const { return output_size_; }
  const char* function() const { return function_; }

 private:
  static constexpr int epochs_enough = 3;
  const char* function_ = "";
  uint32_t looks_ = 0;
  // Found as the majority of a stream, without a count for each class; exact since `common_` was chosen.
  int64_t common_ = -1, balance_ = 0, seen_ = 0, common_seen_ = 0, common_answers_ = 0, classes_ = 0;
  double output_squares_ = 0, target_squares_ = 0;
  int64_t pairs_ = 0;
  bool has_several_functions_ = false;
  bool is_unbalanced_ = false, is_hardly_begun_ = false;
  int epochs_of_one_answer_ = 0, epochs_far_larger_ = 0;
  double share_ = 0, target_size_ = 0, output_size_ = 0;
};

}  // namespace loupe::health
