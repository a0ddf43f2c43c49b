#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace loupe::testing {

/// The named arguments of a layer or an optimizer in a golden file. Throws if the test does not know an argument, as a
/// model without it would train differently, which would look like a fault of the monitor.
class GoldenArguments {
 public:
  /// A layer has a kind and arguments: in Python's order (`names`), by name in a map, or only a name, meaning true.
  GoldenArguments(const nlohmann::json& layer, const std::vector<std::string>& names) : what_(layer.at(0)) {
    std::size_t position = 0;
    for (std::size_t i = 1; i < layer.size(); ++i) {
      if (layer[i].is_object()) {
        for (const auto& [name, value] : layer[i].items()) set(name, value, names);
      } else if (layer[i].is_string() && layer[i] == "inplace") {
        set("inplace", true, names);
      } else {
        if (position == names.size()) throw std::runtime_error("too many arguments in the layer " + layer.dump());
        set(names[position++], layer[i], names);
      }
    }
  }

  bool has(const std::string& name) const { return values_.count(name) > 0; }
  int64_t whole(const std::string& name, int64_t otherwise) const { return has(name) ? whole(name) : otherwise; }
  int64_t whole(const std::string& name) const { return at(name).get<int64_t>(); }
  double number(const std::string& name, double otherwise) const {
    return has(name) ? at(name).get<double>() : otherwise;
  }
  bool flag(const std::string& name, bool otherwise = false) const {
    return has(name) ? at(name).get<bool>() : otherwise;
  }
  std::string text(const std::string& name, const std::string& otherwise) const {
    return has(name) ? at(name).get<std::string>() : otherwise;
  }
  /// Returns one number for all dimensions, or one for each.
  std::vector<int64_t> list(const std::string& name) const {
    return at(name).is_array() ? at(name).get<std::vector<int64_t>>() : std::vector<int64_t>{whole(name)};
  }
  template <std::size_t D>
  torch::ExpandingArray<D> sizes(const std::string& name) const {
    const auto given = list(name);
    return given.size() == 1 ? torch::ExpandingArray<D>(given[0]) : torch::ExpandingArray<D>(torch::IntArrayRef(given));
  }
  template <std::size_t D>
  torch::ExpandingArray<D> sizes(const std::string& name, int64_t otherwise) const {
    return has(name) ? sizes<D>(name) : torch::ExpandingArray<D>(otherwise);
  }

 private:
  void set(const std::string& name, const nlohmann::json& value, const std::vector<std::string>& names) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw std::runtime_error("the golden file gives '" + name + "' to " + what_ + ", which this test does not know");
    if (!value.is_null()) values_[name] = value;
  }
  const nlohmann::json& at(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::runtime_error("the golden file's " + what_ + " lacks '" + name + "'");
    return found->second;
  }

  std::string what_;
  std::map<std::string, nlohmann::json> values_;
};

template <std::size_t D>
torch::nn::ConvOptions<D> convolution_options(const nlohmann::json& layer) {
  const GoldenArguments a(
      layer, {"in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias"});
  return torch::nn::ConvOptions<D>(a.whole("in_channels"), a.whole("out_channels"), a.sizes<D>("kernel_size"))
      .stride(a.sizes<D>("stride", 1))
      .padding(a.sizes<D>("padding", 0))
      .dilation(a.sizes<D>("dilation", 1))
      .groups(a.whole("groups", 1))
      .bias(a.flag("bias", true));
}

inline torch::nn::BatchNormOptions batch_norm_options(const nlohmann::json& layer) {
  const GoldenArguments a(layer, {"num_features", "eps", "momentum", "affine", "track_running_stats"});
  return torch::nn::BatchNormOptions(a.whole("num_features"))
      .eps(a.number("eps", 1e-5))
      .momentum(a.number("momentum", 0.1))
      .affine(a.flag("affine", true))
      .track_running_stats(a.flag("track_running_stats", true));
}

template <std::size_t D>
torch::nn::MaxPoolOptions<D> max_pool_options(const nlohmann::json& layer) {
  const GoldenArguments a(layer, {"kernel_size", "stride", "padding", "dilation"});
  return torch::nn::MaxPoolOptions<D>(a.sizes<D>("kernel_size"))
      .stride(a.sizes<D>(a.has("stride") ? "stride" : "kernel_size"))
      .padding(a.sizes<D>("padding", 0))
      .dilation(a.sizes<D>("dilation", 1));
}

template <std::size_t D>
torch::nn::AvgPoolOptions<D> average_pool_options(const nlohmann::json& layer) {
  const GoldenArguments a(layer, {"kernel_size", "stride", "padding"});
  return torch::nn::AvgPoolOptions<D>(a.sizes<D>("kernel_size"))
      .stride(a.sizes<D>(a.has("stride") ? "stride" : "kernel_size"))
      .padding(a.sizes<D>("padding", 0));
}

/// Adds a layer of a golden file to a Sequential. Throws if its kind is unknown.
inline void push_layer(torch::nn::Sequential& model, const nlohmann::json& layer) {
  namespace nn = torch::nn;
  const std::string kind = layer.at(0);
  const auto arguments = [&](const std::vector<std::string>& names) { return GoldenArguments(layer, names); };
  if (kind == "Linear") {
    const auto a = arguments({"in_features", "out_features", "bias"});
    return model->push_back(
        nn::Linear(nn::LinearOptions(a.whole("in_features"), a.whole("out_features")).bias(a.flag("bias", true))));
  }
  if (kind == "Conv1d") return model->push_back(nn::Conv1d(convolution_options<1>(layer)));
  if (kind == "Conv2d") return model->push_back(nn::Conv2d(convolution_options<2>(layer)));
  if (kind == "Conv3d") return model->push_back(nn::Conv3d(convolution_options<3>(layer)));
  if (kind == "BatchNorm1d") return model->push_back(nn::BatchNorm1d(batch_norm_options(layer)));
  if (kind == "BatchNorm2d") return model->push_back(nn::BatchNorm2d(batch_norm_options(layer)));
  if (kind == "BatchNorm3d") return model->push_back(nn::BatchNorm3d(batch_norm_options(layer)));
  if (kind == "LayerNorm") {
    const auto a = arguments({"normalized_shape", "eps", "elementwise_affine"});
    return model->push_back(nn::LayerNorm(nn::LayerNormOptions(a.list("normalized_shape"))
                                              .eps(a.number("eps", 1e-5))
                                              .elementwise_affine(a.flag("elementwise_affine", true))));
  }
  if (kind == "GroupNorm") {
    const auto a = arguments({"num_groups", "num_channels", "eps", "affine"});
    return model->push_back(nn::GroupNorm(nn::GroupNormOptions(a.whole("num_groups"), a.whole("num_channels"))
                                              .eps(a.number("eps", 1e-5))
                                              .affine(a.flag("affine", true))));
  }
  if (kind == "MaxPool1d") return model->push_back(nn::MaxPool1d(max_pool_options<1>(layer)));
  if (kind == "MaxPool2d") return model->push_back(nn::MaxPool2d(max_pool_options<2>(layer)));
  if (kind == "AvgPool1d") return model->push_back(nn::AvgPool1d(average_pool_options<1>(layer)));
  if (kind == "AvgPool2d") return model->push_back(nn::AvgPool2d(average_pool_options<2>(layer)));
  if (kind == "AdaptiveAvgPool2d") {
    const auto size = arguments({"output_size"}).list("output_size");
    return model->push_back(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({size.front(), size.back()})));
  }
  if (kind == "Flatten") {
    const auto a = arguments({"start_dim", "end_dim"});
    return model->push_back(
        nn::Flatten(nn::FlattenOptions().start_dim(a.whole("start_dim", 1)).end_dim(a.whole("end_dim", -1))));
  }
  if (kind == "ReLU") return model->push_back(nn::ReLU(nn::ReLUOptions(arguments({"inplace"}).flag("inplace"))));
  if (kind == "ReLU6") return model->push_back(nn::ReLU6(nn::ReLU6Options(arguments({"inplace"}).flag("inplace"))));
  if (kind == "LeakyReLU") {
    const auto a = arguments({"negative_slope", "inplace"});
    return model->push_back(nn::LeakyReLU(
        nn::LeakyReLUOptions().negative_slope(a.number("negative_slope", 0.01)).inplace(a.flag("inplace"))));
  }
  if (kind == "ELU") {
    const auto a = arguments({"alpha", "inplace"});
    return model->push_back(nn::ELU(nn::ELUOptions().alpha(a.number("alpha", 1.0)).inplace(a.flag("inplace"))));
  }
  if (kind == "Hardtanh") {
    const auto a = arguments({"min_val", "max_val"});
    return model->push_back(
        nn::Hardtanh(nn::HardtanhOptions().min_val(a.number("min_val", -1)).max_val(a.number("max_val", 1))));
  }
  if (kind == "GELU")
    return model->push_back(
        nn::GELU(nn::GELUOptions().approximate(arguments({"approximate"}).text("approximate", "none"))));
  if (kind == "Softmax") return model->push_back(nn::Softmax(arguments({"dim"}).whole("dim")));
  if (kind == "LogSoftmax") return model->push_back(nn::LogSoftmax(arguments({"dim"}).whole("dim")));
  if (kind == "Dropout") {
    const auto a = arguments({"p", "inplace"});
    return model->push_back(nn::Dropout(nn::DropoutOptions(a.number("p", 0.5)).inplace(a.flag("inplace"))));
  }
  if (kind == "Dropout2d") {
    const auto a = arguments({"p", "inplace"});
    return model->push_back(nn::Dropout2d(nn::Dropout2dOptions(a.number("p", 0.5)).inplace(a.flag("inplace"))));
  }
  const auto plain = [&](auto module) {
    arguments({});
    model->push_back(module);
  };
  if (kind == "Tanh") return plain(nn::Tanh());
  if (kind == "Sigmoid") return plain(nn::Sigmoid());
  if (kind == "SiLU") return plain(nn::SiLU());
  if (kind == "SELU") return plain(nn::SELU());
  if (kind == "Softplus") return plain(nn::Softplus());
  if (kind == "PReLU") return plain(nn::PReLU());
  if (kind == "Identity") return plain(nn::Identity());
  throw std::runtime_error("the golden file names the layer '" + kind + "', which this test does not build");
}

/// Creates an optimizer of a golden file for a model's parameters.
inline std::unique_ptr<torch::optim::Optimizer> make_optimizer(const nlohmann::json& golden,
                                                               std::vector<torch::Tensor> parameters) {
  using namespace torch::optim;
  const std::string kind = golden.at("kind");
  nlohmann::json named = golden;
  named.erase("kind");
  const auto arguments = [&](const std::vector<std::string>& names) {
    return GoldenArguments(nlohmann::json::array({kind, named}), names);
  };
  const double rate = golden.at("lr");
  if (kind == "SGD") {
    const auto a = arguments({"lr", "momentum", "dampening", "weight_decay", "nesterov"});
    return std::make_unique<SGD>(std::move(parameters), SGDOptions(rate)
                                                            .momentum(a.number("momentum", 0))
                                                            .dampening(a.number("dampening", 0))
                                                            .weight_decay(a.number("weight_decay", 0))
                                                            .nesterov(a.flag("nesterov")));
  }
  if (kind == "Adam" || kind == "AdamW") {
    const auto a = arguments({"lr", "betas", "eps", "weight_decay", "amsgrad"});
    const std::vector<double> betas = golden.value("betas", std::vector<double>{0.9, 0.999});
    const auto complete = [&](auto options, double decay) {
      options.betas({betas.at(0), betas.at(1)}).eps(a.number("eps", 1e-8)).amsgrad(a.flag("amsgrad"));
      options.weight_decay(a.number("weight_decay", decay));
      return options;
    };
    if (kind == "Adam") return std::make_unique<Adam>(std::move(parameters), complete(AdamOptions(rate), 0));
    return std::make_unique<AdamW>(std::move(parameters), complete(AdamWOptions(rate), 0.01));
  }
  if (kind == "RMSprop") {
    const auto a = arguments({"lr", "alpha", "eps", "weight_decay", "momentum", "centered"});
    return std::make_unique<RMSprop>(std::move(parameters), RMSpropOptions(rate)
                                                                .alpha(a.number("alpha", 0.99))
                                                                .eps(a.number("eps", 1e-8))
                                                                .weight_decay(a.number("weight_decay", 0))
                                                                .momentum(a.number("momentum", 0))
                                                                .centered(a.flag("centered")));
  }
  if (kind == "Adagrad") {
    const auto a = arguments({"lr", "lr_decay", "weight_decay"});
    return std::make_unique<Adagrad>(
        std::move(parameters),
        AdagradOptions(rate).lr_decay(a.number("lr_decay", 0)).weight_decay(a.number("weight_decay", 0)));
  }
  throw std::runtime_error("the golden file names the optimizer '" + kind + "', which this test does not make");
}

}  // namespace loupe::testing
