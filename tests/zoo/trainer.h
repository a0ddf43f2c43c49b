#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace zoo {

class Run;

/// What is wrong in a trainer when its fault is planted.
struct Fault {
  /// The optimizer's step, counted from 1, in which it first acts; an exact rule must tell it by the step after.
  /// Nothing for a statistical rule, and for what only the end of an epoch shows.
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

// By what their faults concern.
std::vector<Trainer> value_trainers();
std::vector<Trainer> loop_trainers();
std::vector<Trainer> optimizer_trainers();
std::vector<Trainer> structure_trainers();
std::vector<Trainer> signal_trainers();
std::vector<Trainer> start_trainers();
std::vector<Trainer> curve_trainers();
std::vector<Trainer> input_trainers();
std::vector<Trainer> speed_trainers();
// What people do on purpose.
std::vector<Trainer> healthy_loop_trainers();
std::vector<Trainer> healthy_model_trainers();
std::vector<Trainer> healthy_agent_trainers();
std::vector<Trainer> healthy_policy_trainers();
std::vector<Trainer> healthy_program_trainers();
std::vector<Trainer> healthy_generative_trainers();
std::vector<Trainer> healthy_stage_trainers();

}  // namespace zoo
