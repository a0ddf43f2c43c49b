#ifndef LOUPE_PIPELINE_MODULE_NODE_H
#define LOUPE_PIPELINE_MODULE_NODE_H

#include <loupe/abi.h>

#include <atomic>
#include <boost/container/small_vector.hpp>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pipeline/gatherer_node.h"

namespace loupe {

struct ParameterDescription {
  std::string name;
  uint32_t flags = 0;  ///< LOUPE_PARAMETER_ bits
  std::vector<int64_t> sizes;
  int64_t numel = 0;
};

/// A module as the taps describe it to the rest of the host.
struct ModuleDescription {
  std::string name, path, model, type, full_type;
  uint32_t family = LOUPE_FAMILY_OTHER;
  uint32_t flags = 0;
  std::vector<ParameterDescription> parameters;
  /// Whether a label (parameter, buffer, exposed attribute) can be had at a tap.
  std::function<bool(uint32_t tap, const std::string& label)> offers = [](uint32_t, const std::string&) {
    return true;
  };
  /// Calls with a parameter or buffer, or its gradient; false where there is none. Any thread.
  using Take = std::function<void(const loupe_tensor&)>;
  std::function<bool(const std::string& name, bool gradient, const Take& take)> lend;
};

/// What whoever makes a tap's events looks at before each of them. Any thread.
struct TapState {
  std::atomic<bool> awake{true};           ///< a lens behind it looks
  std::atomic<bool> reads_tensors{false};  ///< and reads the forward's inputs and outputs
};

/// The events of one tap of one module. Dispatching is for the event's thread; everything else for the trainer's.
class Stream {
 public:
  Stream(ModuleNode& module, uint32_t tap, std::string label, uint32_t index)
      : module_(module), tap_(tap), index_(index), label_(std::move(label)) {}

  uint32_t tap() const { return tap_; }
  const std::string& label() const { return label_; }
  const ModuleNode& module() const { return module_; }
  /// Which output or input, for the taps of those.
  uint32_t index() const { return index_; }
  /// Whether a lens behind it looks; where none does, an event need not be made. Any thread.
  bool awake() const { return state_.awake.load(std::memory_order_relaxed); }
  /// Keeps its state up to date in `copy` too, beside what else the maker of the events looks at; null: no longer. Any
  /// thread.
  void copy_state(TapState* copy);
  /// Under the module's mutex.
  void follow_lenses();
  /// Whether somebody reads event.inputs and event.outputs.
  bool wants_tensors() const;
  /// Hands an event to everybody behind this tap. `tensor` may be null. Throws only under `on_error: stop`.
  /// @param tensors  for those who read the inputs and outputs; null where there are none
  void dispatch(const loupe_tensor* tensor, uint32_t flags, ForwardTensors* tensors = nullptr, double scalar = 0,
                const char* label = nullptr);
  /// Says that a forward of the module has no tensor of this index. Any thread.
  void lacks() { lacking_.store(true, std::memory_order_relaxed); }
  /// Whether that was so and there was no event either; once.
  bool take_lacking();
  /// Says that an event could not be had. Throws only under `on_error: stop`.
  void fail(const std::string& what);
  /// Gives the value from which changes are counted.
  void prime(const loupe_tensor& tensor);

  void add(GathererNode& gatherer);

 private:
  void set_state(bool awake, bool reads_tensors);

  ModuleNode& module_;
  uint64_t number_ = 0;
  // Of the first gatherer: what is fetched while the module's mutex is still waited for.
  std::atomic<const GathererNode*> first_{nullptr};
  std::atomic<const void*> first_instance_{nullptr};
  TapState state_;
  std::atomic<bool> lacking_{false};
  bool told_lacking_ = false;
  boost::container::small_vector<GathererNode*, 1> gatherers_;
  uint32_t tap_, index_;
  std::string label_;
  std::mutex copy_mutex_;
  TapState* copy_ = nullptr;
};

/// One module of one model under one inspector, with the gatherers that watch it. The node without a description
/// stands for what the trainer pushes.
class ModuleNode {
 public:
  /// @param step  the run's clock, which outlives the module
  /// @param history  of a tensor with more elements, a sample of so many is compared with earlier events
  ModuleNode(uint64_t id, ModuleDescription description, const std::atomic<uint64_t>& step,
             int64_t history = std::numeric_limits<int64_t>::max());
  ModuleNode(const ModuleNode&) = delete;
  ModuleNode& operator=(const ModuleNode&) = delete;

  const ModuleDescription& description() const { return description_; }
  int64_t history() const { return history_; }
  const loupe_module* c_module() const { return is_pushes_ ? nullptr : &c_module_; }
  std::string shown_name() const { return is_pushes_ ? "the pushed values" : "'" + description_.name + "'"; }
  void stand_for_pushes() { is_pushes_ = true; }

  /// The stream of a tap, or null when nobody subscribed to it.
  Stream* stream(uint32_t tap, const std::string& label = "", uint32_t index = 0) const;
  const std::deque<Stream>& streams() const { return streams_; }
  std::deque<Stream>& streams() { return streams_; }
  Stream& stream_to_subscribe(uint32_t tap, const std::string& label, uint32_t index);

  /// The gatherer of that component, options and label: shared by all lenses that ask for the same.
  GathererNode& gatherer(const CatalogueEntry& entry, std::shared_ptr<const OptionSet> options, const char* label);
  const std::deque<GathererNode>& gatherers() const { return gatherers_; }

  /// Held while an event passes, and while its numbers are read.
  std::mutex& mutex() { return mutex_; }
  /// Delivers what devices have measured since the last tick.
  void collect_deferred();
  /// Lenses came to rest or skip steps, or look again.
  void follow_lenses();
  /// One of its sources does without `what` from now on, LOUPE_REST_ bits.
  void rest(loupe_source& source, uint32_t what);
  /// See GathererNode.
  void use_tally(loupe_source& source, loupe_tally* tally);
  /// Steps went by unseen.
  void forget_history();
  /// From now on the last steps of every stream are kept. Under the mutex.
  void keep_steps();
  bool keeps_steps() const { return keeps_steps_; }
  /// Events that somebody took since the last tick, and that this was it.
  uint64_t unticked();
  void ticked();
  /// After this no event gets through.
  void close();
  bool closed() const { return closed_; }
  /// Steps of the run's clock so far.
  uint64_t step() const { return step_.load(std::memory_order_relaxed); }
  /// What a parameter's flag is from now on, as when an optimizer joins that holds it.
  void set_parameter_flag(std::size_t parameter, uint32_t flag, bool on) {
    uint32_t& flags = c_parameters_[parameter].flags;
    flags = on ? flags | flag : flags & ~flag;
  }

 private:
  alignas(64) std::mutex mutex_;
  bool is_pushes_ = false;
  bool closed_ = false, keeps_steps_ = false;
  const std::atomic<uint64_t>& step_;
  const int64_t history_;

  ModuleDescription description_;
  std::vector<loupe_parameter> c_parameters_;
  std::vector<const loupe_parameter*> c_parameter_pointers_;
  loupe_module c_module_{};
  std::deque<Stream> streams_;
  std::deque<GathererNode> gatherers_;
};

/// "forward", "parameter gradient": a tap's word for messages.
const char* tap_name(uint32_t tap);

}  // namespace loupe

#endif
