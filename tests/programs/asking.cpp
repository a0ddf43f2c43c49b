// A trainer that asks its model for parameters at each step, and counts its address look-ups and the locks of its
// thread. Unlike times, these counts do not depend on the machine.

#include <dlfcn.h>
#include <pthread.h>
#include <torch/torch.h>

#include <atomic>
#include <cstdio>
#include <string>

namespace nn = torch::nn;

namespace {

std::atomic<int> lookups{0};
thread_local int locks = 0;  // threads of visualizers may take locks at any time

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

nn::Sequential layers(int count) {
  nn::Sequential net;
  for (int i = 0; i < count; ++i) net->push_back(nn::Linear(4, 4));
  return net;
}

/// The number of locks that are taken while the program asks for all parameters of a model.
int locks_to_ask(const nn::Module& net) {
  static_cast<void>(net.parameters());
  const int before = locks;
  static_cast<void>(net.named_parameters());
  return locks - before;
}

template <class Net>
void train(Net& net, int steps) {
  torch::optim::SGD optimizer(net.parameters(), 0.01);
  const int warm_up = steps / 2;
  for (int i = 0; i < steps; ++i) {
    if (i == warm_up) lookups = 0;
    net.zero_grad();
    net.forward(torch::randn({2, 4})).sum().backward();
    torch::nn::utils::clip_grad_norm_(net.parameters(), 1.0);
    optimizer.step();
    for (const auto& each : net.named_parameters()) static_cast<void>(each);
  }
  std::printf("look-ups %d\n", lookups.load());
}

}  // namespace

extern "C" int dladdr(const void* address, Dl_info* info) noexcept {
  static const auto real = next<int (*)(const void*, Dl_info*)>("dladdr");
  ++lookups;
  return real(address, info);
}

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto real = next<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  ++locks;
  return real(mutex);
}

int main() {
  at::set_num_threads(1);
  torch::manual_seed(5);
  nn::Sequential few = layers(2), many = layers(50);
  train(*few, 20);
  train(*many, 20);
  std::printf("locks of 48 more layers %d\n", locks_to_ask(*many) - locks_to_ask(*few));
  std::printf("weights %.17g\n", many[0]->as<nn::Linear>()->weight.sum().item<double>());
}
