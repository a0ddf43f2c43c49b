#include "zoo/fit.h"

#include <cmath>

namespace zoo {
namespace {

torch::Tensor standardized(const torch::Tensor& values) {
  return (values - values.mean()) / values.std();
}

constexpr const char* monitor = R"(
run: {name: zoo}
attach: {summary: false}
lenses: [health]
visualizers: []
)";

}  // namespace

Run::Run(std::uint64_t seed, bool planted) : planted(planted), inspector(loupe::Inspector::from_text(monitor, "zoo")) {
  torch::manual_seed(seed);
}

void Run::train_loss(const at::Tensor& loss) {
  train_losses_.push_back(loss.item<double>());
  inspector.push_loss(loss, /*train=*/true);
}

void Run::validation_loss(const at::Tensor& loss) {
  inspector.push_loss(loss, /*train=*/false);
}

void Run::learn(torch::optim::Optimizer& optimizer, const at::Tensor& loss) {
  descend(optimizer, loss);
  train_loss(loss);
}

void descend(torch::optim::Optimizer& optimizer, const at::Tensor& loss) {
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
}

void use_one_thread() {
  torch::set_num_threads(1);
}

Examples blobs(int64_t count, int64_t features, int64_t classes) {
  const auto centres = torch::randn({classes, features});
  const auto answers = torch::randint(classes, {count}, torch::kLong);
  return {standardized(centres.index_select(0, answers) + 1.5 * torch::randn({count, features})), answers};
}

Examples images(int64_t count) {
  const auto rows = torch::arange(8).view({8, 1}).expand({8, 8});
  const auto columns = rows.t();
  const auto stripes = torch::stack({rows.remainder(4), columns.remainder(4), (rows + columns).remainder(4),
                                     (rows - columns).remainder(4)})
                           .lt(2)
                           .to(torch::kFloat);
  const auto answers = torch::randint(4, {count}, torch::kLong);
  const auto clean = stripes.index_select(0, answers).unsqueeze(1);
  return {standardized(clean + torch::randn(clean.sizes())), answers};
}

Examples sequences(int64_t count, int64_t length) {
  const auto inputs = torch::randn({count, length, 4});
  return {inputs, inputs.select(2, 0).sum(1).gt(0).to(torch::kLong)};
}

Examples texts(int64_t count, int64_t length, int64_t vocabulary) {
  constexpr int64_t classes = 4;
  const auto answers = torch::randint(classes, {count}, torch::kLong);
  // Ranks are log-uniform: as in a language, a few words make up half of each text.
  const auto ranks = torch::exp(torch::rand({count, length}) * std::log(vocabulary / classes - 1)).floor();
  const auto own = torch::rand({count, length}).lt(0.5).to(torch::kLong);
  const auto any = torch::randint(classes, {count, length}, torch::kLong);
  const auto kind = own * answers.unsqueeze(1) + (1 - own) * any;
  return {ranks.to(torch::kLong) * classes + kind, answers};
}

Examples curves(int64_t count, int64_t features) {
  const auto inputs = torch::randn({count, features});
  const auto answers = torch::sin(2 * inputs.select(1, 0)) + 0.5 * inputs.select(1, 1) * inputs.select(1, 2) +
                       inputs.select(1, 3) + 0.1 * torch::randn({count});
  return {inputs, answers.unsqueeze(1)};
}

Examples part(const Examples& examples, int64_t begin, int64_t end) {
  return {examples.inputs.slice(0, begin, end), examples.answers.slice(0, begin, end)};
}

std::vector<Examples> batches(const Examples& examples, int64_t size, bool drop_last) {
  std::vector<Examples> all;
  for (const torch::Tensor& indices : torch::randperm(examples.inputs.size(0), torch::kLong).split(size)) {
    if (drop_last && indices.size(0) < size) break;
    all.push_back({examples.inputs.index_select(0, indices), examples.answers.index_select(0, indices)});
  }
  return all;
}

torch::Tensor cross_entropy(const torch::Tensor& output, const torch::Tensor& answers) {
  return torch::nn::functional::cross_entropy(output, answers);
}

torch::Tensor squared_error(const torch::Tensor& output, const torch::Tensor& answers) {
  return torch::nn::functional::mse_loss(output, answers);
}

void validate(Run& run, torch::nn::Module& model, const Forward& forward, const Examples& examples,
              const LossOf& loss) {
  const torch::NoGradGuard no_grad;
  model.eval();
  run.validation_loss(loss(forward(examples.inputs), examples.answers));
}

void train(Run& run, torch::nn::Module& model, const Forward& forward, torch::optim::Optimizer& optimizer,
           const Examples& examples, const Loop& loop) {
  int64_t step = 0;
  for ([[maybe_unused]] int epoch : run.inspector.epochs(loop.epochs)) {
    model.train();
    for (Examples& batch : batches(examples, loop.batch, loop.drop_last)) {
      ++step;
      if (loop.on_batch) loop.on_batch(batch, step);
      optimizer.zero_grad();
      const auto loss = loop.loss(forward(batch.inputs), batch.answers);
      loss.backward();
      if (loop.before_step) loop.before_step(step);
      optimizer.step();
      run.train_loss(loss);
    }
    if (loop.validation.inputs.defined()) validate(run, model, forward, loop.validation, loop.loss);
  }
}

void set_rate(torch::optim::Optimizer& optimizer, double rate) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
}

void for_batches(Run& run, int epochs, const Examples& examples, const std::function<void(const Examples&)>& learn) {
  for ([[maybe_unused]] int epoch : run.inspector.epochs(epochs)) {
    for (const Examples& batch : batches(examples, 32)) learn(batch);
  }
}

}  // namespace zoo
