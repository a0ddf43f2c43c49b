#ifndef LOUPE_TESTS_GOLDEN_LAYERS_H
#define LOUPE_TESTS_GOLDEN_LAYERS_H

#include <torch/torch.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace loupe::testing {

/// The positional arguments of a layer in a golden file.
class LayerArguments {
 public:
  explicit LayerArguments(const nlohmann::json& layer) : layer_(layer) {}
  std::size_t count() const {
    std::size_t count = layer_.size() - 1;
    while (count > 0 && layer_[count].is_object()) --count;
    return count;
  }
  double number(std::size_t i, double otherwise) const { return i < count() ? layer_[i + 1].get<double>() : otherwise; }
  int64_t whole(std::size_t i, int64_t otherwise = 0) const {
    return i < count() ? layer_[i + 1].get<int64_t>() : otherwise;
  }
  /// A named argument, in a map at the end of the layer or anywhere among the positional ones as true.
  bool flag(const std::string& name, bool otherwise = false) const {
    for (const auto& item : layer_) {
      if (item.is_object() && item.contains(name)) return item[name].get<bool>();
      if (item.is_string() && item == name) return true;
    }
    return count() > 0 && layer_[1].is_boolean() ? layer_[1].get<bool>() : otherwise;
  }

 private:
  const nlohmann::json& layer_;
};

/// Adds the layer that a golden file names to a Sequential. Throws for a kind it does not know.
inline void push_layer(torch::nn::Sequential& model, const nlohmann::json& layer) {
  namespace nn = torch::nn;
  const std::string kind = layer[0];
  const LayerArguments a(layer);
  if (kind == "Linear")
    return model->push_back(
        nn::Linear(nn::LinearOptions(a.whole(0), a.whole(1)).bias(a.count() < 3 || layer[3].get<bool>())));
  if (kind == "Conv1d")
    return model->push_back(
        nn::Conv1d(nn::Conv1dOptions(a.whole(0), a.whole(1), a.whole(2)).stride(a.whole(3, 1)).padding(a.whole(4, 0))));
  if (kind == "Conv2d")
    return model->push_back(
        nn::Conv2d(nn::Conv2dOptions(a.whole(0), a.whole(1), a.whole(2)).stride(a.whole(3, 1)).padding(a.whole(4, 0))));
  if (kind == "BatchNorm1d") return model->push_back(nn::BatchNorm1d(nn::BatchNorm1dOptions(a.whole(0))));
  if (kind == "BatchNorm2d") return model->push_back(nn::BatchNorm2d(nn::BatchNorm2dOptions(a.whole(0))));
  if (kind == "LayerNorm") return model->push_back(nn::LayerNorm(nn::LayerNormOptions({a.whole(0)})));
  if (kind == "MaxPool2d")
    return model->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(a.whole(0)).stride(a.whole(1, a.whole(0)))));
  if (kind == "AvgPool2d")
    return model->push_back(nn::AvgPool2d(nn::AvgPool2dOptions(a.whole(0)).stride(a.whole(1, a.whole(0)))));
  if (kind == "AdaptiveAvgPool2d")
    return model->push_back(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions(a.whole(0))));
  if (kind == "Flatten")
    return model->push_back(nn::Flatten(nn::FlattenOptions().start_dim(a.whole(0, 1)).end_dim(a.whole(1, -1))));
  if (kind == "ReLU") return model->push_back(nn::ReLU(nn::ReLUOptions(a.flag("inplace"))));
  if (kind == "LeakyReLU")
    return model->push_back(nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(a.number(0, 0.01))));
  if (kind == "ELU") return model->push_back(nn::ELU(nn::ELUOptions().alpha(a.number(0, 1.0))));
  if (kind == "Tanh") return model->push_back(nn::Tanh());
  if (kind == "Sigmoid") return model->push_back(nn::Sigmoid());
  if (kind == "GELU") return model->push_back(nn::GELU());
  if (kind == "SiLU") return model->push_back(nn::SiLU());
  if (kind == "Softplus") return model->push_back(nn::Softplus());
  if (kind == "Identity") return model->push_back(nn::Identity());
  if (kind == "Dropout") return model->push_back(nn::Dropout(nn::DropoutOptions(a.number(0, 0.5))));
  throw std::runtime_error("the golden file names the layer '" + kind + "', which this test does not build");
}

/// The optimizer that a golden file names, over a model's parameters.
inline std::unique_ptr<torch::optim::Optimizer> make_optimizer(const nlohmann::json& golden,
                                                               std::vector<torch::Tensor> parameters) {
  using namespace torch::optim;
  const std::string kind = golden["kind"];
  const double rate = golden["lr"];
  const double decay = golden.value("weight_decay", 0.0);
  if (kind == "SGD") {
    return std::make_unique<SGD>(std::move(parameters), SGDOptions(rate)
                                                            .momentum(golden.value("momentum", 0.0))
                                                            .weight_decay(decay)
                                                            .nesterov(golden.value("nesterov", false)));
  }
  if (kind == "Adam") return std::make_unique<Adam>(std::move(parameters), AdamOptions(rate).weight_decay(decay));
  if (kind == "AdamW")
    return std::make_unique<AdamW>(std::move(parameters),
                                   AdamWOptions(rate).weight_decay(golden.value("weight_decay", 0.01)));
  if (kind == "RMSprop")
    return std::make_unique<RMSprop>(std::move(parameters),
                                     RMSpropOptions(rate).momentum(golden.value("momentum", 0.0)));
  if (kind == "Adagrad") return std::make_unique<Adagrad>(std::move(parameters), AdagradOptions(rate));
  throw std::runtime_error("the golden file names the optimizer '" + kind + "', which this test does not make");
}

}  // namespace loupe::testing

#endif
