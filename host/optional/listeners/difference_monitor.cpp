#include "loupe/difference_monitor.h"

#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "listeners/listening.h"
#include "torch/model/point_maker.h"

namespace loupe {
namespace {

/// A parameter or buffer by its dotted name, or an undefined tensor.
at::Tensor find_attribute(const torch::nn::Module& module, const std::string& name) {
  const auto dot = name.find('.');
  if (dot != std::string::npos) {
    const auto children = module.named_children();
    const auto* child = children.find(name.substr(0, dot));
    return child != nullptr && *child != nullptr ? find_attribute(**child, name.substr(dot + 1)) : at::Tensor();
  }
  return own_tensor(module, name);
}

class AttributeListener : public ForwardListener {
 public:
  AttributeListener(std::shared_ptr<Reducer> reducer, std::string attribute, DifferenceSettings settings,
                    DifferenceMonitor::Get get)
      : reducer_(std::move(reducer)),
        attribute_(std::move(attribute)),
        settings_(std::move(settings)),
        get_(std::move(get)) {}

  void entered(torch::nn::Module& module, const at::Tensor* const*, std::size_t) override {
    const std::lock_guard lock(mutex_);
    before_.reset();
    if (!(module.is_training() ? settings_.train_update : settings_.eval_update)) return;
    before_ = copy(read(module));
  }
  void left(torch::nn::Module& module, const at::Tensor* const*, std::size_t, const at::Tensor* const*,
            std::size_t) override {
    const std::lock_guard lock(mutex_);
    if (!before_) return;
    const at::NoGradGuard no_grad;
    at::Tensor before = *std::exchange(before_, std::nullopt);
    at::Tensor after = copy(read(module));
    if (settings_.filter ? !settings_.filter(after, before) : !after.defined() && !before.defined()) return;
    if (!after.defined() && before.defined()) after = at::zeros_like(before);
    if (!before.defined() && after.defined()) before = at::zeros_like(after);
    if (settings_.map) {
      reducer_->push(settings_.map(after, before));
    } else if (after.defined()) {
      reducer_->push({settings_.op ? settings_.op(after, before) : after - before});
    }
  }

  void check(const torch::nn::Module& module) const {
    if (get_ || find_attribute(module, attribute_).defined()) return;
    throw std::invalid_argument("loupe: " + module.name() + " has no parameter or buffer '" + attribute_ +
                                "'; for a value that is neither, pass the DifferenceMonitor a function that reads it");
  }
  Reducer& reducer() { return *reducer_; }

 private:
  at::Tensor read(const torch::nn::Module& module) const { return get_ ? get_() : find_attribute(module, attribute_); }
  static at::Tensor copy(const at::Tensor& value) { return value.defined() ? value.detach().clone() : at::Tensor(); }

  std::shared_ptr<Reducer> reducer_;
  std::string attribute_;
  DifferenceSettings settings_;
  DifferenceMonitor::Get get_;
  std::mutex mutex_;
  std::optional<at::Tensor> before_;
};

}  // namespace

class DifferenceMonitor::Impl {
 public:
  explicit Impl(std::shared_ptr<AttributeListener> listener_, bool prepend_)
      : listener(std::move(listener_)), prepend(prepend_) {}
  std::shared_ptr<AttributeListener> listener;
  bool prepend;
  std::optional<Listening> listening;
};

DifferenceMonitor::DifferenceMonitor(std::shared_ptr<Reducer> reducer, std::string attribute,
                                     DifferenceSettings settings, Get get) {
  if (reducer == nullptr) throw std::invalid_argument("loupe: a DifferenceMonitor needs a reducer");
  const bool prepend = settings.prepend;
  impl_ = std::make_unique<Impl>(std::make_shared<AttributeListener>(std::move(reducer), std::move(attribute),
                                                                     std::move(settings), std::move(get)),
                                 prepend);
}
DifferenceMonitor::DifferenceMonitor(std::shared_ptr<Reducer> reducer, std::string attribute, torch::nn::Module& module,
                                     DifferenceSettings settings, Get get)
    : DifferenceMonitor(std::move(reducer), std::move(attribute), std::move(settings), std::move(get)) {
  set_module(module);
}
DifferenceMonitor::DifferenceMonitor(DifferenceMonitor&&) noexcept = default;
DifferenceMonitor& DifferenceMonitor::operator=(DifferenceMonitor&&) noexcept = default;
DifferenceMonitor::~DifferenceMonitor() = default;

void DifferenceMonitor::set_module(torch::nn::Module& module) {
  impl_->listening.reset();
  impl_->listener->check(module);
  impl_->listening.emplace(module, impl_->listener, impl_->prepend);
}
void DifferenceMonitor::unset_module() {
  impl_->listening.reset();
}
bool DifferenceMonitor::has_module() const {
  return impl_->listening.has_value();
}

Reducer& DifferenceMonitor::reducer() {
  return impl_->listener->reducer();
}
void DifferenceMonitor::clear() {
  impl_->listener->reducer().clear();
}

std::function<DifferenceMonitor(std::string, torch::nn::Module&)> DifferenceMonitor::partial(
    MakeReducer make_reducer, DifferenceSettings settings) {
  return [make_reducer = std::move(make_reducer), settings = std::move(settings)](std::string attribute,
                                                                                  torch::nn::Module& module) {
    return DifferenceMonitor(make_reducer(), std::move(attribute), module, settings);
  };
}

}  // namespace loupe
