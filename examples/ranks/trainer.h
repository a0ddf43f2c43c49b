#pragma once

#include <loupe/inspector.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "common/digits.h"
#include "digits/reader.h"
#include "ranks/group.h"

namespace examples {

/// One rank of data parallel training by hand: each rank has a replica of the model, learns from its own share of the
/// digits, and takes the steps that all others take, by the mean of their gradients. The virtual members are the places
/// where a plant (see plants.h) does something else.
class Trainer {
 public:
  Trainer(Group& group, const std::string& data);
  virtual ~Trainer() = default;

  void train(loupe::Inspector& inspector, int epochs);

 protected:
  static constexpr int64_t batch_size = 16;  ///< of one rank

  /// Once, before training: makes the replicas equal.
  virtual void start();
  virtual void begin_epoch() { model_->train(); }
  /// Which images this rank learns from, of all in the order of this epoch. Every rank takes as many batches.
  virtual torch::Tensor share(const torch::Tensor& order);
  virtual Digits read(const torch::Tensor& indices) { return training_.at(indices); }
  /// The loss of a batch, whose gradients it adds to the parameters'.
  virtual torch::Tensor backward(const Digits& batch);
  virtual void combine_gradients() { group_.average(gradients()); }
  virtual void update() { optimizer_.step(); }
  virtual void end_epoch();
  /// Which images this rank validates with; none: it does not.
  virtual torch::Tensor validation_share();

  const Place& place() const { return group_.place(); }
  /// Whether this is the last rank, in the third batch of the second epoch.
  bool is_last_and_its_time() const { return place().is_last() && is_time(); }
  bool is_time() const { return epoch_ == 2 && batch_ == 3; }
  std::vector<torch::Tensor> gradients() const;
  /// Of the layer between the convolutions and the scores.
  torch::Tensor hidden_weight() const { return model_->hidden->weight; }
  void scale_learning_rate(double factor);

  Group& group_;
  Digits training_, validation_;
  Reader model_;
  torch::optim::SGD optimizer_;
  int epoch_ = 0, batch_ = 0;  ///< from 1 on

 private:
  double train_epoch(loupe::Inspector& inspector);
  double validate(loupe::Inspector& inspector);
};

}  // namespace examples
