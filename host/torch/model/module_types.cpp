#include "torch/model/module_types.h"

#include <loupe/abi.h>

#include <unordered_map>

namespace loupe {
namespace {

/// One of a list of template arguments, up to the comma or bracket that ends it.
std::string first_argument(const std::string& arguments) {
  int depth = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const char c = arguments[i];
    if (depth == 0 && (c == ',' || c == '>')) return arguments.substr(0, i);
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') --depth;
  }
  return arguments;
}

}  // namespace

std::string short_type(const std::string& full_type) {
  std::string name = full_type;
  // The template argument of loupe::Tapped<X> is the type that the user knows.
  const auto tapped = name.find("loupe::Tapped<");
  if (tapped != std::string::npos) name = first_argument(name.substr(tapped + 14));
  const auto colons = name.substr(0, name.find('<')).rfind("::");
  if (colons != std::string::npos) name = name.substr(colons + 2);
  if (name.size() > 4 && name.compare(name.size() - 4, 4, "Impl") == 0) name.resize(name.size() - 4);
  return name;
}

uint32_t family_of(const std::string& short_type) {
  static const auto& families = *new const std::unordered_map<std::string, uint32_t>([] {
    std::unordered_map<std::string, uint32_t> map;
    const auto add = [&](uint32_t family, std::initializer_list<const char*> types) {
      for (const char* type : types) map[type] = family;
    };
    add(LOUPE_FAMILY_ACTIVATION,
        {"ELU",        "SELU",       "CELU",       "GLU",        "GELU",      "SiLU",    "Mish",
         "ReLU",       "ReLU6",      "RReLU",      "PReLU",      "Sigmoid",   "Tanh",    "Softplus",
         "Softshrink", "Softsign",   "LeakyReLU",  "LogSigmoid", "Hardtanh",  "Softmax", "Softmin",
         "Softmax2d",  "LogSoftmax", "Tanhshrink", "Threshold",  "Hardshrink"});
    add(LOUPE_FAMILY_DROPOUT, {"Dropout", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"});
    add(LOUPE_FAMILY_LINEAR, {"Linear", "Bilinear", "Identity"});
    add(LOUPE_FAMILY_CONVOLUTION,
        {"Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Fold", "Unfold"});
    add(LOUPE_FAMILY_NORMALIZATION, {"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d",
                                     "InstanceNorm3d", "LayerNorm", "GroupNorm", "LocalResponseNorm", "CrossMapLRN2d"});
    add(LOUPE_FAMILY_RECURRENT, {"RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"});
    add(LOUPE_FAMILY_POOLING,
        {"AvgPool1d",         "AvgPool2d",         "AvgPool3d",           "MaxPool1d",           "MaxPool2d",
         "MaxPool3d",         "AdaptiveAvgPool1d", "AdaptiveAvgPool2d",   "AdaptiveAvgPool3d",   "AdaptiveMaxPool1d",
         "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d",
         "LPPool2d",          "LPPool3d",          "MaxUnpool1d",         "MaxUnpool2d",         "MaxUnpool3d"});
    add(LOUPE_FAMILY_EMBEDDING, {"Embedding", "EmbeddingBag"});
    add(LOUPE_FAMILY_ATTENTION, {"MultiheadAttention"});
    return map;
  }());
  const auto found = families.find(short_type);
  if (found != families.end()) return found->second;
  if (short_type.size() > 4 && short_type.find("Loss") != std::string::npos) return LOUPE_FAMILY_LOSS;
  if (short_type.find("Pad1d") != std::string::npos || short_type.find("Pad2d") != std::string::npos ||
      short_type.find("Pad3d") != std::string::npos) {
    return LOUPE_FAMILY_PADDING;
  }
  return LOUPE_FAMILY_OTHER;
}

}  // namespace loupe
