#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "loupe/testing.h"
#include "pipeline/monitor.h"
#include "pipeline/optimizer_facts.h"
#include "testing/log_lines.h"
#include "testing/made_tensor.h"
#include "testing/own_component.h"
#include "testing/shown.h"
#include "testing/teller.h"

namespace loupe::testing {

/// What a backward pass and a step are flagged with.
constexpr std::uint32_t backward_flags = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;

/// The monitor behind a bench, and the model that is made up for it.
class Bench::Impl : public MonitorHost {
 public:
  Impl(const std::string& yaml, const std::vector<std::string>& plugins, const std::vector<const loupe_entry*>& linked);

  struct Value {
    std::shared_ptr<MadeTensor> tensor;
    bool is_parameter = false;
  };
  struct Made {
    std::shared_ptr<ModuleNode> node;
    std::map<std::string, Value> values;
    std::map<std::string, std::shared_ptr<MadeTensor>> gradients;  // since the last step
  };

  Monitor& monitor() {
    if (monitor_ == nullptr) throw std::logic_error("the bench's run has ended; make another Bench");
    return *monitor_;
  }
  /// What visualizers were told by now, on a thread of the monitor's.
  Shown& seen() {
    if (monitor_ != nullptr) monitor_->display().wait();
    return shown;
  }
  Made& made(Module module) {
    if (module.index >= modules_.size() || modules_[module.index].node->closed())
      throw std::invalid_argument("the bench has no such module, or it was forgotten");
    return modules_[module.index];
  }

  Module add(const std::string& name, const std::string& type, const std::vector<Parameter>& parameters,
             std::uint32_t flags);
  const ModuleNode* parent_of(const ModuleDescription& child) const;
  void set(Module module, const std::string& name, const Tensor& value);
  void gradient(Module module, const std::string& parameter, const Tensor& value);
  void forward(Module module, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, Pass pass);
  void step();
  /// An event of a tap that has neither inputs nor outputs, where it is looked at.
  void dispatch(Module module, std::uint32_t tap, std::uint32_t index, const Tensor& tensor);
  void before_tick() override;
  std::vector<const loupe_optimizer*> optimizers() override;
  /// Counts changes from the present parameters on.
  void looking_changed() override;
  void tick_due() override { monitor().tick_if_due(); }

  ToTell to_tell;
  Lines lines;
  std::vector<std::string> quarantined_at_end;
  Shown shown;  // see seen()
  std::unique_ptr<OptimizerFacts> optimizer_;
  std::shared_ptr<ModelNode> model_ = std::make_shared<ModelNode>("", "the model", "");
  std::vector<Made> modules_;
  loupe_component teller_ =
      own_component<Lens, Teller>(LOUPE_LENS_ID, "the test", loupe::detail::lens_table<true>(), to_tell);
  loupe_component keeper_ = own_component<Visualizer, Keeper>(LOUPE_VISUALIZER_ID, "the test",
                                                              loupe::detail::visualizer_table<false>(), shown);
  std::unique_ptr<Monitor> monitor_;  // ends first
};

}  // namespace loupe::testing
