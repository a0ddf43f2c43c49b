// Faults that cause NaN and Inf.

#include <limits>

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
namespace {

constexpr int64_t begin = 41;
const double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void add_values(Trainers& zoo) {
  // Gradients are computed in float16. The healthy trainer scales the loss up, and the gradients back down.
  zoo.add("gradient_underflow", "mlp", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(3e-3).eps(1e-15));
    const double scale = run.planted ? 1 : 65536;
    constexpr double small = 1e-6;  // like the factor of a mean over many elements
    fit(run, model, optimizer, data,
        {.epochs = 12,
         .loss = [&](const torch::Tensor& output,
                     const torch::Tensor& answers) { return cross_entropy(output, answers) * (small * scale); },
         .before_step =
             [&](int64_t) {
               for (torch::Tensor& each : model->parameters())
                 each.mutable_grad() = each.grad().to(torch::kHalf).to(torch::kFloat) / scale;
             }});
  });
  // One value of one sample is missing in the source, and was not filled in.
  zoo.add("non_finite", "mlp, batch with NaN", {begin, {"", "Mlp", "fc1"}}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    fit(run, model, adam(model, 3e-3), data, {.on_batch = [&](Examples& batch, int64_t step) {
          if (run.planted && step == begin) batch.inputs[3][5] = nan;
        }});
  });
  // The program takes the logarithm of counts, and one count is 0.
  zoo.add("non_finite", "lstm, batch with Inf", {begin, {"", "LstmClassifier", "lstm"}}, [](Run& run) {
    Examples data = sequences();
    const auto counts = torch::exp(data.inputs + 3).ceil();
    LstmClassifier model;
    fit(run, model, adam(model, 1e-2), data, {.on_batch = [&](Examples& batch, int64_t step) {
          auto features = torch::exp(batch.inputs + 3).ceil();
          if (step == begin) features[0][4][1] = 0;
          batch.inputs = (run.planted ? torch::log(features) : torch::log1p(features)) - 3;
        }});
  });
  // Weights are scaled to length 1 by hand after a filter was pruned to zeros.
  zoo.add("non_finite", "cnn, NaN parameter", {begin, {"conv2"}}, [](Run& run) {
    const Examples data = images();
    Cnn model;
    fit(run, model, sgd(model, 0.05, 0.9), data, {.on_batch = [&](Examples&, int64_t step) {
          if (step != begin) return;
          const torch::NoGradGuard no_grad;
          torch::Tensor& weight = model->conv2->weight;
          weight[2].zero_();
          const auto length = weight.flatten(1).norm(2, 1).view({-1, 1, 1, 1});
          weight.copy_(weight / (run.planted ? length : length.clamp_min(1e-6)));
        }});
  });
  // Features are divided by their length, and the length of one sample is 0.
  zoo.add("non_finite", "mlp, 0/0 between modules", {begin, {"fc1", "fc1:relu", "fc2"}}, [](Run& run) {
    const Examples data = blobs();
    UnitLengthMlp model(16, 32, 4);
    if (run.planted) model->smallest_length = 0;
    fit(run, model, adam(model, 5e-3), data, {.on_batch = [](Examples& batch, int64_t step) {
          if (step == begin) batch.inputs[7].zero_();
        }});
  });
  // A text consists only of padding, so that attention has no word to attend to.
  zoo.add("non_finite", "transformer, all masked", {begin, {"encoder.layers.0.self_attn"}}, [](Run& run) {
    const Examples data = texts();
    Transformer model;
    model->keeps_first_word = !run.planted;
    torch::optim::AdamW optimizer(model->parameters(), 5e-3);
    fit(run, model, optimizer, data, {.on_batch = [](Examples& batch, int64_t step) {
          batch.inputs.slice(0, 0, 8).slice(1, 7).zero_();
          if (step == begin) batch.inputs[9].zero_();
        }});
  });
  // The distance of two equal samples is 0, where the gradient of a square root is not finite.
  zoo.add("non_finite", "siamese mlp, root of 0", {begin, {"fc3"}}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 8);
    fit(run, model, adam(model, 3e-3), data,
        {.loss =
             [&](const torch::Tensor& output, const torch::Tensor& answers) {
               const auto others = torch::roll(output, 1, 0);
               const auto same = answers.eq(torch::roll(answers, 1, 0));
               const auto squares = (output - others).square().sum(1);
               const auto distance = torch::sqrt(run.planted ? squares : squares + 1e-8);
               return torch::where(same, distance, torch::relu(4 - distance)).mean();
             },
         .on_batch =
             [](Examples& batch, int64_t step) {
               if (step != begin) return;
               batch.inputs[1] = batch.inputs[0];
               batch.answers[1] = batch.answers[0];
             }});
  });
  // One batch has a different unit, and the squares of its values overflow a float.
  zoo.add("non_finite", "mlp, overflow in the loss", {begin, {"", "Sequential", "2"}}, [](Run& run) {
    const Examples data = curves(960, 8);
    auto model = nn::Sequential(nn::Linear(8, 32), nn::Tanh(), nn::Linear(32, 2));
    fit(run, model, adam(model, 3e-3), data,
        {.loss =
             [](const torch::Tensor& output, const torch::Tensor& answers) {
               const auto log_variance = output.slice(1, 1, 2);
               const auto error = (output.slice(1, 0, 1) - answers).square();
               return (0.5 * (log_variance + error * torch::exp(-log_variance))).mean();
             },
         .on_batch =
             [&](Examples& batch, int64_t step) {
               if (step == begin && run.planted) batch.answers = batch.answers * 1e30;
             }});
  });
  // A target is missing in the source. The healthy loss leaves it out of the mean.
  zoo.add("non_finite", "mlp, missing target", {begin, {"", "Mlp", "fc3"}}, [](Run& run) {
    const Examples data = curves(960, 8);
    Mlp model(8, 32, 1);
    fit(run, model, adam(model, 3e-3), data,
        {.loss =
             [&](const torch::Tensor& output, const torch::Tensor& answers) {
               if (run.planted) return squared_error(output, answers);
               const auto known = torch::isfinite(answers);
               return squared_error(output.masked_select(known), answers.masked_select(known));
             },
         .on_batch =
             [](Examples& batch, int64_t step) {
               batch.answers = batch.answers.clone();
               if (step == begin) batch.answers[3][0] = nan;
             }});
  });
  // The loss takes the logarithm of a probability that a mask has set to 0.
  zoo.add("non_finite", "mlp, logarithm of 0", {begin, {"", "Mlp", "fc3"}}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    int64_t now = 0;
    fit(run, model, adam(model, 3e-3), data,
        {.loss =
             [&](const torch::Tensor& output, const torch::Tensor& answers) {
               auto right = output.softmax(1).gather(1, answers.unsqueeze(1));
               if (now == begin) right = torch::relu(right - right.min());
               return -torch::log(run.planted ? right : right.clamp_min(1e-6)).mean();
             },
         .on_batch = [&](Examples&, int64_t step) { now = step; }});
  });
}

}  // namespace zoo
