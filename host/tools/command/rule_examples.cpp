// An example for each rule, as `loupe explain RULE` prints it; those of `health` are in its table. A line has at most
// 74 columns, so that it stays whole on a terminal of 80.

#include "command/rule_examples.h"

#include "health/rules/rule.h"

namespace loupe {

const std::vector<RuleExample>& rule_examples() {
  static const auto& table = *[] {
    auto* all = new std::vector<RuleExample>{
        // The lens `ranks`.
        {"replica_drift",
         R"(torch::manual_seed(rank);  // before the model: each rank's weights differ
Net model;)",
         R"(torch::manual_seed(1);
Net model;
torch::manual_seed(1 + rank);  // for what each does on its own)"},
        {"gradients_not_averaged",
         R"(loss.backward();
optimizer.step();  // only by this rank's gradients)",
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
         R"(// Samples that are sorted by class:
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
mix.groups(512);  // followed by a 1 x 1 convolution)",
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
         "warning; the graphs of past steps are kept, so memory grows with each step"},
    };
    for (const health::Rule& rule : health::rules())
      all->push_back({rule.name, rule.lines_with('-'), rule.lines_with('+')});
    return all;
  }();
  return table;
}

}  // namespace loupe
