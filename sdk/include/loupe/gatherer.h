#pragma once

#include <loupe/event.h>
#include <loupe/options.h>

#include <optional>

namespace loupe {
inline namespace v1_0 {

/// Subscribes to taps of one module and passes their events to preprocessors. A subclass has a constructor that takes
/// `const Options&`; one instance serves one module and label, for any number of lenses.
class Gatherer {
 public:
  virtual ~Gatherer() = default;
  /// Subscribe here. `module` is empty for the inspector's stream of pushed values; `label` is the requested parameter
  /// or attribute, or null.
  virtual void open(const std::optional<Module>& module, const char* label) = 0;
  /// Called on the model's thread. Leave it out to pass on every event unchanged: then the host does not call it.
  virtual void event(const Event& event) { emit(*event.raw()); }
  /// Returns an extension of the ABI's table by its id, which has a revision.
  virtual const void* get_extension(const char*) { return nullptr; }

  void bind(const loupe_taps* taps) { taps_ = taps; }
  bool is_bound() const { return taps_ != nullptr; }

 protected:
  /// Requests a tap's events, a LOUPE_TAP_; throws Error if the module has no such parameter or attribute. `index` is
  /// the output or input, for taps of those.
  void subscribe(uint32_t tap, const char* label = nullptr, uint32_t index = 0) {
    loupe_subscription subscription{};
    subscription.struct_size = sizeof subscription;
    subscription.tap = tap;
    subscription.label = label;
    subscription.index = index;
    detail::ErrorBuffer error;
    error.check(taps_->subscribe(taps_->context, &subscription, error.get()));
  }
  /// Only within event().
  void emit(const loupe_event& event) {
    detail::ErrorBuffer error;
    error.check(taps_->emit(taps_->context, &event, error.get()));
  }

 private:
  const loupe_taps* taps_ = nullptr;
};

}  // namespace v1_0
}  // namespace loupe
