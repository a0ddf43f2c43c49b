#include "inspector/attachments.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/log.h"
#include "torch/model/registry.h"

namespace loupe {

void Attachments::attach(torch::nn::Module& model, const std::vector<torch::optim::Optimizer*>& optimizers,
                         const std::string& name, bool is_loss, bool awaits_optimizers) {
  if (is_closed_) throw std::logic_error("loupe: an inspector that is being destroyed cannot attach a model");
  for (const auto& other : attachments_) {
    if (other->name() == name) {
      throw std::invalid_argument("loupe: a model is attached under the name '" + name +
                                  "'; give each its own: attach(model, optimizer, \"name\"), or, for one "
                                  "more optimizer of the same model, call attach_optimizer(optimizer)");
    }
  }
  auto attachment = std::make_shared<Attachment>(monitor_, name);
  attachment->attach(model, optimizers, exposed_, is_loss);
  if (awaits_optimizers) attachment->await_optimizers();
  attachments_.push_back(attachment);
  if (monitor_.config().list_modules) {
    for (const std::string& line : attachment->coverage()) log(LOUPE_LOG_INFO, line);
  }
  // The first lines of `loupe run` report how much of a model is tapped.
  const bool is_told = is_only_watched() && !attachment->has_more_to_tell();
  if (monitor_.config().summary && !is_told) log(LOUPE_LOG_INFO, attachment->summary());
}

void Attachments::attach_optimizer(torch::optim::Optimizer& optimizer) {
  bool any = false;
  for (const auto& attachment : attachments_) {
    if (!attachment->holds_any(optimizer)) continue;
    attachment->attach_optimizer(optimizer);
    any = true;
  }
  if (!any)
    throw std::invalid_argument(
        "loupe: the optimizer given to attach_optimizer holds no parameter of an attached model; attach its "
        "model first");
}

void Attachments::detach(const std::string& name) {
  const auto found =
      std::find_if(attachments_.begin(), attachments_.end(), [&](const auto& each) { return each->name() == name; });
  if (found == attachments_.end())
    throw std::invalid_argument("loupe: no model is attached under the name '" + name + "'");
  if ((*found)->has_events()) (*found)->show_parameters();
  (*found)->detach();
  attachments_.erase(found);
}

void Attachments::detach_all() {
  for (const auto& attachment : attachments_) attachment->detach();
  attachments_.clear();
}

void Attachments::expose(const std::string& path, const std::string& attribute, std::function<at::Tensor()> get) {
  if (!attachments_.empty())
    log(LOUPE_LOG_WARNING,
        "expose('" + path + "', '" + attribute + "') is called after attach; only models attached from now on show it");
  exposed_[{path, attribute}] = std::move(get);
}

bool Attachments::any_has_optimizer() const {
  return std::any_of(attachments_.begin(), attachments_.end(), [](const auto& each) { return each->has_optimizer(); });
}

std::vector<const loupe_optimizer*> Attachments::optimizers() const {
  std::vector<const loupe_optimizer*> optimizers;
  for (const auto& attachment : attachments_) attachment->list_optimizers(optimizers);
  // An optimizer of several models counts once.
  std::set<uint64_t> numbers;
  std::erase_if(optimizers, [&](const loupe_optimizer* each) { return !numbers.insert(each->id).second; });
  return optimizers;
}

}  // namespace loupe
