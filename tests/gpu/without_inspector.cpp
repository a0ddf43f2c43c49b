#include <stdexcept>

#include "watching.h"

namespace watching {

void begin(const std::string&) {
  throw std::invalid_argument("this trainer has no inspector; gpu_trainer has one");
}
void attach(torch::nn::Module&, torch::optim::Optimizer*, const std::string&) {}
void push_loss(const at::Tensor&) {}
void tick() {}
std::string end() {
  return "";
}

}  // namespace watching
