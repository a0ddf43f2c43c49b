#include "ranks/trainer.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cstdio>

namespace examples {

using torch::Tensor;
using torch::indexing::None;
using torch::indexing::Slice;

namespace {

/// A random order that is the same on every rank, independent of the rank's own random numbers.
Tensor shuffled(int64_t count, uint64_t seed) {
  return torch::randperm(count, at::make_generator<at::CPUGeneratorImpl>(seed));
}

Reader replica_of(const Place& place) {
  // Each rank needs different random numbers, or dropout would drop the same units on all ranks.
  torch::manual_seed(1 + place.rank);
  return Reader();
}

}  // namespace

Trainer::Trainer(Group& group, const std::string& data)
    : group_(group),
      model_(replica_of(group.place())),
      optimizer_(model_->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9)) {
  const Digits digits = load_digits(data);
  const Tensor order = shuffled(digits.count(), 0);
  const int64_t training_count = digits.count() * 8 / 10;
  training_ = digits.at(order.slice(0, 0, training_count));
  validation_ = digits.at(order.slice(0, training_count));
}

void Trainer::start() {
  group_.broadcast(model_->parameters());
  group_.broadcast(model_->buffers());
}

Tensor Trainer::share(const Tensor& order) {
  const int64_t count = order.size(0) / place().size * place().size;
  return order.index({Slice(place().rank, count, place().size)});
}

Tensor Trainer::backward(const Digits& batch) {
  Tensor loss = nn::functional::cross_entropy(model_(batch.images), batch.labels);
  loss.backward();
  return loss.detach();
}

void Trainer::end_epoch() {
  // Batch norm statistics follow the batches of each rank. Average them, so that all ranks validate one model.
  std::vector<Tensor> statistics;
  for (const auto& buffer : model_->named_buffers()) {
    if (buffer.value().is_floating_point()) statistics.push_back(buffer.value());
  }
  group_.average(statistics);
}

Tensor Trainer::validation_share() {
  return torch::arange(place().rank, validation_.count(), place().size);
}

std::vector<Tensor> Trainer::gradients() const {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : model_->parameters()) gradients.push_back(parameter.grad());
  return gradients;
}

void Trainer::scale_learning_rate(double factor) {
  for (auto& group : optimizer_.param_groups()) group.options().set_lr(group.options().get_lr() * factor);
}

double Trainer::train_epoch(loupe::Inspector& inspector) {
  begin_epoch();
  batch_ = 0;
  double sum = 0;
  const auto batches = share(shuffled(training_.count(), static_cast<uint64_t>(epoch_))).split(batch_size);
  for (const Tensor& indices : batches) {
    ++batch_;
    optimizer_.zero_grad();
    const Tensor loss = backward(read(indices));
    combine_gradients();
    update();
    inspector.push_loss(loss, /*train=*/true);
    sum += loss.item<double>();
  }
  end_epoch();
  return sum / static_cast<double>(batches.size());
}

double Trainer::validate(loupe::Inspector& inspector) {
  const torch::NoGradGuard no_grad;
  Tensor sums = torch::zeros(2);  // sums of the losses and of the number of images
  const Digits digits = validation_.at(validation_share());
  if (digits.count() > 0) {
    model_->eval();
    const Tensor loss = nn::functional::cross_entropy(model_(digits.images), digits.labels);
    inspector.push_loss(loss, /*train=*/false);
    sums[0] = loss * digits.count();
    sums[1] = digits.count();
  }
  group_.sum(sums);
  return (sums[0] / sums[1]).item<double>();
}

void Trainer::train(loupe::Inspector& inspector, int epochs) {
  start();
  inspector.attach(*model_, optimizer_);
  for (const int epoch : inspector.epochs(epochs)) {
    epoch_ = epoch;
    const double loss = train_epoch(inspector), validation_loss = validate(inspector);
    if (place().rank != 0) continue;
    std::printf("epoch %2d/%d  loss of rank 0 %.4f  validation loss of all %.4f\n", epoch_, epochs, loss,
                validation_loss);
    std::fflush(stdout);
  }
}

}  // namespace examples
