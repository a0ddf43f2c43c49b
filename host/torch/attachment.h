#ifndef LOUPE_TORCH_ATTACHMENT_H
#define LOUPE_TORCH_ATTACHMENT_H

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/monitor.h"
#include "torch/forward_scope.h"
#include "torch/tap_point.h"

namespace loupe {

/// One model attached to one inspector: its tap points, its hooks, its optimizer. Trainer's thread, but for
/// add_function.
class Attachment : public std::enable_shared_from_this<Attachment> {
 public:
  /// Values that the trainer exposed by (module path, attribute).
  using Exposed = std::map<std::pair<std::string, std::string>, std::function<at::Tensor()>>;

  /// @param monitor  outlives the attachment  @param mutex  the inspector's
  Attachment(Monitor& monitor, std::recursive_mutex& mutex, std::string name);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  const std::string& name() const { return name_; }
  /// Walks the model, shows its modules to the lenses and lays the taps.
  void attach(torch::nn::Module& model, torch::optim::Optimizer* optimizer, const Exposed& exposed,
              bool is_loss = false);
  void detach();
  void set_active(bool active);

  /// A function seen for the first time after a module. Any thread that runs the model.
  std::shared_ptr<TapPoint> add_function(TapPoint& after, const FunctionKind& kind, std::size_t occurrence);

  void before_step(torch::optim::Optimizer& optimizer);
  void after_step();
  /// At the start of a forward: a step that no tap saw, told by the parameters' versions.
  void notice_unseen_step();
  bool has_optimizer() const { return has_optimizer_; }
  /// Of the optimizer attached; only to compare with. Any thread.
  const c10::TensorImpl* first_optimizer_parameter() const { return first_optimizer_parameter_; }
  /// The parameters of the moment become the value that changes are counted from.
  void prime();
  /// Parameters at the end of an epoch; also follows parameters that were replaced and modules that died.
  void tick();

  /// One line a module, and all of it in one.
  const std::vector<std::string>& coverage() const { return coverage_; }
  std::string summary() const;
  /// The model as JSON: name, type, parameters, modules.
  std::string description() const { return description_; }

 private:
  struct Walk;
  void visit(torch::nn::Module& module, const std::string& path, int depth, Walk& walk);
  void add_point(torch::nn::Module& module, const std::string& path, bool leaf, Walk& walk);
  void bind_streams(TapPoint& point, const Exposed& exposed);
  std::function<at::Tensor()> reader(torch::nn::Module& module, const std::string& path, const std::string& label,
                                     const Exposed& exposed) const;
  std::string full_name(const std::string& path) const;
  void mark_optimizer_parameters(torch::optim::Optimizer& optimizer);
  void warn_of_equal_names() const;

  Monitor& monitor_;
  std::recursive_mutex& mutex_;
  std::string name_, root_type_, description_;
  std::shared_ptr<std::atomic<bool>> active_ = std::make_shared<std::atomic<bool>>(false);
  bool attached_ = false;
  std::vector<std::shared_ptr<TapPoint>> points_, function_points_;
  std::vector<std::string> coverage_;
  std::vector<std::string> untapped_;
  std::size_t tapped_ = 0, containers_ = 0;
  bool has_optimizer_ = false, holds_redirections_ = false;
  bool step_seen_ = false;
  std::size_t optimizer_parameters_ = 0;
  std::atomic<const c10::TensorImpl*> first_optimizer_parameter_ = nullptr;
};

}  // namespace loupe

#endif
