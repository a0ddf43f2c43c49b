#pragma once

#include <loupe/inspector.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "common/digits.h"
#include "digits/reader.h"
#include "ranks/group.h"

namespace examples {

/// One rank of data-parallel training by hand: each rank has a replica of the model, learns from its own share of the
/// digits, and takes the same steps as all others, with the mean of their gradients. A plant (see plants.h) overrides
/// the virtual members.
class Trainer {
 public:
  Trainer(Group& group, const std::string& data);
  virtual ~Trainer() = default;

  void train(loupe::Inspector& inspector, int epochs);

 protected:
  static constexpr int64_t batch_size = 16;  ///< of one rank

  /// Makes the replicas equal, once before training.
  virtual void start();
  virtual void begin_epoch() { model_->train(); }
  /// The images that this rank learns from, out of this epoch's order. Every rank takes the same number of batches.
  virtual torch::Tensor share(const torch::Tensor& order);
  virtual Digits read(const torch::Tensor& indices) { return training_.at(indices); }
  /// Returns the loss of a batch, and adds its gradients to those of the parameters.
  virtual torch::Tensor backward(const Digits& batch);
  virtual void combine_gradients() { group_.average(gradients()); }
  virtual void update() { optimizer_.step(); }
  virtual void end_epoch();
  /// The images that this rank validates with; without any, the rank does not validate.
  virtual torch::Tensor validation_share();

  const Place& place() const { return group_.place(); }
  /// Whether this is the last rank, in the third batch of the second epoch.
  bool is_last_and_its_time() const { return place().is_last() && is_time(); }
  bool is_time() const { return epoch_ == 2 && batch_ == 3; }
  std::vector<torch::Tensor> gradients() const;
  /// The weight of the layer between the convolutions and the scores.
  torch::Tensor hidden_weight() const { return model_->hidden->weight; }
  void scale_learning_rate(double factor);

  Group& group_;
  Digits training_, validation_;
  Reader model_;
  torch::optim::SGD optimizer_;
  int epoch_ = 0, batch_ = 0;  ///< counted from 1

 private:
  double train_epoch(loupe::Inspector& inspector);
  double validate(loupe::Inspector& inspector);
};

}  // namespace examples
