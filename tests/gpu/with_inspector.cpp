#include <loupe/inspector.h>

#include <optional>

#include "watching.h"

namespace watching {
namespace {

std::optional<loupe::Inspector> inspector;

}  // namespace

void begin(const std::string& monitor) {
  inspector.emplace(loupe::Inspector::from_yaml(monitor));
}

void attach(torch::nn::Module& model, torch::optim::Optimizer* optimizer, const std::string& name) {
  if (optimizer != nullptr) {
    inspector->attach(model, *optimizer, name);
  } else {
    inspector->attach(model, name);
  }
}

void push_loss(const at::Tensor& loss) {
  inspector->push_loss(loss, /*train=*/true);
}

void tick() {
  inspector->tick_epoch();
}

std::string end() {
  std::string found;
  for (const loupe::Finding& finding : inspector->findings())
    if (finding.severity >= LOUPE_SEVERITY_WARNING) found += (found.empty() ? "\"" : ", \"") + finding.rule + '"';
  inspector.reset();
  return found;
}

}  // namespace watching
