#include "inspector/deferred_losses.h"

#include <ATen/ATen.h>
#include <utility>

namespace loupe {

void DeferredLosses::flush() {
  if (losses_.empty()) return;
  const std::vector<Loss> losses = std::exchange(losses_, {});
  const at::Device device = losses[0].value.device();
  std::vector<at::Tensor> values;
  for (const Loss& loss : losses) values.push_back(loss.value.to(device, at::kDouble).reshape({1}));
  const at::Tensor all = at::cat(values).cpu();
  for (std::size_t i = 0; i < losses.size(); ++i)
    monitor_.push(losses[i].label, all.data_ptr<double>()[i], losses[i].flags);
}

}  // namespace loupe
