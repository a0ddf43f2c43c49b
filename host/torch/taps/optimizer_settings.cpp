#include "torch/taps/optimizer_settings.h"

#include <torch/optim.h>
#include <cmath>

namespace loupe {
namespace {

using namespace torch::optim;

void read_options(const OptimizerOptions& options, loupe_parameter_group& group) {
  const auto set = [&](double learning_rate, double momentum, double weight_decay) {
    group.learning_rate = learning_rate;
    group.momentum = momentum;
    group.weight_decay = weight_decay;
  };
  const auto set_adaptive = [&](const auto& adam) {
    set(adam.lr(), std::get<0>(adam.betas()), adam.weight_decay());
    group.second_momentum = std::get<1>(adam.betas());
    group.epsilon = adam.eps();
    if (adam.amsgrad()) group.flags |= LOUPE_GROUP_AMSGRAD;
  };
  set(NAN, NAN, NAN);
  group.second_momentum = group.epsilon = group.dampening = NAN;
  if (const auto* adam = dynamic_cast<const AdamOptions*>(&options)) {
    set_adaptive(*adam);
  } else if (const auto* adamw = dynamic_cast<const AdamWOptions*>(&options)) {
    set_adaptive(*adamw);
  } else if (const auto* sgd = dynamic_cast<const SGDOptions*>(&options)) {
    set(sgd->lr(), sgd->momentum(), sgd->weight_decay());
    group.dampening = sgd->dampening();
    if (sgd->nesterov()) group.flags |= LOUPE_GROUP_NESTEROV;
  } else if (const auto* rmsprop = dynamic_cast<const RMSpropOptions*>(&options)) {
    set(rmsprop->lr(), rmsprop->momentum(), rmsprop->weight_decay());
    group.second_momentum = rmsprop->alpha();
    group.epsilon = rmsprop->eps();
    if (rmsprop->centered()) group.flags |= LOUPE_GROUP_CENTERED;
  } else if (const auto* adagrad = dynamic_cast<const AdagradOptions*>(&options)) {
    set(adagrad->lr(), NAN, adagrad->weight_decay());
    group.epsilon = adagrad->eps();
  } else if (const auto* lbfgs = dynamic_cast<const LBFGSOptions*>(&options)) {
    set(lbfgs->lr(), NAN, NAN);
  }
}

}  // namespace

std::string optimizer_type(const Optimizer& optimizer) {
  if (dynamic_cast<const Adam*>(&optimizer) != nullptr) return "Adam";
  if (dynamic_cast<const AdamW*>(&optimizer) != nullptr) return "AdamW";
  if (dynamic_cast<const SGD*>(&optimizer) != nullptr) return "SGD";
  if (dynamic_cast<const RMSprop*>(&optimizer) != nullptr) return "RMSprop";
  if (dynamic_cast<const Adagrad*>(&optimizer) != nullptr) return "Adagrad";
  if (dynamic_cast<const LBFGS*>(&optimizer) != nullptr) return "LBFGS";
  return "optimizer";
}

void read_groups(const Optimizer& optimizer, std::vector<loupe_parameter_group>& groups) {
  groups.clear();
  for (const OptimizerParamGroup& each : optimizer.param_groups()) {
    loupe_parameter_group group{};
    group.struct_size = sizeof group;
    if (each.has_options()) {
      read_options(each.options(), group);
    } else {
      read_options(optimizer.defaults(), group);
    }
    group.tensor_count = each.params().size();
    for (const at::Tensor& parameter : each.params()) group.element_count += parameter.numel();
    groups.push_back(group);
  }
}

}  // namespace loupe
