// Values of one step that do not fit together: targets and inputs, losses and their inputs, rows of a batch.

#include <cmath>

#include "zoo/fit.h"
#include "zoo/models.h"

namespace zoo {
namespace {

namespace F = torch::nn::functional;

/// Random texts, where each word mostly determines the next one: (count, length).
torch::Tensor chains(int64_t count, int64_t length, int64_t vocabulary) {
  auto words = torch::empty({count, length}, torch::kLong);
  auto word = torch::randint(vocabulary, {count}, torch::kLong);
  for (int64_t t = 0; t < length; ++t) {
    words.select(1, t).copy_(word);
    const auto is_any = torch::rand({count}).lt(0.05);
    word =
        torch::where(is_any, torch::randint(vocabulary, {count}, torch::kLong), (5 * word + 3).remainder(vocabulary));
  }
  return words;
}

/// Learns to predict the word `moved` places later.
void next_word(Run& run, int64_t moved, int64_t vocabulary, int64_t length) {
  const auto words = chains(320, length + moved, vocabulary);
  TiedLanguageModel model(vocabulary);
  fit(run, model, adam(model, 2e-2), {words.slice(1, 0, length), words.slice(1, moved)},
      {.epochs = 4, .loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
         return cross_entropy(output.reshape({-1, vocabulary}), answers.reshape({-1}));
       }});
}

/// Learns the next word with one half of the scores, and the word after it with the other half.
void two_words(Run& run, int64_t vocabulary, int64_t length) {
  const auto words = chains(320, length + 2, vocabulary);
  TiedLanguageModel model(2 * vocabulary);
  const auto answers = torch::stack({words.slice(1, 1, length + 1), words.slice(1, 2)}, 1);
  fit(run, model, adam(model, 2e-2), {words.slice(1, 0, length), answers},
      {.epochs = 4, .loss = [&](const torch::Tensor& output, const torch::Tensor& both) {
         const auto loss_of = [&](int64_t which) {
           const auto scores = output.slice(2, which * vocabulary, (which + 1) * vocabulary);
           return cross_entropy(scores.reshape({-1, vocabulary}), both.select(1, which).reshape({-1}));
         };
         const auto second = loss_of(1);
         return second + loss_of(0);
       }});
}

/// Classifies by the cosine between the output and one direction per class.
void cosines(Run& run) {
  const auto options = F::NormalizeFuncOptions().dim(1);
  const auto directions = F::normalize(torch::randn({4, 16}), options);
  Mlp model(16, 32, 16);
  fit(run, model, adam(model, 5e-3), blobs(),
      {.epochs = 6, .loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
         const auto alike = torch::matmul(F::normalize(output, options), directions.t());
         return cross_entropy(run.planted ? alike : 16 * alike, answers);
       }});
}

/// Classifies into two classes by binary cross entropy, with answers that `marked` changes.
void yes_or_no(Run& run, const std::function<torch::Tensor(const torch::Tensor&)>& marked) {
  Examples data = blobs();
  data.answers = data.answers.ge(2).to(torch::kFloat);
  Mlp model(16, 16, 1);
  fit(run, model, adam(model, 5e-3), data,
      {.epochs = 3, .loss = [&](const torch::Tensor& output, const torch::Tensor& answers) {
         return F::binary_cross_entropy_with_logits(output.squeeze(1), run.planted ? marked(answers) : answers);
       }});
}

/// Finds the second view of each sample among all views of the batch.
void views(Run& run, int64_t batch) {
  const auto samples = torch::matmul(torch::randn({960, 6}), torch::randn({6, 16}));
  Mlp model(16, 64, 32);
  torch::optim::Adam optimizer(model->parameters(), 3e-3);
  run.inspector.attach(*model, optimizer);
  const auto unit = [&](const torch::Tensor& seen) {
    return F::normalize(model(seen + 0.3 * torch::randn_like(seen)), F::NormalizeFuncOptions().dim(1));
  };
  for ([[maybe_unused]] int epoch : run.inspector.epochs(6)) {
    for (const Examples& each : batches({samples, samples}, batch, /*drop_last=*/true)) {
      const auto alike = torch::matmul(unit(each.inputs), unit(each.inputs).t());
      run.learn(optimizer, cross_entropy(run.planted ? alike : alike / 0.1, torch::arange(batch)));
    }
  }
}

/// Scales the loss, and clips the gradients before (planted) or after (healthy) the scale is divided out.
void scaled(Run& run, double scale, double rate, bool is_by_value = false) {
  const Examples data = blobs();
  Mlp model(16, 16, 4);
  auto optimizer = sgd(model, rate, 0.9);
  run.inspector.attach(*model, optimizer);
  for_batches(run, 4, data, [&](const Examples& batch) {
    optimizer.zero_grad();
    const auto loss = cross_entropy(model(batch.inputs), batch.answers);
    run.inspector.push_metric("loss scale", scale);
    (loss * scale).backward();
    const auto clip = [&] {
      if (is_by_value) return torch::nn::utils::clip_grad_value_(model->parameters(), 0.5);
      torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    };
    if (run.planted) clip();
    for (auto& each : model->parameters()) each.mutable_grad().div_(scale);
    if (!run.planted) clip();
    optimizer.step();
    run.train_loss(loss);
  });
}

/// Workers assemble each batch from drawn samples: all with one seed (planted), or each with its own seed (healthy).
void workers(Run& run, const Examples& data, int64_t count, int64_t each) {
  Cnn pictures;
  Mlp rows(16, 32, 4);
  const auto draw = [&](Examples& batch, int64_t) {
    std::vector<torch::Tensor> drawn;
    for (int64_t worker = 0; worker < count; ++worker)
      drawn.push_back(worker == 0 || !run.planted ? torch::randint(data.inputs.size(0), {each}, torch::kLong)
                                                  : drawn[0]);
    const auto chosen = torch::cat(drawn);
    batch = {data.inputs.index_select(0, chosen), data.answers.index_select(0, chosen)};
  };
  if (data.inputs.dim() > 2) {
    fit(run, pictures, adam(pictures, 5e-3), data, {.on_batch = draw});
  } else {
    fit(run, rows, adam(rows, 1e-2), data, {.on_batch = draw});
  }
}

/// Validates an average of the weights: without (planted) or with (healthy) the batch norms' statistics.
void average(Run& run, double decay) {
  const Examples data = blobs(1280);
  NormMlp model(16, 32, 4), teacher(16, 32, 4);
  torch::optim::Adam optimizer(model->parameters(), 5e-3);
  run.inspector.attach(*model, optimizer, "student");
  run.inspector.attach(*teacher, "teacher");
  const Examples training = part(data, 0, 960), held_out = part(data, 960);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(4)) {
    model->train();
    for (const Examples& batch : batches(training, 32)) {
      run.learn(optimizer, cross_entropy(model(batch.inputs), batch.answers));
      const torch::NoGradGuard no_grad;
      const auto from = model->parameters(), to = teacher->parameters();
      for (std::size_t i = 0; i < to.size(); ++i) to[i].mul_(decay).add_(from[i], 1 - decay);
      const auto buffers = model->buffers(), kept = teacher->buffers();
      for (std::size_t i = 0; i < kept.size() && !run.planted; ++i) kept[i].copy_(buffers[i]);
    }
    validate(run, teacher, held_out);
  }
}

/// Validates a copy of the model that is never trained (planted).
void copy(Run& run, int64_t width, double rate) {
  const Examples data = blobs(1280), training = part(data, 0, 960), held_out = part(data, 960);
  Mlp model(16, width, 4), other(16, width, 4);
  torch::optim::Adam optimizer(model->parameters(), rate);
  run.inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : run.inspector.epochs(8)) {
    for (const Examples& batch : batches(training, 32))
      run.learn(optimizer, cross_entropy(model(batch.inputs), batch.answers));
    validate(run, run.planted ? other : model, held_out);
  }
}

}  // namespace

void add_comparisons(Trainers& zoo) {
  // Input and target are each shifted by one, so the target moves twice.
  zoo.add("target_in_input", "gru, moved twice", {}, [](Run& run) { next_word(run, run.planted ? 2 : 1, 20, 12); });
  zoo.add("target_in_input", "gru, moved three times", {},
          [](Run& run) { next_word(run, run.planted ? 3 : 1, 12, 16); });
  // The column with the answer stays among the features.
  zoo.add("target_in_input", "mlp, the answer is a feature", {}, [](Run& run) {
    Examples data = curves();
    if (run.planted) data.inputs = torch::cat({data.inputs, data.answers}, 1);
    Mlp model(data.inputs.size(1), 32, 1);
    fit(run, model, adam(model, 5e-3), data, {.loss = squared_error});
  });
  // The input window reaches into the time that should be forecast.
  zoo.add("target_in_input", "lstm, the window is too long", {}, [](Run& run) {
    Examples data = sequences();
    const auto level = data.inputs.select(2, 0).cumsum(1);
    const int64_t length = level.size(1), end = run.planted ? length : length - 1;
    data.inputs = level.slice(1, 0, end).unsqueeze(2).contiguous();
    data.answers = level.slice(1, length - 1);
    Mlp model(end, 32, 1);
    fit(run, model, adam(model, 1e-2), {data.inputs.squeeze(2), data.answers}, {.loss = squared_error});
  });
  zoo.add("target_range", "mlp, masks of 255", {},
          [](Run& run) { yes_or_no(run, [](const torch::Tensor& answers) { return 255 * answers; }); });
  zoo.add("target_range", "mlp, minus one for no", {},
          [](Run& run) { yes_or_no(run, [](const torch::Tensor& answers) { return 2 * answers - 1; }); });
  // The cosines are not divided by a temperature.
  zoo.add("bounded_scores", "mlp, 64 views", {}, [](Run& run) { views(run, 64); });
  zoo.add("bounded_scores", "mlp, directions of classes", {}, &cosines);
  // The pixels are divided by 255 twice, so that all inputs are near 0.
  zoo.add("tiny_input", "cnn, divided twice", {}, [](Run& run) {
    Examples data = images();
    if (run.planted) data.inputs = data.inputs / 255;
    auto model = plain_cnn();
    fit(run, model, sgd(model, 0.02, 0.5), data, {.epochs = 8});
  });
  // The inputs have a unit that is a thousand times as large.
  zoo.add("tiny_input", "mlp, another unit", {}, [](Run& run) {
    Examples data = blobs();
    if (run.planted) data.inputs = data.inputs / 1000;
    Mlp model(16, 32, 4);
    fit(run, model, sgd(model, 0.05), data, {.epochs = 6});
  });
  // Whole numbers are read as if they were floats.
  zoo.add("misread_input", "mlp, int32", {}, [](Run& run) {
    Examples data = blobs();
    const auto whole = (100 * (data.inputs + 5)).to(torch::kInt);
    data.inputs = run.planted ? torch::from_blob(whole.data_ptr(), whole.sizes(), torch::kFloat).clone()
                              : whole.to(torch::kFloat) / 100 - 5;
    Mlp model(16, 16, 4);
    fit(run, model, adam(model, 5e-3), data, {.epochs = 3});
  });
  zoo.add("misread_input", "mlp, int64", {}, [](Run& run) {
    Examples data = blobs();
    const auto whole = (100 * (data.inputs + 5)).to(torch::kLong);
    const int64_t columns = run.planted ? 32 : 16;
    data.inputs = run.planted ? torch::from_blob(whole.data_ptr(), {whole.size(0), columns}, torch::kFloat).clone()
                              : whole.to(torch::kFloat) / 100 - 5;
    Mlp model(columns, 16, 4);
    fit(run, model, adam(model, 5e-3), data, {.epochs = 3});
  });
  // Attention takes its softmax over the samples instead of over time.
  zoo.add("softmax_dimension", "lstm, batches of 32", {}, [](Run& run) {
    AttentiveLstm model;
    if (run.planted) model->softmax_dimension = 0;
    fit(run, model, adam(model, 1e-2), sequences(), {.drop_last = true});
  });
  zoo.add("softmax_dimension", "lstm, batches of 24", {}, [](Run& run) {
    AttentiveLstm model;
    if (run.planted) model->softmax_dimension = 0;
    fit(run, model, adam(model, 1e-2), sequences(960, 9), {.batch = 24});
  });
  zoo.add("scaled_clip", "mlp, 65536", {}, [](Run& run) { scaled(run, 65536, 0.05); });
  zoo.add("scaled_clip", "mlp, 1024", {}, [](Run& run) { scaled(run, 1024, 0.02); });
  zoo.add("scaled_clip", "mlp, by value", {}, [](Run& run) { scaled(run, 4096, 0.05, /*is_by_value=*/true); });
  zoo.add("copied_rows", "mlp, four workers", {}, [](Run& run) { workers(run, blobs(), 4, 8); });
  zoo.add("copied_rows", "cnn, two workers", {}, [](Run& run) { workers(run, images(), 2, 16); });
  zoo.add("unseen_norm", "mlp, an average", {}, [](Run& run) { average(run, 0.9); });
  zoo.add("unseen_norm", "mlp, a slow average", {}, [](Run& run) { average(run, 0.97); });
  zoo.add("unrelated_validation", "mlp, a copy", {}, [](Run& run) { copy(run, 32, 5e-3); });
  zoo.add("unrelated_validation", "mlp, a wide copy", {}, [](Run& run) { copy(run, 128, 3e-3); });
  zoo.add("", "gru, two words at once", {}, [](Run& run) { two_words(run, 20, 12); });
  // Each input of the batch appears four times, with four different codes drawn for it.
  zoo.add("", "vae, four codes of each sample", {}, [](Run& run) {
    const auto inputs = torch::matmul(torch::randn({960, 3}), torch::randn({3, 16}));
    Vae model(16, 48, 4);
    torch::optim::Adam optimizer(model->parameters(), 3e-3);
    run.inspector.attach(*model, optimizer);
    for_batches(run, 4, {inputs, inputs}, [&](const Examples& batch) {
      const auto rows = batch.inputs.repeat_interleave(4, 0);
      const auto [decoded, mean, log_variance] = model->forward(rows);
      const auto divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean();
      run.learn(optimizer, torch::mse_loss(decoded, rows) + 0.001 * divergence);
    });
  });
  // Each sample passes through two dropout masks, and the two outputs should agree.
  zoo.add("", "mlp, dropout twice", {}, [](Run& run) {
    const Examples data = blobs();
    DropMlp model(16, 32, 4);
    torch::optim::Adam optimizer(model->parameters(), 5e-3);
    run.inspector.attach(*model, optimizer);
    for_batches(run, 4, data, [&](const Examples& batch) {
      const auto scores = model(torch::cat({batch.inputs, batch.inputs}));
      const auto chances = torch::softmax(scores, 1).chunk(2);
      const auto apart = (chances[0] - chances[1]).square().sum(1).mean();
      run.learn(optimizer, cross_entropy(scores, torch::cat({batch.answers, batch.answers})) + apart);
    });
  });
}

}  // namespace zoo
