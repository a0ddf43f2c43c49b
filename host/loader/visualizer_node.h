#pragma once

#include <loupe/abi.h>

#include <cstddef>
#include <string>
#include <utility>

#include "core/strict.h"
#include "loader/component_instance.h"

namespace loupe {

/// Checks in strict mode that a visualizer's functions are called in the states that their contracts name.
class VisualizerState {
 public:
  /// @param function  its offset in loupe_visualizer. Ends the process where the call must not be.
  void before(std::size_t function, const char* speaker);
  void after(std::size_t function, loupe_status status);

 private:
  bool in_tick_ = false, ended_ = false;
};

/// One visualizer, with calls that leave out what it does not offer.
class VisualizerNode {
 public:
  /// Throws Error when it cannot be made.
  VisualizerNode(std::string name, const CatalogueEntry& entry, const loupe_options* options,
                 Surroundings* surroundings)
      : name_(std::move(name)), instance_(entry, options, "the visualizer '" + name_ + "'", surroundings) {}

  const std::string& name() const { return name_; }

  /// Calls one function of its table, such as &loupe_visualizer::row; LOUPE_OK where that is not offered.
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
