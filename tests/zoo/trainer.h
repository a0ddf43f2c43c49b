#pragma once

#include <loupe/inspector.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace zoo {

/// One run of a trainer: the inspector that watches it, and whether its fault is planted.
class Run {
 public:
  Run(std::uint64_t seed, bool planted);

  const bool planted;
  loupe::Inspector inspector;

  /// Whether the fault acts in this step, for a fault that begins at step `since`.
  bool is_faulty(std::int64_t step, std::int64_t since) const { return planted && step >= since; }

  /// Pushes the loss to the inspector, and keeps the value.
  void train_loss(const at::Tensor& loss);
  void validation_loss(const at::Tensor& loss);
  /// A plain step: clears the gradients, computes them, steps, and pushes the loss.
  void learn(torch::optim::Optimizer& optimizer, const at::Tensor& loss);
  const std::vector<double>& train_losses() const { return train_losses_; }

 private:
  std::vector<double> train_losses_;
};

/// Clears the gradients, computes them, and steps.
void descend(torch::optim::Optimizer& optimizer, const at::Tensor& loss);

/// Sets LibTorch to one thread, so that a seed fixes every number and small models train fast.
void use_one_thread();

/// The planted fault of a trainer.
struct Fault {
  /// The first step of the optimizer, counted from 1, with the fault; an exact rule must report it by the next step.
  /// Empty for a statistical rule, and for faults that show only at the end of an epoch.
  std::optional<std::uint64_t> step = std::nullopt;
  /// A finding in any of these layers is right. Empty if the fault concerns no specific layer.
  std::vector<std::string> layers = {};
};

struct Trainer {
  std::string rule;  ///< empty for a trainer that has only a healthy form
  std::string architecture;
  Fault fault;
  std::function<void(Run&)> train;
};

struct Trainers {
  std::vector<Trainer> all;
  void add(const char* rule, const char* architecture, Fault fault, std::function<void(Run&)> train) {
    all.push_back({rule, architecture, std::move(fault), std::move(train)});
  }
};

// Trainers with faults, grouped by subject.
void add_values(Trainers& zoo);
void add_loop(Trainers& zoo);
void add_optimizers(Trainers& zoo);
void add_structure(Trainers& zoo);
void add_signals(Trainers& zoo);
void add_starts(Trainers& zoo);
void add_curves(Trainers& zoo);
void add_inputs(Trainers& zoo);
void add_comparisons(Trainers& zoo);
void add_speed(Trainers& zoo);
void add_collapse(Trainers& zoo);
// Healthy trainers with unusual code that people write on purpose.
void add_healthy_loops(Trainers& zoo);
void add_healthy_models(Trainers& zoo);
void add_healthy_agents(Trainers& zoo);
void add_healthy_policies(Trainers& zoo);
void add_healthy_programs(Trainers& zoo);
void add_healthy_generative(Trainers& zoo);
void add_healthy_stages(Trainers& zoo);

}  // namespace zoo
