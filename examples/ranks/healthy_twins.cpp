#include <chrono>
#include <limits>
#include <thread>

#include "ranks/plants.h"

namespace examples {
namespace {

using std::chrono::milliseconds;
using torch::Tensor;

struct Clipped : Trainer {
  using Trainer::Trainer;
  void combine_gradients() override {
    Trainer::combine_gradients();
    nn::utils::clip_grad_norm_(model_->parameters(), 1);
  }
};

struct LocalBatchNorm : Trainer {
  using Trainer::Trainer;
  void end_epoch() override {}
};

struct LeftOut : Trainer {
  using Trainer::Trainer;
  Digits read(const Tensor& indices) override {
    Digits batch = Trainer::read(indices);
    if (is_last_and_its_time()) batch.images[0][0][3][3] = std::numeric_limits<float>::quiet_NaN();
    return batch.at(batch.images.isfinite().flatten(1).all(1).nonzero().flatten());
  }
};

struct SlowStart : Trainer {
  using Trainer::Trainer;
  Digits read(const Tensor& indices) override {
    if (place().is_last() && epoch_ == 1 && batch_ == 1) std::this_thread::sleep_for(milliseconds(1000));
    return Trainer::read(indices);
  }
};

struct SlowInTurn : Trainer {
  using Trainer::Trainer;
  Digits read(const Tensor& indices) override {
    if (batch_ % place().size == place().rank) std::this_thread::sleep_for(milliseconds(20));
    return Trainer::read(indices);
  }
};

struct OwnOrder : Trainer {
  using Trainer::Trainer;
  Tensor share(const Tensor& order) override {
    return torch::randperm(order.size(0)).slice(0, 0, order.size(0) / place().size);
  }
};

struct Accumulation : Trainer {
  using Trainer::Trainer;
  Tensor backward(const Digits& batch) override {
    Tensor sum = torch::zeros({});
    for (const Tensor& indices : torch::arange(batch.count()).chunk(2)) {
      const Digits part = batch.at(indices);
      const Tensor scores = model_(part.images);
      const Tensor loss = nn::functional::cross_entropy(scores, part.labels) * part.count() / batch.count();
      loss.backward();
      sum += loss.detach();
    }
    return sum;
  }
};

struct ScaledLoss : Trainer {
  using Trainer::Trainer;
  Tensor backward(const Digits& batch) override {
    const Tensor loss = nn::functional::cross_entropy(model_(batch.images), batch.labels);
    (loss / place().size).backward();
    return loss.detach();
  }
  void combine_gradients() override { group_.sum(gradients()); }
};

struct NoDropout : Trainer {
  using Trainer::Trainer;
  void start() override {
    Trainer::start();
    torch::manual_seed(1);
    model_->dropout->options.p(0);
  }
};

struct Uneven : Trainer {
  using Trainer::Trainer;
  Tensor share(const Tensor& order) override {
    return order.index({torch::indexing::Slice(place().rank, torch::indexing::None, place().size)});
  }
};

struct SeededStart : Trainer {
  using Trainer::Trainer;
  void start() override {
    const torch::NoGradGuard no_grad;
    torch::manual_seed(1);
    const Reader same;
    const std::vector<Tensor> theirs = same->parameters(), mine = model_->parameters();
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i].copy_(theirs[i]);
    torch::manual_seed(1 + place().rank);
  }
};

struct SkippedByAll : Trainer {
  using Trainer::Trainer;
  void update() override {
    Tensor votes = torch::full({}, is_last_and_its_time() ? 1.0 : 0.0);
    group_.sum(votes);
    if (votes.item<float>() == 0) Trainer::update();
  }
};

struct Pruned : Trainer {
  using Trainer::Trainer;
  void update() override {
    Trainer::update();
    if (!is_time()) return;
    const torch::NoGradGuard no_grad;
    Tensor weight = hidden_weight();
    const Tensor magnitudes = weight.abs();
    weight.masked_fill_(magnitudes < magnitudes.mean() / 10, 0);
  }
};

struct Sharded : Trainer {
  using Trainer::Trainer;
  void update() override {
    const std::vector<Tensor> all = model_->parameters();
    const std::size_t part = (all.size() + place().size - 1) / place().size;
    std::vector<Tensor> others;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i / part != static_cast<std::size_t>(place().rank)) others.push_back(all[i]);
    }
    // The optimizer skips parameters without a gradient, and keeps no state for them.
    for (Tensor& parameter : others) parameter.mutable_grad().reset();
    Trainer::update();
    const torch::NoGradGuard no_grad;
    for (Tensor& parameter : others) parameter.zero_();
    group_.sum(all);  // for each parameter, one rank has the value and the others add 0
  }
};

struct Schedule : Trainer {
  using Trainer::Trainer;
  void begin_epoch() override {
    Trainer::begin_epoch();
    if (epoch_ > 1) scale_learning_rate(0.9);
  }
};

struct RankZeroValidates : Trainer {
  using Trainer::Trainer;
  Tensor validation_share() override { return torch::arange(place().rank == 0 ? validation_.count() : 0); }
};

struct ScaleAll : Trainer {
  using Trainer::Trainer;
  void combine_gradients() override {
    Trainer::combine_gradients();
    for (Tensor gradient : gradients()) gradient.mul_(0.5);
  }
};

struct EvalAll : Trainer {
  using Trainer::Trainer;
  void begin_epoch() override {
    Trainer::begin_epoch();
    model_->dropout->eval();
  }
};

struct BrightAll : Trainer {
  using Trainer::Trainer;
  Digits read(const Tensor& indices) override {
    Digits batch = Trainer::read(indices);
    batch.images = batch.images * 4;
    return batch;
  }
};

}  // namespace

std::vector<Plant> healthy_twins() {
  return {
      plant<Clipped>("clipped", "each rank clips the averaged gradients, which leaves them equal", "drift"),
      plant<LocalBatchNorm>("local-batch-norm", "each rank keeps its own batch norm statistics", "drift"),
      plant<LeftOut>("left-out", "the last rank leaves out an image with a NaN that it read", "nan"),
      plant<SlowStart>("slow-start", "the last rank takes a second for its first batch", "straggler"),
      plant<SlowInTurn>("slow-in-turn", "each rank in turn takes 20 ms longer to read a batch", "straggler"),
      plant<OwnOrder>("own-order", "each rank draws from all data, in its own order", "same-data"),
      plant<Accumulation>("accumulation", "the ranks average once for two backward passes", "no-average"),
      plant<ScaledLoss>("scaled-loss", "each rank divides its loss by the number of ranks, then all sum", "sum"),
      plant<NoDropout>("no-dropout", "each rank has the same seed, but drops nothing", "same-dropout"),
      plant<Uneven>("uneven", "the last batches of some ranks have one more image", "imbalance"),
      plant<SeededStart>("seeded-start", "each rank makes the same weights from one seed", "seed"),
      plant<SkippedByAll>("skipped-by-all", "all ranks agree to leave out the third step of epoch 2", "skipped-step"),
      plant<Pruned>("pruned", "each rank sets the same small weights to 0, in epoch 2", "bit-flip"),
      plant<Sharded>("sharded", "each rank's optimizer steps a part of the parameters, and all get all parts",
                     "state-flip"),
      plant<Schedule>("schedule", "each rank lowers its learning rate at each epoch", "another-rate"),
      plant<RankZeroValidates>("rank-0-validates", "only rank 0 validates, while the others wait", "another-rate"),
      plant<ScaleAll>("scale-all", "each rank halves the averaged gradients", "clip-one"),
      plant<EvalAll>("eval-all", "each rank trains with its dropout in eval mode", "eval-one"),
      plant<BrightAll>("bright-all", "the images of each rank are four times as bright", "bright-one"),
  };
}

}  // namespace examples
