#pragma once

#include <torch/torch.h>

#include <array>

namespace zoo {

/// What an agent sees after an action, and what it earned. Where the episode ends, the caller begins another.
struct Turn {
  torch::Tensor seen;
  double reward = 0;
  bool ends = false;
};

// Worlds draw from LibTorch's global generator, so that a seed fixes them.

/// Cells in a row, a wall at the left and the reward at the right. Whoever walks against the wall stays.
class Corridor {
 public:
  static constexpr int64_t cells = 8, actions = 2;
  torch::Tensor begin();
  Turn act(int64_t action);

 private:
  int64_t cell_ = 0;
};

/// A square of cells, the reward in the corner opposite the start. Each turn costs a little.
class Grid {
 public:
  static constexpr int64_t width = 4, cells = width * width, actions = 4;
  torch::Tensor begin();
  Turn act(int64_t action);

 private:
  int64_t row_ = 0, column_ = 0;
};

/// The pole on a cart that every course begins with; an episode has 60 turns at most.
class CartPole {
 public:
  static constexpr int64_t features = 4, actions = 2;
  torch::Tensor begin();
  Turn act(int64_t action);

 private:
  std::array<double, 4> state_ = {};  ///< position, speed, angle, angular speed
  int turns_ = 0;
};

/// A mass on a line that a force in [-1, 1] brings to 0. It goes on for ever.
class PointMass {
 public:
  static constexpr int64_t features = 2;
  torch::Tensor begin();
  Turn act(double force);

 private:
  double position_ = 0, speed_ = 0;
};

}  // namespace zoo
