// The built-in gatherers: a table of simple ones, and two with more code.

#include <loupe/draft/abi/loss_input.h>
#include <loupe/draft/abi/step_time.h>
#include <loupe/plugin.h>

#include <iterator>
#include <string>

namespace loupe {
namespace {

/// What a gatherer watches: a whole module, one parameter named by the label, or the cost of single steps, per module
/// or of the run.
enum class Watched { module, parameter, step };

struct Row {
  const char* name;
  uint32_t tap;
  Watched watched;
  const char* help;
  const char* which = nullptr;  ///< the option that chooses among a module's several outputs or inputs
};

constexpr Row rows[] = {
    {LOUPE_GATHER_FORWARD, LOUPE_TAP_FORWARD, Watched::module, "a module's output, at each forward", "output"},
    {LOUPE_GATHER_FORWARD_INPUT, LOUPE_TAP_FORWARD_BEFORE, Watched::module,
     "a module's first input, as its forward is entered"},
    {LOUPE_GATHER_OUTPUT_GRADIENT, LOUPE_TAP_OUTPUT_GRADIENT, Watched::module,
     "the gradient of a module's output, at each backward", "output"},
    {LOUPE_GATHER_INPUT_GRADIENT, LOUPE_TAP_INPUT_GRADIENT, Watched::module,
     "the gradient of a module's input, at each backward", "input"},
    {LOUPE_DRAFT_GATHER_LOSS_INPUT, LOUPE_DRAFT_TAP_LOSS_INPUT, Watched::module,
     "a draft: of a model's root, the arguments of the loss function after it"},
    {LOUPE_GATHER_PARAMETER_GRADIENT, LOUPE_TAP_PARAMETER_GRADIENT, Watched::parameter,
     "a parameter's gradient, after each backward has added to it"},
    {LOUPE_GATHER_STEP_GRADIENT, LOUPE_TAP_STEP_GRADIENT, Watched::parameter,
     "a parameter's gradient as the optimizer is about to use it, once a step"},
    {LOUPE_GATHER_CALL_PARAMETER, LOUPE_TAP_ATTRIBUTE, Watched::parameter,
     "a parameter, at each forward of its module"},
    {LOUPE_GATHER_TICK, LOUPE_TAP_TICK, Watched::parameter, "a parameter, once a tick"},
    {LOUPE_GATHER_OPTIMIZER_STEP, LOUPE_TAP_OPTIMIZER_STEP, Watched::parameter,
     "a parameter, after each optimizer step"},
    {LOUPE_DRAFT_GATHER_STEP_TIME, LOUPE_DRAFT_TAP_STEP_TIME, Watched::step,
     "a draft: the time of a step, for a module or in total; one step in 17 is timed, in long epochs one in 101"},
    {LOUPE_DRAFT_GATHER_STEP_MEMORY, LOUPE_DRAFT_TAP_STEP_MEMORY, Watched::step,
     "a draft: the memory of a step, for a module or in total; of one step per tick"},
};

[[noreturn]] void refuse(const char* gatherer, const std::string& reason) {
  throw Error("the gatherer '" + std::string(gatherer) + "' " + reason, LOUPE_INVALID);
}

template <std::size_t place>
class TapGatherer : public Gatherer {
 public:
  static constexpr Row row = rows[place];
  static constexpr const char *name = row.name, *help = row.help;
  static std::vector<Option> options() {
    if constexpr (row.which != nullptr)
      return {{row.which, 0, std::string("which ") + row.which + ", from 0, of a module with several", 0, 1e6}};
    return {};
  }
  explicit TapGatherer(const Options& options) {
    if (row.which != nullptr) index_ = options.get<uint32_t>(row.which);
  }
  void open(const std::optional<Module>& module, const char* label) override {
    if (!module && row.watched != Watched::step) refuse(name, "needs a module");
    if (row.watched == Watched::parameter) {
      if (label == nullptr || *label == '\0') refuse(name, "needs the name of a parameter, such as 'weight'");
    } else if (label != nullptr) {
      refuse(name, "takes no parameter; leave out '" + std::string(label) + "'");
    }
    subscribe(row.tap, label, index_);
  }

 private:
  uint32_t index_ = 0;
};

/// A value of a module, read when its forward begins, ends, or both: a parameter, a buffer (running_mean), a parameter
/// or buffer of a child ("a.b"), or a value that the trainer exposed.
class Attribute : public Gatherer {
 public:
  static constexpr const char* name = LOUPE_GATHER_ATTRIBUTE;
  static constexpr const char* help = "a parameter, buffer or exposed value of a module, around each forward";
  static std::vector<Option> options() {
    return {{"when", "after", "when it is read: as the forward is entered, left, or both", {"before", "after", "both"}},
            {"missing", false, "also hand on the forwards at which it has no value"}};
  }
  explicit Attribute(const Options& options)
      : when_(options.get<std::string>("when")), missing_(options.get<bool>("missing")) {}

  void open(const std::optional<Module>& module, const char* label) override {
    if (!module) refuse(name, "needs a module");
    if (label == nullptr || *label == '\0') refuse(name, "needs the name of an attribute, such as 'running_mean'");
    if (when_ != "after") subscribe(LOUPE_TAP_ATTRIBUTE_BEFORE, label);
    if (when_ != "before") subscribe(LOUPE_TAP_ATTRIBUTE, label);
  }
  void event(const Event& event) override {
    // Without a tensor there is nothing to measure, so preprocessors that measure get no event.
    if (event.tensor() || missing_) emit(*event.raw());
  }

 private:
  std::string when_;
  bool missing_;
};

/// Values that the trainer pushes, which belong to no module.
class Push : public Gatherer {
 public:
  static constexpr const char* name = LOUPE_GATHER_PUSH;
  static constexpr const char* help = "the losses and metrics that the trainer pushes";
  explicit Push(const Options&) {}
  void open(const std::optional<Module>& module, const char*) override {
    if (module) refuse(name, "watches pushed values, not a module");
    subscribe(LOUPE_TAP_PUSH);
  }
};

static_assert(std::size(rows) == 12, "the list below has one TapGatherer for each row");

}  // namespace
}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"gatherers", LOUPE_VERSION, "The places that lenses take data from.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::TapGatherer<0>, loupe::TapGatherer<1>, loupe::TapGatherer<2>, loupe::TapGatherer<3>,
                  loupe::TapGatherer<4>, loupe::TapGatherer<5>, loupe::TapGatherer<6>, loupe::TapGatherer<7>,
                  loupe::TapGatherer<8>, loupe::TapGatherer<9>, loupe::Attribute, loupe::Push, loupe::TapGatherer<10>,
                  loupe::TapGatherer<11>);
