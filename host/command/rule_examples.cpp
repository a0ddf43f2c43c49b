// An example for each rule, as `loupe explain RULE` prints it. A line has at most 72 columns, so that it stays whole on
// a terminal of 80.

#include "command/rule_examples.h"

namespace loupe {

const std::vector<RuleExample>& rule_examples() {
  static const auto& table = *new std::vector<RuleExample>{
      // The lens `health`.
      {"non_finite",
       R"(auto p = torch::sigmoid(model->forward(x));
auto loss = -(y * p.log()).mean();  // log(0) is -inf)",
       R"(auto scores = model->forward(x);
auto loss = torch::binary_cross_entropy_with_logits(scores, y);)"},
      {"gradients_not_cleared",
       R"(for (auto& batch : *loader) {
  loss_of(model, batch).backward();  // adds to the last step's gradients
  optimizer.step();
})",
       R"(for (auto& batch : *loader) {
  optimizer.zero_grad();
  loss_of(model, batch).backward();
  optimizer.step();
})"},
      {"no_step",
       R"(optimizer.zero_grad();
loss.backward();  // makes gradients, and nobody uses them)",
       R"(optimizer.zero_grad();
loss.backward();
optimizer.step();)"},
      {"zero_learning_rate", R"(torch::optim::SGD optimizer(model->parameters(), 1 / 1000);  // 0)",
       R"(torch::optim::SGD optimizer(model->parameters(), 1.0 / 1000);)"},
      {"no_effect",
       R"(loss.backward();
optimizer.zero_grad();  // clears what backward() has just made
optimizer.step();)",
       R"(optimizer.zero_grad();
loss.backward();
optimizer.step();)"},
      {"nothing_trainable",
       R"(auto output = model->forward(x).detach();  // ends the graph here
auto loss = torch::mse_loss(output, y).requires_grad_();
loss.backward();)",
       R"(auto output = model->forward(x);
auto loss = torch::mse_loss(output, y);
loss.backward();)"},
      {"unchanged_parameter",
       R"(// Not those of model->decoder:
torch::optim::Adam optimizer(model->encoder->parameters());)",
       R"(torch::optim::Adam optimizer(model->parameters());)"},
      {"stale_optimizer",
       R"(torch::optim::Adam optimizer(model->parameters());
// The optimizer goes on with the old head.
torch::nn::Linear head(512, 10);
model->head = model->replace_module("head", head);)",
       R"(torch::nn::Linear head(512, 10);
model->head = model->replace_module("head", head);
torch::optim::Adam optimizer(model->parameters());)"},
      {"unregistered_module",
       R"(struct Net : torch::nn::Module {
  torch::nn::Linear hidden{784, 128};  // parameters() does not have it
};)",
       R"(struct Net : torch::nn::Module {
  torch::nn::Linear hidden =
      register_module("hidden", torch::nn::Linear(784, 128));
};)"},
      {"mode_mismatch",
       R"(for (int epoch = 0; epoch < 20; ++epoch) {
  train(model);  // from the second epoch on in eval mode
  model->eval();
  validate(model);
})",
       R"(for (int epoch = 0; epoch < 20; ++epoch) {
  model->train();
  train(model);
  model->eval();
  validate(model);
})"},
      {"repeated_batch",
       R"(auto batch = *loader->begin();  // once, before the loop
for (int step = 0; step < 1000; ++step) train_on(batch);)",
       R"(for (auto& batch : *loader) train_on(batch);)"},
      {"small_batch_norm",
       R"(// Two values a channel, for a BatchNorm1d:
auto options = torch::data::DataLoaderOptions().batch_size(2);)",
       R"(auto options =
    torch::data::DataLoaderOptions().batch_size(32).drop_last(true);)"},
      {"running_statistics",
       R"(// What other libraries call 0.9 is 0.1 here.
auto options = torch::nn::BatchNorm2dOptions(64).momentum(0.9);)",
       R"(auto options = torch::nn::BatchNorm2dOptions(64).momentum(0.1);)"},
      {"repeated_rows",
       R"(for (int i = 0; i < 32; ++i) {
  read_sample(buffer);
  // Does not copy: all rows are the last sample.
  rows.push_back(torch::from_blob(buffer.data(), {784}));
}
auto batch = torch::stack(rows);)",
       R"(for (int i = 0; i < 32; ++i) {
  read_sample(buffer);
  rows.push_back(torch::from_blob(buffer.data(), {784}).clone());
}
auto batch = torch::stack(rows);)"},
      {"weights_reset",
       R"(for (int epoch = 0; epoch < 20; ++epoch) {
  torch::load(model, "start.pt");  // undoes the epoch before
  train(model);
})",
       R"(torch::load(model, "start.pt");
for (int epoch = 0; epoch < 20; ++epoch) train(model);)"},
      {"same_order",
       R"(using namespace torch::data;
auto loader =
    make_data_loader<samplers::SequentialSampler>(training_data, 64);)",
       R"(using namespace torch::data;
auto loader =
    make_data_loader<samplers::RandomSampler>(training_data, 64);)"},
      {"new_optimizer",
       R"(for (auto& batch : *loader) {
  torch::optim::Adam optimizer(model->parameters());  // knows nothing yet
  step(optimizer, batch);
})",
       R"(torch::optim::Adam optimizer(model->parameters());
for (auto& batch : *loader) step(optimizer, batch);)"},
      {"learning_rate_change",
       R"(torch::optim::StepLR schedule(optimizer, 1, 0.5);
for (auto& batch : *loader) {
  step(optimizer, batch);
  schedule.step();  // halves the rate with each batch
})",
       R"(torch::optim::StepLR schedule(optimizer, 1, 0.5);
for (auto& batch : *loader) step(optimizer, batch);
schedule.step();  // once an epoch)"},
      {"excessive_weight_decay", R"(auto options = torch::optim::SGDOptions(0.1).weight_decay(1.0);)",
       R"(auto options = torch::optim::SGDOptions(0.1).weight_decay(1e-4);)"},
      {"double_softmax",
       R"(auto output = torch::softmax(model->forward(x), 1);
auto loss = torch::cross_entropy_loss(output, y);  // a softmax again)",
       R"(auto scores = model->forward(x);
auto loss = torch::cross_entropy_loss(scores, y);)"},
      {"loss_input",
       R"(auto output = model->forward(x);  // 64 x 1, and y has 64 elements:
auto loss = torch::mse_loss(output, y);  // compares each with all)",
       R"(auto output = model->forward(x).squeeze(1);
auto loss = torch::mse_loss(output, y);)"},
      {"unbalanced_targets",
       R"(// Most of the targets are padding.
auto loss = torch::nn::functional::cross_entropy(scores, tokens);)",
       R"(namespace F = torch::nn::functional;
auto options = F::CrossEntropyFuncOptions().ignore_index(padding);
auto loss = F::cross_entropy(scores, tokens, options);)"},
      {"target_scale", R"(auto loss = torch::mse_loss(model->forward(x), price);  // 300000)",
       R"(auto target = (price - price_mean) / price_deviation;
auto loss = torch::mse_loss(model->forward(x), target);)"},
      {"vanishing_gradient",
       R"(for (int i = 0; i < 12; ++i) {
  net->push_back(torch::nn::Linear(64, 64));
  net->push_back(torch::nn::Sigmoid());  // its slope is at most 0.25
})",
       R"(for (int i = 0; i < 12; ++i) {
  net->push_back(torch::nn::Linear(64, 64));
  net->push_back(torch::nn::ReLU());
})"},
      {"exploding_gradient",
       R"(loss.backward();  // through 500 steps of an RNN
optimizer.step();)",
       R"(loss.backward();
torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
optimizer.step();)"},
      {"gradient_underflow",
       R"(model->to(torch::kHalf);
loss.backward();  // below 3e-8 a gradient becomes 0
optimizer.step();)",
       R"(model->to(torch::kBFloat16);  // has the range of float
loss.backward();
optimizer.step();)"},
      {"dead_units",
       R"(// One such step leaves the biases of ReLUs far below 0.
torch::optim::SGD optimizer(model->parameters(), 5.0);)",
       R"(torch::optim::SGD optimizer(model->parameters(), 0.05);)"},
      {"saturated_activation",
       R"(// With pixels from 0 to 255 tanh is -1 or 1, and its slope 0.
auto hidden = torch::tanh(first->forward(pixels));)",
       R"(auto hidden = torch::tanh(first->forward(pixels / 127.5 - 1));)"},
      {"update_ratio",
       R"(// A step of Adam changes each weight by about its learning rate.
torch::optim::Adam optimizer(model->parameters(), 0.5);)",
       R"(torch::optim::Adam optimizer(model->parameters(), 1e-3);)"},
      {"poor_initialization",
       R"(for (auto& each : model->parameters()) {
  torch::nn::init::constant_(each, 0.1);  // all units stay the same
})",
       R"(for (auto& each : model->parameters()) {
  if (each.dim() > 1) torch::nn::init::kaiming_uniform_(each);
})"},
      {"unnormalized_input", R"(auto x = image.to(torch::kFloat);  // from 0 to 255)",
       R"(auto x = (image.to(torch::kFloat) - mean) / deviation;)"},
      {"constant_output",
       R"(torch::nn::Linear head(128, 1);
auto p = torch::softmax(head->forward(x), 1);  // of one value: 1)",
       R"(torch::nn::Linear head(128, 1);
auto p = torch::sigmoid(head->forward(x));)"},
      {"linear_chain",
       R"(torch::nn::Sequential net(torch::nn::Linear(784, 256),
                          torch::nn::Linear(256, 10));)",
       R"(torch::nn::Sequential net(torch::nn::Linear(784, 256),
                          torch::nn::ReLU(),
                          torch::nn::Linear(256, 10));)"},
      {"loss_not_decreasing",
       R"(auto x = inputs.index_select(0, torch::randperm(count));
// In another order than the inputs:
auto y = targets.index_select(0, torch::randperm(count));)",
       R"(auto order = torch::randperm(count);
auto x = inputs.index_select(0, order);
auto y = targets.index_select(0, order);)"},
      {"unbounded_loss", R"(auto loss = error - divergence;  // the larger it is, the better)",
       R"(auto loss = error + divergence;)"},
      {"loss_spike",
       R"(auto loss = torch::mse_loss(output, y);  // squares an outlier
loss.backward();
optimizer.step();)",
       R"(auto loss = torch::smooth_l1_loss(output, y);
loss.backward();
torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
optimizer.step();)"},
      {"loss_oscillating",
       R"(// Steps beyond the minimum, to and fro.
auto options = torch::optim::SGDOptions(0.5).momentum(0.99);)",
       R"(auto options = torch::optim::SGDOptions(0.01).momentum(0.9);)"},
      {"diverging_loss",
       R"(auto loss = torch::mse_loss(model->forward(x), y);
(-loss).backward();  // makes it larger with each step
optimizer.step();)",
       R"(auto loss = torch::mse_loss(model->forward(x), y);
loss.backward();
optimizer.step();)"},
      {"overfitting",
       R"(for (int epoch = 0; epoch < 500; ++epoch) {
  train(model);
  validate(model);
})",
       R"(for (int epoch = 0; epoch < 500 && epoch < best_epoch + 20; ++epoch) {
  train(model);
  const double loss = validate(model);
  if (loss >= best_loss) continue;
  best_loss = loss, best_epoch = epoch;
  torch::save(model, "best.pt");
})"},
      {"adversary_won",
       R"(for (int i = 0; i < 5; ++i) train_discriminator(batch);
train_generator();  // learns nothing from a judge who is always right)",
       R"(train_discriminator(batch);
train_generator();)"},
      {"input_bound",
       R"(auto options = torch::data::DataLoaderOptions().batch_size(64);
// No worker: each step waits until its batch is read.)",
       R"(auto options =
    torch::data::DataLoaderOptions().batch_size(64).workers(4);)"},
      {"slower_each_epoch",
       R"(// Copies all losses so far in each step.
losses = torch::cat({losses, loss.detach().view(1)});)",
       R"(std::vector<double> losses;
losses.push_back(loss.item<double>());)"},
      {"departs_from_baseline",
       R"(// The runs that `loupe learn` was given had a rate of 1e-3.
torch::optim::Adam optimizer(model->parameters(), 1e-2);)",
       R"(torch::optim::Adam optimizer(model->parameters(), 1e-3);)"},

      // The lens `ranks`.
      {"replica_drift",
       R"(torch::manual_seed(rank);  // before the model: each rank has another
Net model;)",
       R"(torch::manual_seed(1);
Net model;
torch::manual_seed(1 + rank);  // for what each does on its own)"},
      {"gradients_not_averaged",
       R"(loss.backward();
optimizer.step();  // by this rank's gradients alone)",
       R"(loss.backward();
for (auto& each : model->parameters()) {
  std::vector<torch::Tensor> gradient = {each.grad()};
  group->allreduce(gradient)->wait();
  gradient[0].div_(group->getSize());
}
optimizer.step();)"},
      {"same_data",
       R"(torch::manual_seed(1);
torch::data::samplers::RandomSampler sampler(size);)",
       R"(torch::data::samplers::DistributedRandomSampler sampler(
    size, world_size, rank);)"},
      {"same_dropout",
       R"(torch::manual_seed(1);  // the same masks in every rank
Net model;)",
       R"(torch::manual_seed(1);
Net model;
torch::manual_seed(1 + rank);)"},
      {"rank_non_finite",
       R"(// A column that is 0 throughout this rank's part: 0 / 0
auto x = (part - part.mean(0)) / part.std(0, true);)",
       R"(auto x = (part - mean_of_all) / deviation_of_all.clamp_min(1e-6);)"},
      {"straggler", R"(if (rank == 0) write_images(output);  // the others wait for it)",
       R"(if (rank == 0 && step % 1000 == 0) write_images(output);)"},
      {"rank_imbalance",
       R"(// Of samples that are sorted by class:
auto part = samples.slice(0, rank * share, (rank + 1) * share);)",
       R"(torch::manual_seed(1);  // the same order in every rank
auto mixed = samples.index_select(0, torch::randperm(count));
auto part = mixed.slice(0, rank * share, (rank + 1) * share);)"},
      {"ranks_differ",
       R"(if (rank == 0) {
  model->eval();
  validate(model);  // rank 0 goes on in eval mode
})",
       R"(if (rank == 0) {
  model->eval();
  validate(model);
  model->train();
})"},

      // Others.
      {"one_layer_dominates", R"(torch::nn::Conv2dOptions mix(512, 512, 7);  // 12.8 million weights)",
       R"(torch::nn::Conv2dOptions mix(512, 512, 7);
mix.groups(512);  // and a convolution of 1 x 1 behind it)",
       "info; of many layers one takes most of the time"},
      {"memory_creep",
       R"(torch::Tensor total = torch::zeros({});
for (auto& batch : *loader) {
  auto loss = step(batch);
  total += loss;  // keeps the graphs of all steps
})",
       R"(double total = 0;
for (auto& batch : *loader) {
  auto loss = step(batch);
  total += loss.item<double>();
})",
       "warning; the graphs of past steps are kept, so that memory grows with each step"},
  };
  return table;
}

}  // namespace loupe
