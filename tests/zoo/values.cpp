// NaN and Inf, from wherever they come.

#include <limits>

#include "zoo/fit.h"
#include "zoo/models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

constexpr int64_t begin = 41;
const double nan = std::numeric_limits<double>::quiet_NaN();

/// One value of one sample is missing in the source, and nobody filled it in.
void batch_with_nan(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  Loop loop;
  loop.on_batch = [&](Examples& batch, int64_t step) {
    if (run.planted && step == begin) batch.inputs[3][5] = nan;
  };
  fit(run, model, optimizer, data, loop);
}

/// Counts are taken to their logarithm, and one count is 0.
void batch_with_infinity(Run& run) {
  Examples data = sequences();
  const auto counts = torch::exp(data.inputs + 3).ceil();
  LstmClassifier model;
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  Loop loop;
  loop.on_batch = [&](Examples& batch, int64_t step) {
    auto features = torch::exp(batch.inputs + 3).ceil();
    if (step == begin) features[0][4][1] = 0;
    batch.inputs = (run.planted ? torch::log(features) : torch::log1p(features)) - 3;
  };
  fit(run, model, optimizer, data, loop);
}

/// Weights are brought to length 1 by hand after a filter was pruned to zeros.
void parameter_turned_nan(Run& run) {
  const Examples data = images();
  Cnn model;
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  Loop loop;
  loop.on_batch = [&](Examples&, int64_t step) {
    if (step != begin) return;
    const torch::NoGradGuard no_grad;
    torch::Tensor& weight = model->conv2->weight;
    weight[2].zero_();
    const auto length = weight.flatten(1).norm(2, 1).view({-1, 1, 1, 1});
    weight.copy_(weight / (run.planted ? length : length.clamp_min(1e-6)));
  };
  fit(run, model, optimizer, data, loop);
}

/// Features are divided by their length, and one sample has none.
void division_between_modules(Run& run) {
  const Examples data = blobs();
  UnitLengthMlp model(16, 32, 4);
  if (run.planted) model->smallest_length = 0;
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  Loop loop;
  loop.on_batch = [](Examples& batch, int64_t step) {
    if (step == begin) batch.inputs[7].zero_();
  };
  fit(run, model, optimizer, data, loop);
}

/// A text of nothing but padding leaves attention with nothing to attend to.
void wholly_masked_text(Run& run) {
  const Examples data = texts();
  Transformer model;
  model->keeps_first_word = !run.planted;
  torch::optim::AdamW optimizer(model->parameters(), 5e-3);
  Loop loop;
  loop.on_batch = [](Examples& batch, int64_t step) {
    batch.inputs.slice(0, 0, 8).slice(1, 7).zero_();
    if (step == begin) batch.inputs[9].zero_();
  };
  fit(run, model, optimizer, data, loop);
}

/// The distance of two equal samples is 0, where a square root has no slope.
void root_of_zero(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 8);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  Loop loop;
  loop.on_batch = [](Examples& batch, int64_t step) {
    if (step != begin) return;
    batch.inputs[1] = batch.inputs[0];
    batch.answers[1] = batch.answers[0];
  };
  loop.loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
    const auto others = torch::roll(output, 1, 0);
    const auto same = answers.eq(torch::roll(answers, 1, 0));
    const auto squares = (output - others).square().sum(1);
    const auto distance = torch::sqrt(run.planted ? squares : squares + 1e-8);
    return torch::where(same, distance, torch::relu(4 - distance)).mean();
  };
  fit(run, model, optimizer, data, loop);
}

/// A batch came in another unit, once, and its square is more than a float holds.
void loss_overflows(Run& run) {
  const Examples data = curves(960, 8);
  auto model = nn::Sequential(nn::Linear(8, 32), nn::Tanh(), nn::Linear(32, 2));
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  Loop loop;
  loop.on_batch = [&](Examples& batch, int64_t step) {
    if (step == begin && run.planted) batch.answers = batch.answers * 1e30;
  };
  loop.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
    const auto log_variance = output.slice(1, 1, 2);
    const auto error = (output.slice(1, 0, 1) - answers).square();
    return (0.5 * (log_variance + error * torch::exp(-log_variance))).mean();
  };
  fit(run, model, optimizer, data, loop);
}

/// Gradients are computed in float16. The healthy one scales the loss, and the gradients back.
void gradients_of_float16(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(3e-3).eps(1e-15));
  const double scale = run.planted ? 1 : 65536;
  constexpr double small = 1e-6;  // as of a mean over many elements
  Loop loop;
  loop.epochs = 12;
  loop.loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
    return cross_entropy(output, answers) * (small * scale);
  };
  loop.before_step = [&](int64_t) {
    for (torch::Tensor& each : model->parameters())
      each.mutable_grad() = each.grad().to(torch::kHalf).to(torch::kFloat) / scale;
  };
  fit(run, model, optimizer, data, loop);
}

}  // namespace

std::vector<Trainer> value_trainers() {
  return {
      {"gradient_underflow", "mlp", {}, gradients_of_float16},
      {"non_finite", "mlp, batch with NaN", {begin, {"", "Mlp", "fc1"}}, batch_with_nan},
      {"non_finite", "lstm, batch with Inf", {begin, {"", "LstmClassifier", "lstm"}}, batch_with_infinity},
      {"non_finite", "cnn, NaN parameter", {begin, {"conv2"}}, parameter_turned_nan},
      {"non_finite", "mlp, 0/0 between modules", {begin, {"fc1", "fc1:relu", "fc2"}}, division_between_modules},
      {"non_finite", "transformer, all masked", {begin, {"encoder.layers.0.self_attn"}}, wholly_masked_text},
      {"non_finite", "siamese mlp, root of 0", {begin, {"fc3"}}, root_of_zero},
      {"non_finite", "mlp, overflow in the loss", {begin, {"", "Sequential", "2"}}, loss_overflows},
  };
}

}  // namespace zoo
