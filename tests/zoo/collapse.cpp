// Models that learn to give the same output for all samples, because the loss is small there.

#include <cmath>

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
namespace {

torch::Tensor shaken(const torch::Tensor& x) {
  return x * (0.8 + 0.4 * torch::rand({x.size(0), 1})) + torch::randn_like(x);
}

/// 16 features that depend on two hidden numbers.
torch::Tensor of_two_factors() {
  return torch::tanh(torch::randn({960, 2}).matmul(torch::randn({2, 16}))) + 0.05 * torch::randn({960, 16});
}

/// The two views of a sample should get similar outputs. The planted fault leaves out `detach()`, so that one constant
/// output for all samples minimizes the loss.
void siamese(Run& run) {
  const Examples data = blobs();
  nn::Sequential encoder(nn::Linear(16, 48), nn::BatchNorm1d(48), nn::ReLU(), nn::Linear(48, 24));
  if (!run.planted) encoder->push_back(nn::BatchNorm1d(nn::BatchNorm1dOptions(24).affine(false)));
  nn::Sequential predictor(nn::Linear(24, 12), nn::BatchNorm1d(12), nn::ReLU(), nn::Linear(12, 24));
  torch::optim::SGD encoding(encoder->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  torch::optim::SGD predicting(predictor->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  run.inspector.attach(*encoder, encoding, "encoder");
  run.inspector.attach(*predictor, predicting, "predictor");
  for_batches(run, 12, data, [&](const Examples& batch) {
    const auto one = encoder->forward(shaken(batch.inputs)), other = encoder->forward(shaken(batch.inputs));
    const auto far = [&](const torch::Tensor& seen, const torch::Tensor& foreseen) {
      const auto likeness =
          torch::cosine_similarity(predictor->forward(seen), run.planted ? foreseen : foreseen.detach());
      return 1 - likeness.mean();
    };
    const auto loss = 0.5 * (far(one, other) + far(other, one));
    encoding.zero_grad();
    predicting.zero_grad();
    loss.backward();
    encoding.step();
    predicting.step();
    run.train_loss(loss);
  });
}

/// Samples of one class should lie close together. The planted fault forgets to push other classes apart.
void pairs(Run& run) {
  const Examples data = blobs();
  Mlp model(16, 48, 8);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  for_batches(run, 8, data, [&](const Examples& batch) {
    const auto other = torch::randperm(batch.inputs.size(0));
    const auto same = batch.answers.eq(batch.answers.index_select(0, other)).to(torch::kFloat);
    const auto apart =
        (model(batch.inputs) - model(batch.inputs.index_select(0, other))).square().sum(1).add(1e-6).sqrt();
    auto loss = same * apart.square();
    if (!run.planted) loss = loss + (1 - same) * torch::relu(1 - apart).square();
    run.learn(optimizer, run.planted ? apart.square().mean() : loss.mean());
  });
}

/// The planted fault gives the divergence of the code so large a weight that a code without information is best.
void code(Run& run, int64_t width) {
  const auto inputs = of_two_factors();
  Vae model(16, 48, width);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  for_batches(run, 10, {inputs, inputs}, [&](const Examples& batch) {
    const auto [decoded, mean, log_variance] = model->forward(batch.inputs);
    const auto error = (decoded - batch.inputs).square().sum(1);
    const auto divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1);
    run.learn(optimizer, (error + (run.planted ? 30 : 0.1) * divergence).mean());
  });
}

/// The planted fault starts the codes far from all outputs of the encoder, so that one code is nearest to all samples;
/// the healthy codes start at outputs of the encoder.
void codes(Run& run, int64_t rows, int64_t width) {
  const auto inputs = of_two_factors();
  Quantizer model(16, rows, width);
  {
    const torch::NoGradGuard none;
    if (run.planted) {
      model->codes->weight.mul_(10);
    } else {
      model->codes->weight.copy_(model->encoder->forward(inputs.slice(0, 0, rows)));
    }
  }
  torch::optim::Adam optimizer(model->parameters(), 2e-3);
  run.inspector.attach(*model, optimizer);
  for_batches(run, 8, {inputs, inputs}, [&](const Examples& batch) {
    const auto [decoded, distance] = model->forward(batch.inputs);
    run.learn(optimizer, torch::mse_loss(decoded, batch.inputs) + distance);
  });
}

}  // namespace

void add_collapse(Trainers& zoo) {
  zoo.add("collapsed_output", "siamese, without a detach", {{}, {"encoder.3"}}, &siamese);
  zoo.add("collapsed_output", "mlp, pairs without a margin", {{}, {"fc3"}}, &pairs);
  zoo.add("collapsed_output", "vae, divergence", {{}, {"log_variance"}}, [](Run& run) { code(run, 4); });
  zoo.add("unused_codes", "vq-vae, 64 codes", {{}, {"codes"}}, [](Run& run) { codes(run, 64, 8); });
  zoo.add("unused_codes", "vq-vae, 128 narrow codes", {{}, {"codes"}}, [](Run& run) { codes(run, 128, 4); });
  // The outputs differ by little compared with their size, and so do the targets.
  zoo.add("", "mlp, targets of a large mean", {}, [](Run& run) {
    Examples data = blobs();
    data.answers = 20 + 0.5 * torch::tanh(data.inputs.slice(1, 0, 6));
    Mlp model(16, 48, 6);
    fit(run, model, adam(model, 1e-2), data, {.epochs = 6, .loss = squared_error});
  });
}

}  // namespace zoo
