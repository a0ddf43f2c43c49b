#pragma once

#include <loupe/detail/component.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <loupe/testing.h>
#include "config/config.h"
#include "core/log.h"
#include "pipeline/monitor.h"
#include "pipeline/optimizer_facts.h"
#include "testing/made_tensor.h"

namespace loupe::testing {

/// The lines to the user, for every bench that lives.
class Lines {
 public:
  Lines() {
    const std::lock_guard lock(mutex());
    if (living().empty()) {
      set_log_sink([](int, const std::string& line) {
        const std::lock_guard each_lock(mutex());
        for (Lines* each : living()) each->lines_.push_back(line);
      });
    }
    living().insert(this);
  }
  ~Lines() {
    const std::lock_guard lock(mutex());
    living().erase(this);
    if (living().empty()) set_log_sink({});
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  std::vector<std::string> get() const {
    const std::lock_guard lock(mutex());
    return lines_;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static std::set<Lines*>& living() {
    static std::set<Lines*> instances;
    return instances;
  }
  std::vector<std::string> lines_;
};

/// The messages to visualizers, kept for the test to read.
struct Shown {
  using Place = std::tuple<std::string, std::string, std::string>;  ///< tag, layer, and line or low name

  std::map<std::string, Tag> tags;
  std::map<Place, double> values;  ///< values of the last tick, like the next two
  std::map<Place, Range> ranges;
  std::map<Place, Histogram> histograms;
  std::vector<Finding> findings;
};

/// The visualizer that keeps them. Every bench has one, beside those of its YAML.
class Keeper : public Visualizer {
 public:
  /// @param shown  outlives this
  explicit Keeper(Shown& shown) : shown_(shown) {}

  void tag(const loupe_tag& tag) override;
  void begin_tick(const loupe_tick& tick) override;
  void row(const loupe_row& row) override;
  void histogram(const loupe_histogram& histogram) override;
  void finding(const loupe_finding& finding) override;

 private:
  Shown& shown_;
};

/// The messages of a test for the next tick.
using ToTell = std::vector<std::function<void(Report&)>>;

/// The lens that reports them. Every bench has one, after those of its YAML.
class Teller : public Lens {
 public:
  /// @param to_tell  outlives this
  explicit Teller(ToTell& to_tell) : to_tell_(to_tell) {}

  void visit(const loupe::Module&) override {}
  /// A test may take steps without watching anything.
  void step(const Step&, Report&) override {}
  void report(Report& report) override {
    const ToTell told = std::exchange(to_tell_, {});
    for (const auto& tell : told) tell(report);
  }

 private:
  ToTell& to_tell_;
};

/// A component of the bench; its instance is created from `context`.
template <class Kind, class Made, class Context>
loupe_component own_component(const char* interface_id, const char* name, const void* table, Context& context) {
  loupe_component component{};
  component.struct_size = sizeof component;
  component.interface_id = interface_id;
  component.name = name;
  component.help = "part of loupe/testing.h";
  component.table = table;
  component.context = &context;
  component.create = [](const loupe_component* self, const loupe_host*, const loupe_options*, void** made,
                        loupe_error* error) {
    return loupe::detail::guarded(error,
                                  [&] { *made = static_cast<Kind*>(new Made(*static_cast<Context*>(self->context))); });
  };
  component.destroy = [](void* made) { delete static_cast<Kind*>(made); };
  return component;
}

inline ComponentConfig own_config(Kind kind, const loupe_component& component) {
  static const PluginLibrary library{
      .file = "loupe/testing.h", .path = "", .abi_major = LOUPE_ABI_MAJOR, .abi_minor = LOUPE_ABI_MINOR};
  return {{kind, &component, &library}, component.name, false, std::make_unique<OptionSet>(), 1, 1, "loupe/testing.h"};
}

/// The flags of a backward pass and a step.
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
    std::map<std::string, std::shared_ptr<MadeTensor>> gradients;  // gradients since the last step
  };

  Monitor& monitor() {
    if (monitor_ == nullptr) throw std::logic_error("the bench's run has ended; make another Bench");
    return *monitor_;
  }
  /// The messages to visualizers so far, on a thread of the monitor.
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
  /// Sends an event of a tap without inputs and outputs, if the step is measured.
  void dispatch(Module module, std::uint32_t tap, std::uint32_t index, const Tensor& tensor);
  void before_tick() override;
  std::vector<const loupe_optimizer*> optimizers() override;
  /// Counts changes from the present parameters on.
  void looking_changed() override;
  void tick_due() override { monitor().tick_if_due(); }

  ToTell to_tell;
  Lines lines;
  std::vector<std::string> quarantined_at_end;
  Shown shown;                        // see seen()
  std::deque<PluginLibrary> linked_;  // the plugins that the test gave
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
