#include "health/rules/layer.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace loupe::health {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view type, const std::array<std::string_view, N>& types) {
  return std::ranges::find(types, type) != types.end();
}

// Functions that are 0 for every negative input; the host has checked this for a clamp.
constexpr std::array<std::string_view, 9> rectifiers = {"ReLU",  "relu",      "ReLU6",   "relu6",    "threshold",
                                                        "clamp", "clamp_min", "maximum", "Threshold"};
constexpr std::array<std::string_view, 8> bounded = {"Tanh",     "tanh",     "Sigmoid",     "sigmoid",
                                                     "Hardtanh", "hardtanh", "hardsigmoid", "Hardsigmoid"};
constexpr std::array<std::string_view, 5> softmaxes = {"Softmax", "softmax", "Softmax2d", "LogSoftmax", "log_softmax"};
constexpr std::array<std::string_view, 4> passing_on = {"ReLU", "relu", "ReLU6", "relu6"};
constexpr std::array<std::string_view, 3> recurrent = {"RNN", "LSTM", "GRU"};
constexpr std::array<std::string_view, 8> selecting = {"MaxPool1d",         "MaxPool2d",         "MaxPool3d",
                                                       "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
                                                       "Flatten",           "Identity"};

/// The value of a setting as the module prints it: "0.1" of "64, eps=1e-05, momentum=0.1"; empty if absent.
std::string setting(std::string_view settings, std::string_view name) {
  const std::size_t at = settings.find(std::string(name) + "=");
  if (at == std::string_view::npos) return "";
  const std::string_view value = settings.substr(at + name.size() + 1);
  return std::string(value.substr(0, value.find(',')));
}

double running_momentum_of(const Module& shown) {
  if (setting(shown.settings(), "track_running_stats") == "false") return 0;
  return std::strtod(setting(shown.settings(), "momentum").c_str(), nullptr);
}

}  // namespace

Role role_of(const Module& module) {
  const std::string_view type = module.type();
  if (is_one_of(type, rectifiers)) return Role::rectifier;
  if (is_one_of(type, bounded)) return Role::bounded;
  if (is_one_of(type, softmaxes)) return Role::softmax;
  switch (module.family()) {
    case LOUPE_FAMILY_LINEAR:
      return Role::linear;
    case LOUPE_FAMILY_CONVOLUTION:
      return Role::convolution;
    case LOUPE_FAMILY_NORMALIZATION:
      return Role::normalization;
    case LOUPE_FAMILY_DROPOUT:
      return Role::dropout;
    default:
      return Role::other;
  }
}

Bounds bounds_of(const std::string& type) {
  const bool from_zero = type.find("igmoid") != std::string::npos;
  return {from_zero ? 0.0 : -1.0, 1.0};
}

Layer::Layer(const Module& shown)
    : module(shown.raw()),
      name(shown.name()),
      type(shown.type()),
      role(role_of(shown)),
      is_batch_norm(type.compare(0, 9, "BatchNorm") == 0),
      takes_time_first(is_one_of(type, recurrent) && !shown.settings().empty() &&
                       setting(shown.settings(), "batch_first") != "true"),
      running_momentum(is_batch_norm ? running_momentum_of(shown) : 0),
      shows_non_finite((shown.family() == LOUPE_FAMILY_ACTIVATION && role != Role::softmax) ||
                       role == Role::rectifier || role == Role::bounded || role == Role::normalization),
      only_passes_on(is_one_of(type, passing_on)),
      only_selects(is_one_of(type, selecting)) {}

}  // namespace loupe::health
