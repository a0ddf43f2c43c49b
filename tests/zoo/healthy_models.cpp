// Unusual models that people make on purpose, and that Loupe must not report.

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
void add_healthy_models(Trainers& zoo) {
  // The pretrained features and their batch norm's statistics stay unchanged.
  zoo.add("", "transfer, frozen batch norm", {}, [](Run& run) {
    const Examples data = images(), held_out = images(256);
    Transfer model;
    freeze(*model->backbone);
    torch::optim::Adam optimizer(model->head->parameters(), 5e-3);
    run.inspector.attach(*model, optimizer);
    for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
      model->train();
      model->backbone->eval();
      for (const Examples& batch : batches(data, 32))
        run.learn(optimizer, cross_entropy(model(batch.inputs), batch.answers));
      validate(run, model, held_out);
    }
  });
  // After each epoch, the spread of several passes with dropout shows how sure the model is.
  zoo.add("", "mlp, dropout for uncertainty", {}, [](Run& run) {
    const Examples all = blobs(1024);
    const Examples data = part(all, 0, 960);
    const Examples asked = part(all, 960);
    NormMlp model(16, 48, 4);
    torch::optim::Adam optimizer(model->parameters(), 3e-3);
    run.inspector.attach(*model, optimizer);
    for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
      model->train();
      for (const Examples& batch : batches(data, 32))
        run.learn(optimizer, cross_entropy(model(batch.inputs), batch.answers));
      validate(run, model, asked);
      const torch::NoGradGuard no_grad;
      model->dropout->train();
      std::vector<torch::Tensor> passes;
      for (int pass = 0; pass < 8; ++pass) passes.push_back(torch::softmax(model(asked.inputs), 1));
      run.inspector.push_metric("uncertainty", torch::stack(passes).std(0).mean().item<double>());
    }
  });
  // The last layer returns logarithms, and cross entropy takes log_softmax again, which changes nothing.
  zoo.add("", "mlp, log_softmax twice", {}, [](Run& run) {
    const Examples data = blobs();
    auto model = nn::Sequential(nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 4), nn::LogSoftmax(1));
    fit(run, model, adam(model, 5e-3), data);
  });
  // The decoder shares the embedding's weight; each word follows from the previous one, except one in ten at random.
  zoo.add("", "language model, tied weights", {}, [](Run& run) {
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
    fit(run, model, adam(model, 1e-2), {texts.slice(1, 0, 12), texts.slice(1, 1)},
        {.epochs = 6,
         .batch = 16,
         .loss = [](const torch::Tensor& output,
                    const torch::Tensor& answers) { return cross_entropy(output.flatten(0, 1), answers.flatten()); },
         .before_step = [&](int64_t) { nn::utils::clip_grad_norm_(model->parameters(), 5.0); }});
  });
  // A student learns the outputs of a trained teacher, which is watched without an optimizer.
  zoo.add("", "distillation, frozen teacher", {}, [](Run& run) {
    const Examples data = blobs();
    Mlp teacher(16, 64, 4), student(16, 16, 4);
    {
      torch::optim::Adam optimizer(teacher->parameters(), 5e-3);
      for (int epoch = 0; epoch < 2; ++epoch) {
        for (const Examples& batch : batches(data, 32)) {
          descend(optimizer, cross_entropy(teacher(batch.inputs), batch.answers));
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
        run.learn(optimizer, -(wanted * torch::log_softmax(student(batch.inputs), 1)).sum(1).mean());
      }
    }
  });
  // The backbone is frozen for two epochs and then trained at a lower rate.
  zoo.add("", "transfer, thawed", {}, [](Run& run) {
    const Examples data = images();
    Transfer model;
    freeze(*model->backbone);
    using torch::optim::AdamOptions;
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(model->head->parameters(), std::make_unique<AdamOptions>(AdamOptions(5e-3)));
    groups.emplace_back(model->backbone->parameters(), std::make_unique<AdamOptions>(AdamOptions(1e-3)));
    torch::optim::Adam optimizer(groups, AdamOptions(5e-3));
    fit(run, model, optimizer, data, {.on_batch = [&](Examples&, int64_t step) {
          if (step != 61) return;
          for (torch::Tensor& parameter : model->backbone->parameters()) parameter.set_requires_grad(true);
        }});
  });
  // The parameters are bfloat16, at a rate that is large enough for their precision.
  zoo.add("", "mlp, bfloat16", {}, [](Run& run) {
    Examples data = images();
    data.inputs = data.inputs.flatten(1).to(torch::kBFloat16);
    auto model = nn::Sequential(nn::Linear(64, 48), nn::GELU(), nn::Linear(48, 48), nn::GELU(), nn::Linear(48, 4));
    model->to(torch::kBFloat16);
    fit(run, model, sgd(model, 0.05, 0.9), data,
        {.loss = [](const torch::Tensor& output, const torch::Tensor& answers) {
          return cross_entropy(output.to(torch::kFloat), answers);
        }});
  });
  // Few words are frequent: most rows of the embedding get no gradient in a step.
  zoo.add("", "bag of words, rare words", {}, [](Run& run) {
    const Examples data = texts(960, 8, 4000);
    BagOfWords model(4000, 16);
    fit(run, model, adam(model, 1e-2), data, {.validation = texts(256, 8, 4000)});
  });
  // The gradients of two branches differ greatly, as no path connects the branches.
  zoo.add("", "two branches, unlike gradients", {}, [](Run& run) {
    const Examples data = curves();
    Branches model(8, 32, 1);
    torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(5e-3).eps(1e-15));
    run.inspector.attach(*model, optimizer);
    for_batches(run, 6, data, [&](const Examples& batch) {
      optimizer.zero_grad();
      const auto little = 1e-6 * squared_error(model->critic->forward(batch.inputs), batch.answers);
      const auto loss = squared_error(model->actor->forward(batch.inputs), batch.answers) + little;
      loss.backward();
      optimizer.step();
      run.train_loss(loss);
    });
  });
  // Every eighth element of a wide row is 0 in all samples, like the border of pictures.
  zoo.add("", "mlp, empty columns", {}, [](Run& run) {
    Examples data = blobs(960, 64);
    auto wide = torch::zeros({960, 64, 8});
    wide.select(2, 3).copy_(data.inputs);
    data.inputs = 2 * wide.flatten(1);
    Mlp model(512, 32, 4);
    fit(run, model, adam(model, 3e-3), data);
  });
  // The first dimension is time, and the input is the same at each time.
  zoo.add("", "lstm, a code at each time", {}, [](Run& run) {
    const Examples data = blobs();
    RepeatedCode model(16, 24, 4);
    fit(run, model, adam(model, 1e-2), data);
  });
  zoo.add("", "parameters of its own", {}, [](Run& run) {
    const Examples all = blobs(1216);
    const Examples data = part(all, 0, 960);
    OwnWeights model(16, 32, 4);
    fit(run, model, adam(model, 1e-2), data, {.validation = part(all, 960)});
  });
  // The features were trained earlier, outside of the attached model, and still hold their gradients from then.
  zoo.add("", "frozen features, old gradients", {}, [](Run& run) {
    const Examples data = blobs();
    nn::Linear features(16, 32), head(32, 4);
    const auto forward = [&](const torch::Tensor& x) { return head(torch::tanh(features(x))); };
    torch::optim::Adam earlier(features->parameters(), 1e-2);
    for (const Examples& batch : batches(data, 32)) {
      descend(earlier, cross_entropy(forward(batch.inputs), batch.answers));
    }
    freeze(*features);
    head->zero_grad();
    torch::optim::Adam optimizer(head->parameters(), 1e-2);
    run.inspector.attach(*head, optimizer);
    train(run, *head, forward, optimizer, data, {});
  });
}

}  // namespace zoo
