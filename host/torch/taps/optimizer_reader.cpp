#include "torch/taps/optimizer_reader.h"

#include <torch/optim.h>

#include <tuple>
#include <utility>

namespace loupe {
namespace {

using namespace torch::optim;

thread_local const Optimizer* stepped_here = nullptr;

void read_options(const OptimizerOptions& options, GroupFacts& group) {
  const auto read_adam = [&](const auto& adam) {
    group.set_rate(adam.lr());
    group.set_weight_decay(adam.weight_decay());
    group.set("beta1", std::get<0>(adam.betas()));
    group.set("beta2", std::get<1>(adam.betas()));
    group.set("eps", adam.eps());
    group.set("amsgrad", adam.amsgrad());
  };
  if (const auto* adam = dynamic_cast<const AdamOptions*>(&options)) {
    read_adam(*adam);
  } else if (const auto* adamw = dynamic_cast<const AdamWOptions*>(&options)) {
    read_adam(*adamw);
  } else if (const auto* sgd = dynamic_cast<const SGDOptions*>(&options)) {
    group.set_rate(sgd->lr());
    group.set_weight_decay(sgd->weight_decay());
    group.set("momentum", sgd->momentum());
    group.set("dampening", sgd->dampening());
    group.set("nesterov", sgd->nesterov());
  } else if (const auto* rmsprop = dynamic_cast<const RMSpropOptions*>(&options)) {
    group.set_rate(rmsprop->lr());
    group.set_weight_decay(rmsprop->weight_decay());
    group.set("momentum", rmsprop->momentum());
    group.set("alpha", rmsprop->alpha());
    group.set("eps", rmsprop->eps());
    group.set("centered", rmsprop->centered());
  } else if (const auto* adagrad = dynamic_cast<const AdagradOptions*>(&options)) {
    group.set_rate(adagrad->lr());
    group.set_weight_decay(adagrad->weight_decay());
    group.set("lr_decay", adagrad->lr_decay());
    group.set("initial_accumulator_value", adagrad->initial_accumulator_value());
    group.set("eps", adagrad->eps());
  } else if (const auto* lbfgs = dynamic_cast<const LBFGSOptions*>(&options)) {
    group.set_rate(lbfgs->lr());
    group.set("max_iter", lbfgs->max_iter());
    if (lbfgs->max_eval()) group.set("max_eval", *lbfgs->max_eval());
    group.set("tolerance_grad", lbfgs->tolerance_grad());
    group.set("tolerance_change", lbfgs->tolerance_change());
    group.set("history_size", lbfgs->history_size());
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

void read_groups(const Optimizer& optimizer, std::vector<GroupFacts>& groups) {
  groups.resize(optimizer.param_groups().size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const OptimizerParamGroup& each = optimizer.param_groups()[i];
    GroupFacts& group = groups[i];
    group.group = GroupFacts().group;
    group.settings.clear();
    read_options(each.has_options() ? each.options() : optimizer.defaults(), group);
    group.group.tensor_count = each.params().size();
    for (const at::Tensor& parameter : each.params()) group.group.element_count += parameter.numel();
  }
}

SteppedOptimizer::SteppedOptimizer(const Optimizer& optimizer) : before_(std::exchange(stepped_here, &optimizer)) {}
SteppedOptimizer::~SteppedOptimizer() {
  stepped_here = before_;
}

const Optimizer* stepped_optimizer() {
  return stepped_here;
}

}  // namespace loupe
