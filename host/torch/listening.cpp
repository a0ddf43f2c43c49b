#include "torch/listening.h"

#include <torch/nn/module.h>
#include <stdexcept>

#include "torch/model/module_types.h"
#include "torch/model/registry.h"
#include "torch/taps/forward_taps.h"

namespace loupe {

Listening::Listening(torch::nn::Module& module, std::shared_ptr<ForwardListener> listener, bool first) {
  const Visibility visibility = visibility_of(module, true);
  if (!visibility.tapped)
    throw std::invalid_argument("loupe: the forward of a " + module.name() + " cannot be seen: " + visibility.reason);
  if (is_tappable_norm(module)) tap_norm(module);
  point_->active = active_;
  point_->module = &module;
  point_->owner = module.weak_from_this();
  point_->has_owner = !point_->owner.expired();
  point_->listener = std::move(listener);
  Registry::instance().add_listener(point_, visibility.opaque, first);
  active_attachments.fetch_add(1);
}

Listening::~Listening() {
  active_->store(false);
  active_attachments.fetch_sub(1);
  Registry::instance().remove_listener(point_.get());
}

}  // namespace loupe
