#ifndef LOUPE_SHOW_VISUALIZER_NODE_H
#define LOUPE_SHOW_VISUALIZER_NODE_H

#include <loupe/abi.h>

#include <string>

#include "config/config.h"
#include "plugins/component_instance.h"
#include "show/visualizer_state.h"

namespace loupe {

/// One visualizer, with calls that leave out what it does not offer.
class VisualizerNode {
 public:
  /// Throws Error when it cannot be made.
  VisualizerNode(const ComponentConfig& config, Surroundings* surroundings)
      : name_(config.name),
        instance_(*config.entry.component, config.options->get(), "the visualizer '" + config.name + "'",
                  surroundings) {}

  const std::string& name() const { return name_; }

  /// Calls one function of its table, such as &loupe_visualizer::value; LOUPE_OK where that is not offered.
  template <class Told>
  loupe_status tell(loupe_status (*loupe_visualizer::*function)(void*, const Told*, loupe_error*), const Told& told,
                    loupe_error* error) {
    if (!offers(function)) return LOUPE_OK;
    return held_to_state(function, [&] {
      return call_component(instance_.speaker(), error,
                            [&] { return (table().*function)(instance_.self(), &told, error); });
    });
  }
  loupe_status tell(loupe_status (*loupe_visualizer::*function)(void*, loupe_error*), loupe_error* error) {
    if (!offers(function)) return LOUPE_OK;
    return held_to_state(function, [&] {
      return call_component(instance_.speaker(), error, [&] { return (table().*function)(instance_.self(), error); });
    });
  }
  template <class Function>
  bool offers(Function loupe_visualizer::*function) const {
    const auto* base = reinterpret_cast<const char*>(&table());
    const auto* end = reinterpret_cast<const char*>(&(table().*function) + 1);
    return static_cast<std::size_t>(end - base) <= table().struct_size && table().*function != nullptr;
  }

 private:
  template <class Function, class Call>
  loupe_status held_to_state(Function loupe_visualizer::*function, Call&& call) {
    if (!is_strict) return call();
    const auto* base = reinterpret_cast<const char*>(&table());
    const auto offset = static_cast<std::size_t>(reinterpret_cast<const char*>(&(table().*function)) - base);
    state_.before(offset, instance_.speaker());
    const loupe_status status = call();
    state_.after(offset, status);
    return status;
  }
  const loupe_visualizer& table() const { return instance_.table<loupe_visualizer>(); }

  std::string name_;
  ComponentInstance instance_;
  VisualizerState state_;
};

}  // namespace loupe

#endif
