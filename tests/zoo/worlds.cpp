#include "zoo/worlds.h"

#include <algorithm>
#include <cmath>

namespace zoo {
namespace {

torch::Tensor one_hot(int64_t cell, int64_t cells) {
  auto seen = torch::zeros({cells});
  seen[cell] = 1;
  return seen;
}

torch::Tensor as_tensor(const std::array<double, 4>& state) {
  return torch::tensor({state[0], state[1], state[2], state[3]}, torch::kFloat);
}

}  // namespace

torch::Tensor Corridor::begin() {
  cell_ = 0;
  return one_hot(cell_, cells);
}

Turn Corridor::act(int64_t action) {
  cell_ = std::max<int64_t>(cell_ + (action == 1 ? 1 : -1), 0);
  const bool arrived = cell_ == cells - 1;
  return {one_hot(cell_, cells), arrived ? 1.0 : 0.0, arrived};
}

torch::Tensor Grid::begin() {
  row_ = column_ = 0;
  return one_hot(0, cells);
}

Turn Grid::act(int64_t action) {
  int64_t& coordinate = action < 2 ? row_ : column_;
  coordinate = std::clamp<int64_t>(coordinate + (action % 2 == 0 ? 1 : -1), 0, width - 1);
  const int64_t cell = row_ * width + column_;
  const bool arrived = cell == cells - 1;
  return {one_hot(cell, cells), arrived ? 1.0 : -0.02, arrived};
}

torch::Tensor CartPole::begin() {
  turns_ = 0;
  for (double& each : state_) each = 0.1 * torch::rand({}).item<double>() - 0.05;
  return as_tensor(state_);
}

Turn CartPole::act(int64_t action) {
  constexpr double gravity = 9.8, cart = 1, pole = 0.1, half_length = 0.5, seconds = 0.02;
  auto& [position, speed, angle, turning] = state_;
  const double force = action == 1 ? 10 : -10;
  const double sine = std::sin(angle), cosine = std::cos(angle);
  const double pushed = (force + pole * half_length * turning * turning * sine) / (cart + pole);
  const double falling =
      (gravity * sine - cosine * pushed) / (half_length * (4.0 / 3 - pole * cosine * cosine / (cart + pole)));
  const double rolling = pushed - pole * half_length * falling * cosine / (cart + pole);
  position += seconds * speed;
  speed += seconds * rolling;
  angle += seconds * turning;
  turning += seconds * falling;
  const bool fell = std::abs(position) > 2.4 || std::abs(angle) > 0.21;
  return {as_tensor(state_), 1, fell || ++turns_ == 60};
}

torch::Tensor PointMass::begin() {
  position_ = 2 * torch::rand({}).item<double>() - 1;
  speed_ = 0;
  return torch::tensor({position_, speed_}, torch::kFloat);
}

Turn PointMass::act(double force) {
  speed_ = 0.9 * speed_ + 0.2 * force;
  position_ = std::clamp(position_ + 0.2 * speed_, -2.0, 2.0);
  return {torch::tensor({position_, speed_}, torch::kFloat), 1 - position_ * position_ - 0.1 * speed_ * speed_, false};
}

}  // namespace zoo
