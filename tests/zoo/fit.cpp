#include "zoo/fit.h"

namespace zoo {

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

}  // namespace zoo
