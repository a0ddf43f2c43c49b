// Repeats the golden training runs with the built-in lenses, as a user would, and compares all tags, lines and bands of
// the record.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "golden/golden_files.h"
#include "golden/layers.h"

using nlohmann::json;

namespace {

constexpr double relative = 1e-3, absolute = 1e-5;

torch::Tensor tensor_of(const json& golden) {
  loupe::testing::check_tensor(golden);
  const auto data = golden["data"].get<std::vector<float>>();
  return torch::tensor(data).reshape(golden["shape"].get<std::vector<int64_t>>());
}

/// The target of a batch: a tensor, or a list of class numbers or other numbers.
torch::Tensor target_of(const json& golden, bool classes) {
  if (golden.is_object()) return classes ? tensor_of(golden).to(torch::kLong) : tensor_of(golden);
  if (classes) return torch::tensor(golden.get<std::vector<int64_t>>());
  return torch::tensor(golden.get<std::vector<float>>());
}

std::string monitor_yaml(const std::string& folder) {
  return "run: {name: golden, dir: '" + folder + R"('}
attach: {history: 0}
lenses:
  - loss_metrics: {metrics: [accuracy], loss_fn: true}
  - output_activation
  - output_norm: {comparison_aggregation: mean}
  - output_gradient_geometry: {correlation_eps: 1.0e-8, first_correlation: true}
  - parameter_gradient_geometry: {correlation_eps: 1.0e-8, first_correlation: true}
  - parameter_gradient_activation
  - parameter_norm
  - parameter_difference: {correlation_eps: 1.0e-8, first_correlation: true}
visualizers: [record]
)";
}

/// Sets all parameters and floating-point buffers, so that no random value is left.
void load_state(torch::nn::Module& model, const json& initial) {
  torch::NoGradGuard no_grad;
  std::size_t used = 0;
  const auto load = [&](const auto& named) {
    for (const auto& item : named) {
      if (!item.value().is_floating_point()) continue;
      if (!initial.contains(item.key())) throw std::runtime_error("the initial state lacks '" + item.key() + "'");
      const auto value = tensor_of(initial[item.key()]);
      if (value.sizes() != item.value().sizes())
        throw std::runtime_error("the initial '" + item.key() + "' has a different shape in the model");
      torch::Tensor(item.value()).copy_(value);
      ++used;
    }
  };
  load(model.named_parameters());
  load(model.named_buffers());
  if (used != initial.size()) throw std::runtime_error("the initial state has a name that the model lacks");
}

/// The numbers of a record. Keys are "epoch|tag|layer|line" for values and "epoch|tag|layer|low|high" for ranges.
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
    for (const json& layer : golden_.at("model")) loupe::testing::push_layer(model, layer);
    load_state(*model, golden_.at("initial"));
    const auto optimizer = loupe::testing::make_optimizer(golden_.at("optimizer"), model->parameters());
    torch::nn::CrossEntropyLoss cross_entropy;
    torch::nn::MSELoss squared_error;
    const bool classes = golden_.at("loss") == "CrossEntropyLoss";
    ASSERT_TRUE(classes || golden_.at("loss") == "MSELoss") << "no loss " << golden_.at("loss");
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

    const std::size_t train_batches = golden_.at("train_batches"),
                      validation_batches = golden_.at("validation_batches");
    ASSERT_EQ(golden_.at("batches").size(),
              golden_.at("epochs").get<std::size_t>() * (train_batches + validation_batches));
    std::size_t next = 0;
    for (int epoch = 1; epoch <= golden_.at("epochs").get<int>(); ++epoch) {
      model->train();
      for (std::size_t i = 0; i < train_batches; ++i) {
        const json& batch = golden_.at("batches")[next++];
        const auto target = target_of(batch.at("y"), classes);
        optimizer->zero_grad();
        const auto output = model->forward(tensor_of(batch.at("x")));
        loss_of(output, target).backward();
        optimizer->step();
        if (classes)
          inspector.push_metric("accuracy", output.argmax(1).eq(target).to(torch::kFloat).mean().item<double>());
      }
      model->eval();
      {
        torch::NoGradGuard no_grad;
        for (std::size_t i = 0; i < validation_batches; ++i) {
          const json& batch = golden_.at("batches")[next++];
          loss_of(model->forward(tensor_of(batch.at("x"))), target_of(batch.at("y"), classes));
        }
      }
      inspector.tick_epoch();
    }
  }

  /// The activities, as "epoch|tag|layer", of gradients that consist of rounding errors, like that of a bias before a
  /// batch norm. The machine decides which of their elements are above the threshold of 1e-8.
  std::set<std::string> rounding() const {
    std::set<std::string> found;
    for (const json& tick : golden_.at("ticks")) {
      for (const std::string parameter : {"Weight", "Bias"}) {
        if (tick.at("tag") != parameter + " Gradient Norm") continue;
        for (const auto& [layer, bands] : tick.at("ranges").items()) {
          const double largest = bands.at("min|max").at(1);
          if (largest == 0 || largest > 1e-6) continue;
          const std::string head = std::to_string(tick.at("epoch").get<int>()) + "|";
          found.insert(head + parameter + " Gradient Activation|" + layer);
          found.insert(head + "Worst Gradient Activations|Worst Gradient Activations");
        }
      }
    }
    return found;
  }

  /// The original leaves out layers without bias, while Loupe shows them. This function scales shares to the layers of
  /// the file, and takes the worst gradient activations only from these layers.
  void leave_out_what_the_file_lacks(Recorded& recorded) const {
    for (const json& tick : golden_.at("ticks")) {
      const std::string tag = tick.at("tag"), epoch = std::to_string(tick.at("epoch").get<int>()) + "|";
      const std::string head = epoch + tag + "|" + tag + "|";
      if (golden_.at("tags").contains(tag) && golden_.at("tags").at(tag).at("type") == "relations") {
        double own = 0, listed = 0;
        std::vector<double*> shares;
        for (auto& [name, value] : recorded.values) {
          if (name.compare(0, head.size(), head) != 0) continue;
          own += value;
          if (!tick.at("values").at(tag).contains(name.substr(head.size()))) continue;
          listed += value;
          shares.push_back(&value);
        }
        for (double* share : shares) *share *= own / listed;
      } else if (tag == "Worst Gradient Activations") {
        double activation = INFINITY, death = 0;
        bool more = false;
        for (const json& other : golden_.at("ticks")) {
          const std::string source = other.at("tag");
          if (other.at("epoch") != tick.at("epoch")) continue;
          if (source != "Weight Gradient Activation" && source != "Bias Gradient Activation") continue;
          const std::string start = epoch + source + "|";
          for (const auto& [name, value] : recorded.values) {
            if (name.compare(0, start.size(), start) != 0) continue;
            const auto bar = name.find('|', start.size());
            const bool listed = other.at("values").contains(name.substr(start.size(), bar - start.size()));
            more = more || !listed;
            if (!listed) continue;
            if (name.substr(bar + 1) == "activation_rate") activation = std::min(activation, value);
            if (name.substr(bar + 1) == "death_rate") death = std::max(death, value);
          }
        }
        if (!more) continue;
        recorded.values[head + "worst activation_rate"] = activation;
        recorded.values[head + "worst death_rate"] = death;
      }
    }
  }

  void compare(Recorded recorded) {
    leave_out_what_the_file_lacks(recorded);
    static const std::map<std::string, std::string> types = {
        {"numerical", "numerical"}, {"probability", "probability"}, {"relations", "relation"}};
    for (const auto& [name, expected] : golden_.at("tags").items()) {
      const auto found = recorded.tags.find(name);
      if (found == recorded.tags.end()) {
        ADD_FAILURE() << "no tag " << name;
        continue;
      }
      ASSERT_EQ(types.count(expected.at("type")), 1U) << "no type " << expected.at("type");
      EXPECT_EQ(found->second["log_y"], expected.at("log_y")) << name;
      EXPECT_EQ(found->second["big"], expected.at("big")) << name;
      EXPECT_EQ(found->second["type"], types.at(expected.at("type"))) << name;
    }
    const std::set<std::string> undecided = rounding();
    std::size_t compared = 0;
    for (const json& tick : golden_.at("ticks")) {
      const std::string head =
          std::to_string(tick.at("epoch").get<int>()) + "|" + tick.at("tag").get<std::string>() + "|";
      EXPECT_TRUE(golden_.at("tags").contains(tick.at("tag"))) << "no tag " << tick.at("tag") << " in the golden file";
      for (const auto& [layer, lines] : tick.at("values").items()) {
        if (undecided.count(head + layer) > 0) continue;
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
      for (const auto& [layer, bands] : tick.at("ranges").items()) {
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
    if (!undecided.empty())
      std::cout << undecided.size() << " activities were not compared, as their gradients are rounding errors\n";
  }

  json golden_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const std::string& suite, const json& runs) {
    if (!runs.is_object()) throw std::runtime_error("the file is not a map of runs");
    for (const auto& [name, run] : runs.items()) {
      ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                              [run = run]() -> ::testing::Test* { return new GoldenRun(run); });
    }
    return runs.size();
  };
  return loupe::testing::run_golden(argc, argv, "training-", add);
}
