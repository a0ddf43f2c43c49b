// Faults in the registration, training and connection of layers.

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
void add_structure(Trainers& zoo) {
  // The whole model is frozen instead of the backbone only; the error of backward was silenced.
  zoo.add("nothing_trainable", "transfer, all frozen", {1}, [](Run& run) {
    const Examples data = images();
    Transfer model;
    if (run.planted) {
      freeze(*model);
    } else {
      freeze(*model->backbone);
    }
    fit(run, model, adam(model, 1e-2), data, {.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
          auto loss = cross_entropy(output, answers);
          return loss.requires_grad() ? loss : loss.set_requires_grad(true);
        }});
  });
  // The loss is computed from a detached output and made a leaf again.
  zoo.add("nothing_trainable", "mlp, loss detached", {1}, [](Run& run) {
    const Examples data = curves();
    Mlp model(8, 32, 1, torch::tanh);
    fit(run, model, adam(model, 1e-2), data, {.loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
          if (!run.planted) return squared_error(output, answers);
          return squared_error(output.detach(), answers).set_requires_grad(true);
        }});
  });
  // The last layer was left out when the optimizer was created.
  zoo.add("unchanged_parameter", "mlp, not in the optimizer", {1, {"fc3"}}, [](Run& run) {
    const Examples data = blobs();
    Mlp model(16, 32, 4);
    std::vector<torch::Tensor> parameters = model->fc1->parameters();
    for (const auto& parameter : model->fc2->parameters()) parameters.push_back(parameter);
    if (!run.planted) {
      for (const auto& parameter : model->fc3->parameters()) parameters.push_back(parameter);
    }
    torch::optim::Adam optimizer(parameters, 3e-3);
    fit(run, model, optimizer, data);
  });
  // The state was detached, as people do between pieces of a long sequence.
  zoo.add("unchanged_parameter", "lstm, cut off", {1, {"lstm"}}, [](Run& run) {
    const Examples data = sequences();
    LstmClassifier model;
    model->cuts_state = run.planted;
    fit(run, model, adam(model, 1e-2), data);
  });
  // The loss uses only one of the two outputs.
  zoo.add("unchanged_parameter", "two heads, one without loss", {1, {"auxiliary"}}, [](Run& run) {
    const Examples data = blobs();
    TwoHeads model(16, 32, 4);
    fit(run, model, sgd(model, 0.1, 0.9), data,
        {.loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
          const auto main = cross_entropy(output.slice(1, 0, 4), answers);
          return run.planted ? main : main + 0.3 * cross_entropy(output.slice(1, 4), answers);
        }});
  });
  // The discriminator's optimizer was copied from the generator's, parameters included. The losses do not measure
  // learning, so that only metrics are pushed.
  zoo.add("no_effect", "gan, copied optimizer", {1, {"discriminator"}}, [](Run& run) {
    const auto angle = 6.2832 * torch::rand({960});
    const auto ring = torch::stack({torch::cos(angle), torch::sin(angle)}, 1) + 0.05 * torch::randn({960, 2});
    auto maker = generator(8, 2);
    auto judge = discriminator(2);
    const auto adam = torch::optim::AdamOptions(1e-3).betas({0.5, 0.999});
    torch::optim::Adam maker_optimizer(maker->parameters(), adam);
    torch::optim::Adam judge_optimizer((run.planted ? maker : judge)->parameters(), adam);
    run.inspector.attach(*maker, maker_optimizer, "generator");
    run.inspector.attach(*judge, judge_optimizer, "discriminator");
    const auto against = [&](const torch::Tensor& logits, double answer) {
      return nn::functional::binary_cross_entropy_with_logits(logits, torch::full_like(logits, answer));
    };
    for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
      for (const Examples& batch : batches({ring, angle}, 32)) {
        const auto drawn = maker->forward(torch::randn({batch.inputs.size(0), 8}));
        judge->zero_grad();
        const auto judge_loss = against(judge->forward(batch.inputs), 0.9) + against(judge->forward(drawn.detach()), 0);
        judge_loss.backward();
        judge_optimizer.step();
        maker->zero_grad();
        const auto maker_loss = against(judge->forward(maker->forward(torch::randn({batch.inputs.size(0), 8}))), 1);
        maker_loss.backward();
        maker_optimizer.step();
        run.inspector.push_metric("judge", judge_loss.item<double>());
        run.inspector.push_metric("maker", maker_loss.item<double>());
      }
    }
  });
  // The head is replaced for the new task after the optimizer was created.
  zoo.add("stale_optimizer", "transfer, new head", {1, {"head"}}, [](Run& run) {
    const Examples data = images();
    Transfer model;
    const auto replace = [&] { model->head = model->replace_module("head", nn::Linear(16 * 4 * 4, 4)); };
    if (!run.planted) replace();
    torch::optim::Adam optimizer(model->parameters(), 3e-3);
    if (run.planted) replace();
    fit(run, model, optimizer, data);
  });
  // The vocabulary grew, and the embedding with it.
  zoo.add("stale_optimizer", "bag of words, new embedding", {1, {"embedding"}}, [](Run& run) {
    const Examples data = texts();
    BagOfWords model(200);
    const auto replace = [&] { model->embedding = model->replace_module("embedding", nn::Embedding(400, 16)); };
    if (!run.planted) replace();
    torch::optim::AdamW optimizer(model->parameters(), 1e-2);
    if (run.planted) replace();
    fit(run, model, optimizer, data);
  });
  zoo.add("unregistered_module", "residual mlp, blocks", {1}, [](Run& run) {
    const Examples data = blobs();
    Blocks model(16, 32, 4, /*registered=*/!run.planted);
    fit(run, model, adam(model, 3e-3), data);
  });
  zoo.add("unregistered_module", "cnn, convolution", {1}, [](Run& run) {
    const Examples data = images();
    PartCnn model(/*registered=*/!run.planted);
    fit(run, model, sgd(model, 0.02, 0.9), data);
  });
  // The last batch of an epoch has two samples. The healthy loop drops it.
  zoo.add("small_batch_norm", "mlp, last batch", {31, {"bn1"}}, [](Run& run) {
    const Examples data = blobs(32 * 30 + 2);
    NormMlp model(16, 32, 4);
    fit(run, model, adam(model, 3e-3), data, {.drop_last = !run.planted});
  });
  // A batch has two samples, and pooling leaves one value per channel. The healthy batch has 32 samples.
  zoo.add("small_batch_norm", "cnn, pairs", {1, {"4"}}, [](Run& run) {
    const Examples data = images();
    auto model = nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 3)), nn::ReLU(),
                                nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({2, 2})), nn::Conv2d(8, 16, 2),
                                nn::BatchNorm2d(16), nn::ReLU(), nn::Flatten(), nn::Linear(16, 4));
    const int64_t count = run.planted ? 120 : 960;
    fit(run, model, adam(model, 5e-3), part(data, 0, count), {.batch = run.planted ? 2 : 32});
  });
  // The batch norms forget nearly everything but the last batch.
  zoo.add("running_statistics", "cnn, momentum", {{}, {"1"}}, [](Run& run) {
    const Examples data = images();
    const double momentum = run.planted ? 0.9 : 0.1;
    auto model = nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)),
                                nn::BatchNorm2d(nn::BatchNorm2dOptions(8).momentum(momentum)), nn::ReLU(),
                                nn::Flatten(), nn::Linear(512, 4));
    fit(run, model, adam(model, 5e-3), data);
  });
  zoo.add("running_statistics", "mlp, momentum", {{}, {"1"}}, [](Run& run) {
    const Examples data = blobs();
    auto model = nn::Sequential(nn::Linear(16, 32),
                                nn::BatchNorm1d(nn::BatchNorm1dOptions(32).momentum(run.planted ? 0.99 : 0.01)),
                                nn::Tanh(), nn::Linear(32, 4));
    fit(run, model, adam(model, 5e-3), data);
  });
  // The model ends with a softmax, and cross entropy applies another.
  zoo.add("double_softmax", "mlp, layer", {1, {"3"}}, [](Run& run) {
    const Examples data = blobs();
    auto model = nn::Sequential(nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 4));
    if (run.planted) model->push_back(nn::Softmax(1));
    nn::CrossEntropyLoss criterion;
    fit(run, model, adam(model, 1e-2), data, {.loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
          return criterion(output, answers);
        }});
  });
  zoo.add("double_softmax", "lstm, function", {1, {"head:softmax"}}, [](Run& run) {
    const Examples data = sequences();
    LstmClassifier model;
    model->gives_shares = run.planted;
    fit(run, model, adam(model, 1e-2), data);
  });
  // The first dimension counts sequences, which a recurrent layer takes for time by default.
  zoo.add("batch_not_first", "lstm", {3, {"lstm"}}, [](Run& run) {
    const Examples data = sequences();
    LstmClassifier model;
    // LSTM keeps its options twice: the shapes of states follow one copy, the computation follows the other.
    if (run.planted) model->lstm->options_base.batch_first(false), model->lstm->options.batch_first(false);
    fit(run, model, adam(model, 1e-2), data);
  });
  zoo.add("batch_not_first", "relu rnn", {3, {"rnn"}}, [](Run& run) {
    const Examples data = sequences();
    ReluRnn model;
    if (run.planted) model->rnn->options_base.batch_first(false);
    fit(run, model, adam(model, 3e-3), data);
  });
}

}  // namespace zoo
