// Faults in the inputs of the model, and of the loss.

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
namespace {

/// Inputs are shuffled and their targets are not: the model can only learn how frequent each class is.
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

/// Trains on four fifths of the samples, and validates on the remaining fifth (healthy) or a fifth of all (planted).
void split_twice(Run& run, const Examples& data, int architecture) {
  const int64_t all = data.inputs.size(0), most = all * 4 / 5;
  const auto order = torch::randperm(all), another = torch::randperm(all);
  const auto chosen = [&](const torch::Tensor& rows) {
    return Examples{data.inputs.index_select(0, rows), data.answers.index_select(0, rows)};
  };
  Loop loop;
  loop.epochs = 6;
  loop.validation = chosen((run.planted ? another : order).slice(0, most));
  const Examples training = chosen(order.slice(0, 0, most));
  if (architecture == 1) {
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, 5e-3), training, loop);
  } else {
    Cnn model;
    fit(run, model, adam(model, 5e-3), training, loop);
  }
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

}  // namespace

void add_inputs(Trainers& zoo) {
  // The targets of a batch have one dimension less than the outputs: each output is compared with all targets.
  zoo.add("loss_input", "mlp, l1", {1}, [](Run& run) {
    const Examples data = curves();
    Mlp model(8, 32, 1, [](const torch::Tensor& x) { return torch::gelu(x); });
    fit(run, model, adam(model, 5e-3), data, {.loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
          return torch::l1_loss(output, run.planted ? answers.squeeze(1) : answers);
        }});
  });
  // The scores of a classifier passed through a sigmoid.
  zoo.add("loss_input", "cnn, cross entropy", {1}, [](Run& run) {
    const Examples data = images();
    Cnn model;
    fit(run, model, adam(model, 5e-3), data, {.loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
          return cross_entropy(run.planted ? torch::sigmoid(output) : output, answers);
        }});
  });
  // One buffer is filled for each sample and not copied: a batch repeats its last sample many times.
  zoo.add("repeated_rows", "mlp", {3}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, 5e-3), data, {.on_batch = [&](Examples& batch, int64_t) {
          if (run.planted) batch.inputs = batch.inputs.slice(0, -1).expand({batch.inputs.size(0), -1}).contiguous();
        }});
  });
  // The data set returns a few of its samples for all indices.
  zoo.add("repeated_rows", "mlp, few samples", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, 5e-3), data, {.on_batch = [&](Examples& batch, int64_t) {
          if (!run.planted) return;
          const torch::Tensor chosen = torch::randint(5, {batch.inputs.size(0)}, torch::kLong);
          batch.inputs = data.inputs.index_select(0, chosen);
          batch.answers = data.answers.index_select(0, chosen);
        }});
  });
  // The samples for validation are drawn in a different order than the samples for training.
  zoo.add("shared_rows", "mlp, two orders", {}, [](Run& run) { split_twice(run, blobs(), 1); });
  zoo.add("shared_rows", "cnn, two orders", {}, [](Run& run) { split_twice(run, images(), 2); });
  // The model is validated on both sets, one after the other.
  zoo.add("", "mlp, also validated on what it learns", {}, [](Run& run) {
    const Examples data = blobs(), training = part(data, 0, 640), held_out = part(data, 640);
    Mlp model(16, 32, 4);
    torch::optim::Adam optimizer(model->parameters(), 5e-3);
    run.inspector.attach(*model, optimizer);
    for ([[maybe_unused]] int epoch : run.inspector.epochs(5)) {
      model->train();
      for (const Examples& batch : batches(training, 32))
        run.learn(optimizer, cross_entropy(model(batch.inputs), batch.answers));
      validate(run, model, training);
      validate(run, model, held_out);
    }
  });
  zoo.add("loss_not_decreasing", "mlp, classes of others", {}, [](Run& run) { targets_of_other_samples(run, true); });
  zoo.add("loss_not_decreasing", "mlp, numbers of others", {}, [](Run& run) { targets_of_other_samples(run, false); });
  // The pixels are whole numbers, and integer division normalizes them.
  zoo.add("unnormalized_input", "cnn, whole numbers", {}, [](Run& run) {
    const Examples data = images();
    auto model = plain_cnn();
    fit(run, model, adam(model, 5e-3), data, {.on_batch = [&](Examples& batch, int64_t) {
          if (run.planted) batch.inputs = (batch.inputs * 0.1).toType(torch::kLong).toType(torch::kFloat);
        }});
  });
  // Nearly all samples are of one class, and noise hides the others, so that the model only answers this class.
  zoo.add("unbalanced_targets", "mlp, one class alone", {}, [](Run& run) {
    Mlp model(16, 32, 4);
    fit(run, model, sgd(model, run.planted ? 0.01 : 0.1), rare_classes(),
        {.epochs = 10,
         .loss = run.planted ? cross_entropy : weighted_cross_entropy,
         .on_batch = [&](Examples& batch, int64_t) {
           if (run.planted) batch.inputs = torch::randn_like(batch.inputs);
         }});
  });
  // Most targets are padding. The healthy loss leaves padding out.
  zoo.add("unbalanced_targets", "mlp, padding", {}, [](Run& run) {
    Examples data = blobs(3200);
    data.answers =
        torch::where(torch::rand(data.answers.sizes()) < 0.9, torch::zeros_like(data.answers), data.answers % 3 + 1);
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, 5e-3), data,
        {.epochs = 12, .batch = 100, .loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
           torch::nn::functional::CrossEntropyFuncOptions options;
           if (!run.planted) options.ignore_index(0);
           return torch::nn::functional::cross_entropy(output, answers, options);
         }});
  });
  // The targets are full prices; the healthy trainer standardizes them.
  zoo.add("target_scale", "mlp, prices", {}, [](Run& run) {
    Examples data = curves();
    if (run.planted) data.answers = 210000 + 60000 * data.answers;
    Mlp model(8, 32, 1);
    fit(run, model, adam(model, 1e-3), data, {.epochs = 12, .loss = squared_error});
  });
  // The targets are lengths in millimeters; the healthy trainer has them in meters.
  zoo.add("target_scale", "mlp, millimeters", {}, [](Run& run) {
    Examples data = curves();
    if (run.planted) data.answers = 5000 * data.answers;
    Mlp model(8, 32, 1, [](const torch::Tensor& x) { return torch::tanh(x); });
    fit(run, model, adam(model, 3e-3), data,
        {.epochs = 12, .loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
           return torch::smooth_l1_loss(output, answers);
         }});
  });
  // Some classes are rare, and the model still learns them.
  zoo.add("", "mlp, rare classes that are learned", {}, [](Run& run) {
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, 1e-2), rare_classes(), {.loss = cross_entropy});
  });
  // The targets are large, and the outputs reach them within an epoch.
  zoo.add("", "mlp, large targets that are reached", {}, [](Run& run) {
    Examples data = curves();
    data.answers = 300 + 20 * data.answers;
    Mlp model(8, 32, 1);
    fit(run, model, adam(model, 0.03), data, {.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
          return torch::smooth_l1_loss(output, answers);
        }});
  });
}

}  // namespace zoo
