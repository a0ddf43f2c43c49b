#include "listeners/listening.h"

#include <torch/nn/module.h>
#include <stdexcept>

#include "torch/model/module_types.h"
#include "torch/model/registry.h"

namespace loupe {

Listening::Listening(torch::nn::Module& module, std::shared_ptr<ForwardListener> listener, bool first) {
  const Visibility visibility = visibility_of(module, true);
  if (!visibility.tapped)
    throw std::invalid_argument("loupe: the forward of a " + module.name() + " cannot be seen: " + visibility.reason);
  point_->active = active_;
  point_->module = &module;
  point_->owner = module.weak_from_this();
  point_->has_owner = !point_->owner.expired();
  point_->listener = std::move(listener);
  point_->opaque = visibility.opaque;
  Registry::instance().add({point_}, first);
  count_active_attachments(1);
}

Listening::~Listening() {
  active_->store(false);
  count_active_attachments(-1);
  Registry::instance().remove(active_.get());
}

}  // namespace loupe
