#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>

#include "ranks/plants.h"

namespace examples {
namespace {

using torch::Tensor;

struct Drift : Trainer {
  using Trainer::Trainer;
  void combine_gradients() override {
    Trainer::combine_gradients();
    if (!place().is_last()) return;
    Tensor gradient = hidden_weight().grad();
    gradient.copy_(gradient.to(torch::kHalf));
  }
};

struct Nan : Trainer {
  using Trainer::Trainer;
  Digits read(const Tensor& indices) override {
    Digits batch = Trainer::read(indices);
    if (is_last_and_its_time()) batch.images[0][0][3][3] = std::numeric_limits<float>::quiet_NaN();
    return batch;
  }
};

struct Straggler : Trainer {
  using Trainer::Trainer;
  Digits read(const Tensor& indices) override {
    if (place().is_last()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Trainer::read(indices);
  }
};

struct SameData : Trainer {
  using Trainer::Trainer;
  Tensor share(const Tensor& order) override { return order.slice(0, 0, order.size(0) / place().size); }
};

struct NoAverage : Trainer {
  using Trainer::Trainer;
  void combine_gradients() override {
    std::vector<Tensor> copies;
    for (const Tensor& gradient : gradients()) copies.push_back(gradient.clone());
    group_.average(copies);
  }
};

struct Sum : Trainer {
  using Trainer::Trainer;
  void combine_gradients() override { group_.sum(gradients()); }
};

struct SameDropout : Trainer {
  using Trainer::Trainer;
  void start() override {
    Trainer::start();
    torch::manual_seed(1);
  }
};

struct Imbalance : Trainer {
  using Trainer::Trainer;
  Digits read(const Tensor& indices) override {
    Digits batch = Trainer::read(indices);
    if (place().is_last()) {
      const Tensor is_wrong = torch::rand(batch.count()) < 0.3;
      batch.labels = torch::where(is_wrong, torch::randint_like(batch.labels, 10), batch.labels);
    }
    return batch;
  }
};

struct Seed : Trainer {
  using Trainer::Trainer;
  void start() override {}
};

struct SkippedStep : Trainer {
  using Trainer::Trainer;
  void update() override {
    if (!is_last_and_its_time()) Trainer::update();
  }
};

void flip_a_bit(const Tensor& tensor) {
  // Flip a bit of the first number's fraction, which changes the number by a few percent.
  *static_cast<std::uint32_t*>(tensor.data_ptr()) ^= 1U << 20;
}

struct BitFlip : Trainer {
  using Trainer::Trainer;
  void update() override {
    Trainer::update();
    if (!is_last_and_its_time()) return;
    flip_a_bit(hidden_weight());
  }
};

struct StateFlip : Trainer {
  using Trainer::Trainer;
  void end_epoch() override {
    Trainer::end_epoch();
    if (!place().is_last() || epoch_ != 2) return;
    for (const auto& [parameter, state] : optimizer_.state()) {
      const Tensor momentum = static_cast<torch::optim::SGDParamState&>(*state).momentum_buffer();
      if (momentum.sizes() == hidden_weight().sizes()) flip_a_bit(momentum);  // no other parameter has this shape
    }
  }
};

struct AnotherRate : Trainer {
  using Trainer::Trainer;
  void start() override {
    Trainer::start();
    if (place().is_last()) scale_learning_rate(0.5);
  }
};

struct ClipOne : Trainer {
  using Trainer::Trainer;
  void combine_gradients() override {
    Trainer::combine_gradients();
    if (place().is_last()) nn::utils::clip_grad_norm_(model_->parameters(), 0.05);
  }
};

struct EvalOne : Trainer {
  using Trainer::Trainer;
  void begin_epoch() override {
    Trainer::begin_epoch();
    if (place().is_last()) model_->dropout->eval();
  }
};

struct BrightOne : Trainer {
  using Trainer::Trainer;
  Digits read(const Tensor& indices) override {
    Digits batch = Trainer::read(indices);
    if (place().is_last()) batch.images = batch.images * 4;
    return batch;
  }
};

}  // namespace

std::vector<Plant> faults() {
  return {
      plant<Drift>("drift", "the last rank rounds the averaged gradient of 'hidden.weight' to half precision"),
      plant<Nan>("nan", "the last rank reads one image with a NaN, in its third batch of epoch 2"),
      plant<Straggler>("straggler", "the last rank takes 20 ms longer to read each batch"),
      plant<SameData>("same-data", "each rank reads the same share of the data"),
      plant<NoAverage>("no-average", "the ranks average copies of their gradients, and step with their own"),
      plant<Sum>("sum", "the ranks step by the sum of their gradients, not by the mean"),
      plant<SameDropout>("same-dropout", "each rank gets its dropout masks from the same seed"),
      plant<Imbalance>("imbalance", "three in ten labels of the last rank are random digits"),
      plant<Seed>("seed", "each rank starts with different weights"),
      plant<SkippedStep>("skipped-step", "the last rank leaves out the third step of epoch 2"),
      plant<BitFlip>("bit-flip", "a bit of 'hidden.weight' flips in the last rank, after the third step of epoch 2"),
      plant<StateFlip>("state-flip", "a bit of the momentum of 'hidden.weight' flips in the last rank, after epoch 2"),
      plant<AnotherRate>("another-rate", "the last rank has half of the learning rate of the others"),
      plant<ClipOne>("clip-one", "only the last rank clips the averaged gradients"),
      plant<EvalOne>("eval-one", "the last rank trains with its dropout in eval mode"),
      plant<BrightOne>("bright-one", "the images of the last rank are four times as bright"),
  };
}

}  // namespace examples
