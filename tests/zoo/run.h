#pragma once

#include <loupe/inspector.h>

#include <cstdint>
#include <vector>

namespace zoo {

/// One run of a trainer: the inspector that watches it, and whether its fault is planted.
class Run {
 public:
  Run(std::uint64_t seed, bool planted);

  const bool planted;
  loupe::Inspector inspector;

  /// Whether the fault acts in this step, for one that begins late.
  bool is_faulty(std::int64_t step, std::int64_t since) const { return planted && step >= since; }

  /// Tells the inspector, and keeps the value.
  void train_loss(const at::Tensor& loss);
  void validation_loss(const at::Tensor& loss);
  const std::vector<double>& train_losses() const { return train_losses_; }

 private:
  std::vector<double> train_losses_;
};

/// So that a seed fixes every number, and runs are as quick as they are small.
void use_one_thread();

}  // namespace zoo
