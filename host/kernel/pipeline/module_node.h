#pragma once

#include <loupe/abi.h>

#include <atomic>
#include <boost/container/small_vector.hpp>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/call_stack.h"
#include "core/shared.h"
#include "pipeline/gatherer_node.h"

namespace loupe {

struct ParameterDescription {
  std::string name;
  uint32_t flags = 0;  ///< LOUPE_PARAMETER_ bits
  std::vector<int64_t> sizes;
  int64_t numel = 0;
};

/// A module as described by the taps.
struct ModuleDescription {
  std::string name, path, type, full_type;
  std::string model;     // the name that its model was attached under
  std::string settings;  // the settings as the type prints them; may be empty
  uint32_t family = LOUPE_FAMILY_OTHER;
  uint32_t flags = 0;
  std::vector<ParameterDescription> parameters;
  /// Whether a tap has a label (parameter, buffer, exposed attribute).
  std::function<bool(uint32_t tap, const std::string& label)> offers = [](uint32_t, const std::string&) {
    return true;
  };
  /// Calls `take` with a parameter or buffer, or its gradient; false if there is none. Any thread.
  using Take = std::function<void(const loupe_tensor&)>;
  std::function<bool(const std::string& name, bool gradient, const Take& take)> lend;
};

/// The state that a tap checks before it creates an event. Any thread.
struct TapState {
  std::atomic<bool> resting{false};        ///< no source behind it accepts events
  std::atomic<bool> reads_tensors{false};  ///< a source reads the forward's inputs and outputs
};

/// The events of one tap of one module. `dispatch` is called on the event's thread, the rest on the trainer's unless
/// noted otherwise.
class Stream {
 public:
  Stream(ModuleNode& module, uint32_t tap, std::string label, uint32_t index)
      : module_(module), tap_(tap), index_(index), label_(std::move(label)) {}

  uint32_t tap() const { return tap_; }
  const std::string& label() const { return label_; }
  const ModuleNode& module() const { return module_; }
  /// The number of the output or input, for taps of outputs and inputs.
  uint32_t index() const { return index_; }
  /// Whether no source behind it accepts events, so that none need be created. Any thread.
  bool resting() const { return state_.resting.load(std::memory_order_relaxed); }
  /// Also updates `copy`, which is beside the other data of the tap; null ends that. Any thread.
  LOUPE_SHARED void copy_state(TapState* copy);
  /// Under the module's mutex.
  void follow_lenses();
  /// Whether a source reads event.inputs and event.outputs.
  bool wants_tensors() const;
  /// Passes an event to every gatherer behind this tap. `tensor` may be null. Throws only under `on_error: stop`.
  /// @param tensors  the inputs and outputs; may be null
  LOUPE_SHARED void dispatch(const loupe_tensor* tensor, uint32_t flags, ForwardTensors* tensors = nullptr,
                             double scalar = 0, const char* label = nullptr);
  /// Prefetches the memory that `dispatch` will use into the caches: in a large model it is not there, and an event
  /// would wait for one line after the other. Any thread.
  void fetch() const;
  /// Records that a forward of the module has no tensor with this index. Any thread.
  void lacks() { lacking_.store(true, std::memory_order_relaxed); }
  /// Returns true once if that was recorded and no event came.
  bool take_lacking();
  /// Reports that an event could not be created. Throws only under `on_error: stop`.
  void fail(const std::string& what);
  /// Sets the value from which changes are counted.
  void prime(const loupe_tensor& tensor);

  void add(GathererNode& gatherer);

 private:
  void set_state(bool resting, bool reads_tensors);

  ModuleNode& module_;
  uint64_t number_ = 0;
  TapState state_;
  std::atomic<bool> lacking_{false};
  bool told_lacking_ = false;
  boost::container::small_vector<GathererNode*, 1> gatherers_;
  uint32_t tap_, index_;
  std::string label_;
  LeafMutex copy_mutex_;
  TapState* copy_ = nullptr;
};

/// One module of one model under one inspector, with the gatherers that watch it. The node without a description stands
/// for pushed values.
class ModuleNode {
 public:
  /// @param step  the run's clock, which outlives the module
  /// @param history  the most elements of a tensor that are compared with earlier events; beyond that a sample
  ModuleNode(uint64_t id, ModuleDescription description, const std::atomic<uint64_t>& step,
             int64_t history = std::numeric_limits<int64_t>::max());

  const ModuleDescription& description() const { return description_; }
  int64_t history() const { return history_; }
  const loupe_module* c_module() const { return is_pushes_ ? nullptr : &c_module_; }
  /// Call it before a lens sees the module. Both outlive this, and may be null.
  void belong_to(const loupe_model* model, const ModuleNode* parent) {
    c_module_.model = model;
    c_module_.parent = parent != nullptr ? parent->c_module() : nullptr;
  }
  std::string shown_name() const { return is_pushes_ ? "the pushed values" : "'" + description_.name + "'"; }
  void stand_for_pushes() { is_pushes_ = true; }

  /// The places where the program first ran the module; for a model's root, also where it had its first loss and its
  /// first optimizer step. Any thread.
  struct Calls {
    FirstCall forward, loss, step;
  };
  Calls& calls() { return calls_; }

  /// The stream of a tap, or null if it has no subscribers.
  LOUPE_SHARED Stream* stream(uint32_t tap, const std::string& label = "", uint32_t index = 0) const;
  const std::deque<Stream>& streams() const { return streams_; }
  std::deque<Stream>& streams() { return streams_; }
  Stream& stream_to_subscribe(uint32_t tap, const std::string& label, uint32_t index);

  /// The gatherer of that component, options and label, shared by all lenses that ask for the same.
  GathererNode& gatherer(const CatalogueEntry& entry, std::shared_ptr<const OptionSet> options, const char* label);
  const std::deque<GathererNode>& gatherers() const { return gatherers_; }

  /// Held while an event passes, and while the module's values are read.
  ModuleMutex& mutex() { return mutex_; }
  /// Delivers the measurements of devices since the last tick.
  void collect_deferred();
  /// Call when lenses begin or cease to rest.
  void follow_lenses();
  /// Forgets the history, since steps were not seen.
  void forget_history();
  /// From now on `hearer` receives the module's measurements.
  void add_hearer(const Hearer& hearer);
  const std::vector<Hearer>& hearers() const { return hearers_; }
  /// The number of accepted events since the last call of ticked().
  uint64_t unticked();
  /// Whether any event came since then, including events that show nothing themselves.
  bool has_events();
  void ticked();
  /// From now on all events are ignored.
  void close();
  bool closed() const { return closed_; }
  /// Steps of the run's clock so far.
  uint64_t step() const { return step_.load(std::memory_order_relaxed); }
  /// Sets or clears a parameter's flag, for example when an optimizer that holds it is added. Any thread.
  void set_parameter_flag(std::size_t parameter, uint32_t flag, bool on);
  /// The flags of a parameter at the last step or tick; nullopt if there is no such parameter. Any thread.
  std::optional<uint32_t> parameter_flags(std::size_t parameter) const;

 private:
  /// A parameter as lenses see it, and its flags, which change meanwhile.
  struct CParameter {
    explicit CParameter(uint32_t initial) : flags(initial) {}
    loupe_parameter table{};
    std::atomic<uint32_t> flags;
  };

  // The data that every event reads, in one cache line.
  alignas(64) ModuleMutex mutex_;
  bool is_pushes_ = false;
  bool closed_ = false;
  const std::atomic<uint64_t>& step_;
  const int64_t history_;

  Calls calls_;
  ModuleDescription description_;
  std::deque<CParameter> c_parameters_;
  std::vector<const loupe_parameter*> c_parameter_pointers_;
  loupe_module c_module_{};
  std::deque<Stream> streams_;
  std::deque<GathererNode> gatherers_;
  std::vector<Hearer> hearers_;
};

/// A tap's name for messages: "forward", "parameter gradient".
const char* tap_name(uint32_t tap);

}  // namespace loupe
