// Models that people make on purpose, and that must not be taken for faulty ones.

#include "zoo/fit.h"
#include "zoo/models.h"
#include "zoo/trainer.h"

namespace zoo {
namespace {

/// Pretrained features stay as they are, their batch norm's statistics too.
void frozen_batch_norm(Run& run) {
  const Examples data = images(), held_out = images(256);
  Transfer model;
  const Forward forward = [&](const torch::Tensor& x) { return model(x); };
  freeze(*model->backbone);
  torch::optim::Adam optimizer(model->head->parameters(), 5e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    model->train();
    model->backbone->eval();
    for (const Examples& batch : batches(data, 32)) {
      optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
    validate(run, *model, forward, held_out);
  }
}

/// After each epoch the spread of several passes with dropout tells how sure the model is.
void dropout_for_uncertainty(Run& run) {
  const Examples all = blobs(1024);
  const Examples data = {all.inputs.slice(0, 0, 960), all.answers.slice(0, 0, 960)};
  const Examples asked = {all.inputs.slice(0, 960), all.answers.slice(0, 960)};
  NormMlp model(16, 48, 4);
  const Forward forward = [&](const torch::Tensor& x) { return model(x); };
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    model->train();
    for (const Examples& batch : batches(data, 32)) {
      optimizer.zero_grad();
      const auto loss = cross_entropy(model(batch.inputs), batch.answers);
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
    validate(run, *model, forward, asked);
    const torch::NoGradGuard no_grad;
    model->dropout->train();
    std::vector<torch::Tensor> passes;
    for (int pass = 0; pass < 8; ++pass) passes.push_back(torch::softmax(model(asked.inputs), 1));
    run.inspector.push_metric("uncertainty", torch::stack(passes).std(0).mean().item<double>());
  }
}

/// The last layer gives logarithms, and cross entropy takes them again: nothing is lost.
void log_softmax_twice(Run& run) {
  const Examples data = blobs();
  auto model = nn::Sequential(nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 4), nn::LogSoftmax(1));
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  fit(run, model, optimizer, data);
}

/// The decoder's weight is the embedding's; words follow by a rule, one in ten at random.
void tied_language_model(Run& run) {
  constexpr int64_t vocabulary = 40;
  auto word = torch::randint(vocabulary, {480}, torch::kLong);
  std::vector<torch::Tensor> words{word};
  for (int i = 0; i < 12; ++i) {
    const auto any = torch::randint(vocabulary, {480}, torch::kLong);
    word = torch::where(torch::rand({480}).lt(0.1), any, (word * 3 + 1).remainder(vocabulary));
    words.push_back(word);
  }
  const auto texts = torch::stack(words, 1);
  TiedLanguageModel model(vocabulary);
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  Loop loop;
  loop.epochs = 6;
  loop.batch = 16;
  loop.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
    return cross_entropy(output.flatten(0, 1), answers.flatten());
  };
  loop.before_step = [&](int64_t) { nn::utils::clip_grad_norm_(model->parameters(), 5.0); };
  fit(run, model, optimizer, {texts.slice(1, 0, 12), texts.slice(1, 1)}, loop);
}

/// A student learns what a trained teacher says, who is watched without an optimizer.
void distillation(Run& run) {
  const Examples data = blobs();
  Mlp teacher(16, 64, 4), student(16, 16, 4);
  {
    torch::optim::Adam optimizer(teacher->parameters(), 5e-3);
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const Examples& batch : batches(data, 32)) {
        optimizer.zero_grad();
        cross_entropy(teacher(batch.inputs), batch.answers).backward();
        optimizer.step();
      }
    }
  }
  teacher->zero_grad();
  freeze(*teacher);
  teacher->eval();
  torch::optim::Adam optimizer(student->parameters(), 5e-3);
  run.inspector.attach(*teacher, "teacher");
  run.inspector.attach(*student, optimizer, "student");
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    student->train();
    for (const Examples& batch : batches(data, 32)) {
      const auto wanted = torch::softmax(teacher(batch.inputs), 1);
      optimizer.zero_grad();
      const auto loss = -(wanted * torch::log_softmax(student(batch.inputs), 1)).sum(1).mean();
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

/// The backbone is frozen for two epochs and then trained at a lower rate.
void thawed_backbone(Run& run) {
  const Examples data = images();
  Transfer model;
  freeze(*model->backbone);
  using torch::optim::AdamOptions;
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(model->head->parameters(), std::make_unique<AdamOptions>(AdamOptions(5e-3)));
  groups.emplace_back(model->backbone->parameters(), std::make_unique<AdamOptions>(AdamOptions(1e-3)));
  torch::optim::Adam optimizer(groups, AdamOptions(5e-3));
  Loop loop;
  loop.on_batch = [&](Examples&, int64_t step) {
    if (step != 61) return;
    for (torch::Tensor& parameter : model->backbone->parameters()) parameter.set_requires_grad(true);
  };
  fit(run, model, optimizer, data, loop);
}

/// Parameters in bfloat16 at a rate that they can hold.
void bfloat16_mlp(Run& run) {
  Examples data = images();
  data.inputs = data.inputs.flatten(1).to(torch::kBFloat16);
  auto model = nn::Sequential(nn::Linear(64, 48), nn::GELU(), nn::Linear(48, 48), nn::GELU(), nn::Linear(48, 4));
  model->to(torch::kBFloat16);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  Loop loop;
  loop.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
    return cross_entropy(output.to(torch::kFloat), answers);
  };
  fit(run, model, optimizer, data, loop);
}

/// Few words are frequent: most rows of the embedding get no gradient in a step.
void rare_words(Run& run) {
  const Examples data = texts(960, 8, 4000);
  BagOfWords model(4000, 16);
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  Loop loop;
  loop.validation = texts(256, 8, 4000);
  fit(run, model, optimizer, data, loop);
}

/// Two branches whose gradients differ by far, as nothing leads from one to the other.
void branches_of_unlike_scale(Run& run) {
  const Examples data = curves();
  Branches model(8, 32, 1);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(5e-3).eps(1e-15));
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(6)) {
    for (const Examples& batch : batches(data, 32)) {
      optimizer.zero_grad();
      const auto little = 1e-6 * squared_error(model->critic->forward(batch.inputs), batch.answers);
      const auto loss = squared_error(model->actor->forward(batch.inputs), batch.answers) + little;
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    }
  }
}

/// Of a wide row each eighth element is 0 in all samples, as the border of pictures is.
void empty_columns(Run& run) {
  Examples data = blobs(960, 64);
  auto wide = torch::zeros({960, 64, 8});
  wide.select(2, 3).copy_(data.inputs);
  data.inputs = 2 * wide.flatten(1);
  Mlp model(512, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  fit(run, model, optimizer, data);
}

/// The first dimension is time, and what goes in is the same at each.
void code_at_each_time(Run& run) {
  const Examples data = blobs();
  RepeatedCode model(16, 24, 4);
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  fit(run, model, optimizer, data);
}

void weights_of_its_own(Run& run) {
  const Examples all = blobs(1216);
  const Examples data = {all.inputs.slice(0, 0, 960), all.answers.slice(0, 0, 960)};
  OwnWeights model(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 1e-2);
  Loop loop;
  loop.validation = {all.inputs.slice(0, 960), all.answers.slice(0, 960)};
  fit(run, model, optimizer, data, loop);
}

/// Features that were trained earlier, outside of the model that is attached; they keep the gradients of then.
void frozen_features_with_old_gradients(Run& run) {
  const Examples data = blobs();
  nn::Linear features(16, 32), head(32, 4);
  const auto forward = [&](const torch::Tensor& x) { return head(torch::tanh(features(x))); };
  torch::optim::Adam earlier(features->parameters(), 1e-2);
  for (const Examples& batch : batches(data, 32)) {
    earlier.zero_grad();
    cross_entropy(forward(batch.inputs), batch.answers).backward();
    earlier.step();
  }
  freeze(*features);
  head->zero_grad();
  torch::optim::Adam optimizer(head->parameters(), 1e-2);
  run.inspector.attach(*head, optimizer);
  train(run, *head, forward, optimizer, data, {});
}

}  // namespace

std::vector<Trainer> healthy_model_trainers() {
  return {
      {"", "transfer, frozen batch norm", {}, frozen_batch_norm},
      {"", "mlp, dropout for uncertainty", {}, dropout_for_uncertainty},
      {"", "mlp, log_softmax twice", {}, log_softmax_twice},
      {"", "language model, tied weights", {}, tied_language_model},
      {"", "distillation, frozen teacher", {}, distillation},
      {"", "transfer, thawed", {}, thawed_backbone},
      {"", "mlp, bfloat16", {}, bfloat16_mlp},
      {"", "bag of words, rare words", {}, rare_words},
      {"", "two branches, unlike gradients", {}, branches_of_unlike_scale},
      {"", "mlp, empty columns", {}, empty_columns},
      {"", "lstm, a code at each time", {}, code_at_each_time},
      {"", "parameters of its own", {}, weights_of_its_own},
      {"", "frozen features, old gradients", {}, frozen_features_with_old_gradients},
  };
}

}  // namespace zoo
