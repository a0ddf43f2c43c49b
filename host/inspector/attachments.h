#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/monitor.h"
#include "torch/attachment.h"

namespace loupe {

/// The attached models of an inspector, each under its own name. Under the inspector's mutex.
class Attachments {
 public:
  using List = std::vector<std::shared_ptr<Attachment>>;

  explicit Attachments(Monitor& monitor) : monitor_(monitor) {}

  /// Throws std::invalid_argument for a name in use, and std::logic_error once the inspector is ending.
  /// @param awaits_optimizers  optimizers are found as they clear gradients or step
  void attach(torch::nn::Module& model, const std::vector<torch::optim::Optimizer*>& optimizers,
              const std::string& name, bool is_loss, bool awaits_optimizers);
  /// Throws std::invalid_argument if it holds no parameter of any model.
  void attach_optimizer(torch::optim::Optimizer& optimizer);
  /// Throws std::invalid_argument for a name that no attached model has.
  void detach(const std::string& name);
  void detach_all();
  /// The inspector ends: refuses further models.
  void close() { is_closed_ = true; }
  /// See Inspector::expose.
  void expose(const std::string& path, const std::string& attribute, std::function<at::Tensor()> get);

  const List& all() const { return attachments_; }
  bool any_has_optimizer() const;
  /// The optimizers of all models, each in its state before its last step.
  std::vector<const loupe_optimizer*> optimizers() const;

 private:
  Monitor& monitor_;
  Exposed exposed_;
  List attachments_;
  bool is_closed_ = false;
};

}  // namespace loupe
