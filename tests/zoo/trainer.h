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

  /// Whether the fault acts in this step, for one that begins late.
  bool is_faulty(std::int64_t step, std::int64_t since) const { return planted && step >= since; }

  /// Tells the inspector, and keeps the value.
  void train_loss(const at::Tensor& loss);
  void validation_loss(const at::Tensor& loss);
  /// A plain step: clears the gradients, makes new ones, steps, and tells the loss.
  void learn(torch::optim::Optimizer& optimizer, const at::Tensor& loss);
  const std::vector<double>& train_losses() const { return train_losses_; }

 private:
  std::vector<double> train_losses_;
};

/// Clears the gradients, makes new ones, and steps.
void descend(torch::optim::Optimizer& optimizer, const at::Tensor& loss);

/// So that a seed fixes every number, and runs are as quick as they are small.
void use_one_thread();

/// What is wrong in a trainer when its fault is planted.
struct Fault {
  /// The optimizer's step, counted from 1, in which it first acts; an exact rule must report it by the next step.
  /// Nothing for a statistical rule, and for faults that show only at the end of an epoch.
  std::optional<std::uint64_t> step = std::nullopt;
  /// Any of these is the right layer. Empty where the fault concerns no one layer.
  std::vector<std::string> layers = {};
};

struct Trainer {
  std::string rule;  ///< empty for one that has only a healthy form
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

// By what their faults concern.
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
// What people do on purpose.
void add_healthy_loops(Trainers& zoo);
void add_healthy_models(Trainers& zoo);
void add_healthy_agents(Trainers& zoo);
void add_healthy_policies(Trainers& zoo);
void add_healthy_programs(Trainers& zoo);
void add_healthy_generative(Trainers& zoo);
void add_healthy_stages(Trainers& zoo);

}  // namespace zoo
