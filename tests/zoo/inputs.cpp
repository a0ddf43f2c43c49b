// What goes into the model, and into the loss.

#include "zoo/fit.h"
#include "zoo/models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

/// The targets of a batch have a dimension less than the outputs: each output is compared with all of them.
void targets_of_another_shape(Run& run) {
  const Examples data = curves();
  Mlp model(8, 32, 1, [](const torch::Tensor& x) { return torch::gelu(x); });
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  loop.loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
    return torch::l1_loss(output, run.planted ? answers.squeeze(1) : answers);
  };
  fit(run, model, optimizer, data, loop);
}

/// The scores of a classifier went through a sigmoid.
void sigmoid_before_cross_entropy(Run& run) {
  const Examples data = images();
  Cnn model;
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  loop.loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
    return cross_entropy(run.planted ? torch::sigmoid(output) : output, answers);
  };
  fit(run, model, optimizer, data, loop);
}

/// A buffer that is filled for each sample, and not copied: a batch is its last sample, many times over.
void buffer_without_a_copy(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  loop.on_batch = [&](Examples& batch, int64_t) {
    if (run.planted) batch.inputs = batch.inputs.slice(0, -1).expand({batch.inputs.size(0), -1}).contiguous();
  };
  fit(run, model, optimizer, data, loop);
}

/// A data set that gives some of its samples for all indices.
void few_samples(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  loop.on_batch = [&](Examples& batch, int64_t) {
    if (!run.planted) return;
    const torch::Tensor chosen = torch::randint(5, {batch.inputs.size(0)}, torch::kLong);
    batch.inputs = data.inputs.index_select(0, chosen);
    batch.answers = data.answers.index_select(0, chosen);
  };
  fit(run, model, optimizer, data, loop);
}

/// Pixels of whole numbers, divided as such.
void pixels_divided_to_zero(Run& run) {
  const Examples data = images();
  auto model = plain_cnn();
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  loop.on_batch = [&](Examples& batch, int64_t) {
    if (run.planted) batch.inputs = (batch.inputs * 0.1).toType(torch::kLong).toType(torch::kFloat);
  };
  fit(run, model, optimizer, data, loop);
}

/// Inputs are shuffled, and their targets are not: all that can be learnt is how often a class comes.
void targets_of_other_samples(Run& run, bool are_classes) {
  Examples data = are_classes ? blobs() : curves();
  if (run.planted) data.answers = data.answers.index_select(0, torch::randperm(data.answers.size(0)));
  Mlp model(data.inputs.size(1), 16, are_classes ? 4 : 1);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(are_classes ? 0.03 : 0.01).momentum(0.5));
  Loop loop;
  loop.epochs = 8;
  loop.loss = are_classes ? cross_entropy : squared_error;
  fit(run, model, optimizer, data, loop);
}

void classes_of_other_samples(Run& run) {
  targets_of_other_samples(run, true);
}

void numbers_of_other_samples(Run& run) {
  targets_of_other_samples(run, false);
}

/// All samples of the first class, and few of the others.
Examples rare_classes() {
  const Examples all = blobs(3200);
  const torch::Tensor is_common = all.answers.eq(0);
  const torch::Tensor rare = (~is_common).nonzero().squeeze(1).slice(0, 0, 48);
  const torch::Tensor chosen = torch::cat({is_common.nonzero().squeeze(1), rare});
  return {all.inputs.index_select(0, chosen), all.answers.index_select(0, chosen)};
}

torch::Tensor weighted_cross_entropy(const torch::Tensor& output, const torch::Tensor& answers) {
  const auto weights = torch::tensor({0.02, 1.0, 1.0, 1.0}, torch::kFloat);
  return torch::nn::functional::cross_entropy(output, answers,
                                              torch::nn::functional::CrossEntropyFuncOptions().weight(weights));
}

/// Nearly all samples are of one class, and noise hides the others, so that the model answers no other.
void one_class_alone(Run& run) {
  Mlp model(16, 32, 4);
  torch::optim::SGD optimizer(model->parameters(), run.planted ? 0.01 : 0.1);
  Loop loop;
  loop.epochs = 10;
  loop.on_batch = [&](Examples& batch, int64_t) {
    if (run.planted) batch.inputs = torch::randn_like(batch.inputs);
  };
  loop.loss = run.planted ? cross_entropy : weighted_cross_entropy;
  fit(run, model, optimizer, rare_classes(), loop);
}

/// Most targets are padding. The healthy one leaves those out.
void padding_among_the_targets(Run& run) {
  Examples data = blobs(3200);
  data.answers =
      torch::where(torch::rand(data.answers.sizes()) < 0.9, torch::zeros_like(data.answers), data.answers % 3 + 1);
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  loop.epochs = 12;
  loop.batch = 100;
  loop.loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
    torch::nn::functional::CrossEntropyFuncOptions options;
    if (!run.planted) options.ignore_index(0);
    return torch::nn::functional::cross_entropy(output, answers, options);
  };
  fit(run, model, optimizer, data, loop);
}

/// Rare classes that the model learns all the same.
void rare_classes_learned(Run& run) {
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  Loop loop;
  loop.loss = cross_entropy;
  fit(run, model, optimizer, rare_classes(), loop);
}

/// Prices in full, which the healthy one has standardized.
void prices_in_full(Run& run) {
  Examples data = curves();
  if (run.planted) data.answers = 210000 + 60000 * data.answers;
  Mlp model(8, 32, 1);
  torch::optim::Adam optimizer(model->parameters(), 1e-3);
  Loop loop;
  loop.epochs = 12;
  loop.loss = squared_error;
  fit(run, model, optimizer, data, loop);
}

/// Lengths in millimeters, which the healthy one has in meters.
void lengths_in_millimeters(Run& run) {
  Examples data = curves();
  if (run.planted) data.answers = 5000 * data.answers;
  Mlp model(8, 32, 1, [](const torch::Tensor& x) { return torch::tanh(x); });
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  Loop loop;
  loop.epochs = 12;
  loop.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
    return torch::smooth_l1_loss(output, answers);
  };
  fit(run, model, optimizer, data, loop);
}

/// Large targets, which the steps reach within an epoch.
void large_targets_reached(Run& run) {
  Examples data = curves();
  data.answers = 300 + 20 * data.answers;
  Mlp model(8, 32, 1);
  torch::optim::Adam optimizer(model->parameters(), 0.03);
  Loop loop;
  loop.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
    return torch::smooth_l1_loss(output, answers);
  };
  fit(run, model, optimizer, data, loop);
}

}  // namespace

std::vector<Trainer> input_trainers() {
  return {
      {"loss_input", "mlp, l1", {1}, targets_of_another_shape},
      {"loss_input", "cnn, cross entropy", {1}, sigmoid_before_cross_entropy},
      {"repeated_rows", "mlp", {3}, buffer_without_a_copy},
      {"repeated_rows", "mlp, few samples", {}, few_samples},
      {"loss_not_decreasing", "mlp, classes of others", {}, classes_of_other_samples},
      {"loss_not_decreasing", "mlp, numbers of others", {}, numbers_of_other_samples},
      {"unnormalized_input", "cnn, whole numbers", {}, pixels_divided_to_zero},
      {"unbalanced_targets", "mlp, one class alone", {}, one_class_alone},
      {"unbalanced_targets", "mlp, padding", {}, padding_among_the_targets},
      {"target_scale", "mlp, prices", {}, prices_in_full},
      {"target_scale", "mlp, millimeters", {}, lengths_in_millimeters},
      {"", "mlp, rare classes that are learned", {}, rare_classes_learned},
      {"", "mlp, large targets that are reached", {}, large_targets_reached},
  };
}

}  // namespace zoo
