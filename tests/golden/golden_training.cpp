// Rebuilds the golden training runs, watches them with the built-in lenses as a user would, and compares every tag,
// line and band that a record then holds.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cmath>
#include <map>

#include "golden/golden_files.h"
#include "golden/layers.h"

using nlohmann::json;

namespace {

constexpr double relative = 1e-3, absolute = 1e-5;

torch::Tensor tensor_of(const json& golden) {
  const auto data = golden["data"].get<std::vector<float>>();
  return torch::tensor(data).reshape(golden["shape"].get<std::vector<int64_t>>());
}

/// A batch's target: class numbers, or a tensor.
torch::Tensor target_of(const json& golden) {
  return golden.is_object() ? tensor_of(golden) : torch::tensor(golden.get<std::vector<int64_t>>());
}

std::string monitor_yaml(const std::string& folder) {
  return "run: {name: golden, dir: '" + folder + R"('}
lenses:
  - loss_metrics: {metrics: [accuracy], loss_fn: true}
  - output_activation
  - output_norm: {comparison_aggregation: mean}
  - output_gradient_geometry
  - parameter_gradient_geometry
  - parameter_gradient_activation
  - parameter_norm
  - parameter_difference
visualizers: [record]
)";
}

void load_state(torch::nn::Module& model, const json& initial) {
  torch::NoGradGuard no_grad;
  auto parameters = model.named_parameters();
  auto buffers = model.named_buffers();
  for (const auto& [name, value] : initial.items()) {
    auto* tensor = parameters.contains(name) ? &parameters[name] : &buffers[name];
    tensor->copy_(tensor_of(value));
  }
}

/// What a record holds: "epoch|tag|layer|line" to its value, and "epoch|tag|layer|low|high" to its two.
struct Recorded {
  std::map<std::string, double> values;
  std::map<std::string, std::pair<double, double>> ranges;
  std::map<std::string, json> tags;

  explicit Recorded(const std::string& path) {
    std::ifstream stream(path);
    for (std::string text; std::getline(stream, text);) {
      const json line = json::parse(text);
      const std::string kind = line["kind"];
      if (kind == "tag") tags[line.contains("name") ? line["name"] : line["tag"]] = line;
      if (kind != "value" && kind != "range") continue;
      const std::string head = std::to_string(line["epoch"].get<int>()) + "|" + line["tag"].get<std::string>() + "|" +
                               line["layer"].get<std::string>() + "|";
      if (kind == "value") values[head + line["line"].get<std::string>()] = line["value"];
      if (kind == "range") {
        ranges[head + line["low_name"].get<std::string>() + "|" + line["high_name"].get<std::string>()] = {
            line["low"], line["high"]};
      }
    }
  }
};

bool near(double actual, double expected) {
  return std::abs(actual - expected) <= std::max(absolute, relative * std::abs(expected));
}

class GoldenRun : public ::testing::Test {
 public:
  explicit GoldenRun(json golden) : golden_(std::move(golden)) {}

  void TestBody() override {
    torch::set_num_threads(1);
    const std::string folder = ::testing::TempDir() + "loupe-golden-" + std::to_string(::getpid());
    train(folder);
    compare(Recorded(folder + "/record.jsonl"));
    std::filesystem::remove_all(folder);
  }

 private:
  void train(const std::string& folder) {
    torch::nn::Sequential model;
    for (const json& layer : golden_["model"]) loupe::testing::push_layer(model, layer);
    load_state(*model, golden_["initial"]);
    const auto optimizer = loupe::testing::make_optimizer(golden_["optimizer"], model->parameters());
    torch::nn::CrossEntropyLoss cross_entropy;
    torch::nn::MSELoss squared_error;
    const bool classes = golden_["loss"] == "CrossEntropyLoss";
    ASSERT_TRUE(classes || golden_["loss"] == "MSELoss") << golden_["loss"];
    auto inspector = loupe::Inspector::from_text(monitor_yaml(folder));
    inspector.attach(*model, *optimizer);
    if (classes) {
      inspector.attach_loss(*cross_entropy);
    } else {
      inspector.attach_loss(*squared_error);
    }
    const auto loss_of = [&](const torch::Tensor& output, const torch::Tensor& target) {
      return classes ? cross_entropy(output, target) : squared_error(output, target);
    };

    std::size_t next = 0;
    const std::size_t train_batches = golden_["train_batches"], validation_batches = golden_["validation_batches"];
    for (int epoch = 1; epoch <= golden_["epochs"].get<int>(); ++epoch) {
      model->train();
      for (std::size_t i = 0; i < train_batches; ++i) {
        const json& batch = golden_["batches"][next++];
        const auto target = target_of(batch["y"]);
        optimizer->zero_grad();
        const auto output = model->forward(tensor_of(batch["x"]));
        loss_of(output, target).backward();
        optimizer->step();
        if (classes)
          inspector.push_metric("accuracy", output.argmax(1).eq(target).to(torch::kFloat).mean().item<double>());
      }
      model->eval();
      {
        torch::NoGradGuard no_grad;
        for (std::size_t i = 0; i < validation_batches; ++i) {
          const json& batch = golden_["batches"][next++];
          loss_of(model->forward(tensor_of(batch["x"])), target_of(batch["y"]));
        }
      }
      inspector.tick_epoch();
    }
  }

  void compare(const Recorded& recorded) {
    static const std::map<std::string, std::string> types = {
        {"numerical", "numerical"}, {"probability", "probability"}, {"relations", "relation"}};
    for (const auto& [name, expected] : golden_["tags"].items()) {
      const auto found = recorded.tags.find(name);
      if (found == recorded.tags.end()) {
        ADD_FAILURE() << "no tag " << name;
        continue;
      }
      EXPECT_EQ(found->second["log_y"], expected["log_y"]) << name;
      EXPECT_EQ(found->second["big"], expected["big"]) << name;
      EXPECT_EQ(found->second["type"], types.at(expected["type"])) << name;
    }
    std::size_t compared = 0;
    for (const json& tick : golden_["ticks"]) {
      const std::string head = std::to_string(tick["epoch"].get<int>()) + "|" + tick["tag"].get<std::string>() + "|";
      for (const auto& [layer, lines] : tick["values"].items()) {
        for (const auto& [line, expected] : lines.items()) {
          const auto found = recorded.values.find(head + layer + "|" + line);
          if (found == recorded.values.end()) {
            ADD_FAILURE() << "missing " << head + layer + "|" + line;
          } else {
            EXPECT_PRED2(near, found->second, expected.get<double>()) << found->first;
            ++compared;
          }
        }
      }
      for (const auto& [layer, bands] : tick["ranges"].items()) {
        for (const auto& [band, expected] : bands.items()) {
          const auto found = recorded.ranges.find(head + layer + "|" + band);
          if (found == recorded.ranges.end()) {
            ADD_FAILURE() << "missing " << head + layer + "|" + band;
          } else {
            EXPECT_PRED2(near, found->second.first, expected[0].get<double>()) << found->first;
            EXPECT_PRED2(near, found->second.second, expected[1].get<double>()) << found->first;
            ++compared;
          }
        }
      }
    }
    EXPECT_GT(compared, 0U);
    std::cout << compared << " values and bands compared\n";
  }

  json golden_;
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (const std::string& file : loupe::testing::golden_files(argc, argv, "training-")) {
    const json runs = loupe::testing::read_json(file);
    for (const auto& [name, run] : runs.items()) {
      ::testing::RegisterTest(std::filesystem::path(file).stem().c_str(), name.c_str(), nullptr, nullptr, __FILE__,
                              __LINE__, [run = run]() -> ::testing::Test* { return new GoldenRun(run); });
    }
  }
  return RUN_ALL_TESTS();
}
