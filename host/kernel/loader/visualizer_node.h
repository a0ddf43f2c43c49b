#pragma once

#include <loupe/abi.h>
#include <loupe/draft/abi/history.h>

#include <cstddef>
#include <string>
#include <utility>

#include "core/strict.h"
#include "loader/component_instance.h"

namespace loupe {

/// Checks in strict mode that a visualizer's functions are called in the states that their contracts name.
class VisualizerState {
 public:
  /// Ends the process where the function may not be called now. @param function  its offset in loupe_visualizer
  void before(std::size_t function, const char* speaker) const {
    if (function == offsetof(loupe_visualizer, end)) return;
    const bool is_of_a_tick = function == offsetof(loupe_visualizer, row) ||
                              function == offsetof(loupe_visualizer, histogram) ||
                              function == offsetof(loupe_visualizer, end_tick);
    const char* fault = nullptr;
    // A visualizer without begin is begun from its creation on.
    if (is_of_a_tick && !in_tick_) fault = "receives data of a tick outside of a tick";
    if (function == offsetof(loupe_visualizer, begin_tick) && in_tick_) fault = "begins a tick within a tick";
    if (ended_ && function != offsetof(loupe_visualizer, begin)) fault = "receives data after its end";
    if (fault != nullptr) break_contract(std::string(speaker) + " " + fault);
  }
  void after(std::size_t function, loupe_status status) {
    if (function == offsetof(loupe_visualizer, begin)) ended_ = false;
    if (function == offsetof(loupe_visualizer, begin_tick)) in_tick_ = status == LOUPE_OK;
    // A failure ends the tick for this visualizer.
    if (function == offsetof(loupe_visualizer, end_tick) || status != LOUPE_OK) in_tick_ = false;
    if (function == offsetof(loupe_visualizer, end)) ended_ = true;
  }

 private:
  bool in_tick_ = false, ended_ = false;
};

/// One visualizer; calls of functions that it does not offer are skipped.
class VisualizerNode {
 public:
  /// Throws Error when it cannot be made.
  VisualizerNode(std::string name, const CatalogueEntry& entry, const loupe_options* options,
                 ComponentContext* surroundings)
      : name_(std::move(name)), instance_(entry, options, "the visualizer '" + name_ + "'", surroundings, name_) {}

  const std::string& name() const { return name_; }

  /// Calls one function of its table, such as &loupe_visualizer::row. A function that is not offered counts as called,
  /// with LOUPE_OK.
  template <class Message>
  loupe_status tell(loupe_status (*loupe_visualizer::*function)(void*, const Message*, loupe_error*),
                    const Message& message, loupe_error* error) {
    return held_to_state(function, [&] {
      return call_component(instance_.speaker(), error,
                            [&] { return (table().*function)(instance_.self(), &message, error); });
    });
  }
  loupe_status tell(loupe_status (*loupe_visualizer::*function)(void*, loupe_error*), loupe_error* error) {
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

  /// Whether it stores runs: then the following functions may be called.
  bool offers_history() const { return history() != nullptr; }
  loupe_status last(const std::string& directory, double before, loupe_moment& at) {
    const loupe_draft_history& stored = *history();
    if (!LOUPE_OFFERS(stored, last)) return LOUPE_NOT_FOUND;
    return call_component(instance_.speaker(), nullptr,
                          [&] { return stored.last(instance_.self(), directory.c_str(), before, &at, nullptr); });
  }
  loupe_status play(const std::string& directory, double before, uint32_t flags, const loupe_visualizer& to,
                    void* to_self, loupe_error* error) {
    return call_component(instance_.speaker(), error, [&] {
      return history()->play(instance_.self(), directory.c_str(), before, flags, &to, to_self, error);
    });
  }

 private:
  const loupe_draft_history* history() const {
    if (!offers(&loupe_visualizer::get_extension)) return nullptr;
    const void* found = table().get_extension(instance_.self(), LOUPE_DRAFT_HISTORY_ID);
    const auto* stored = static_cast<const loupe_draft_history*>(found);
    return stored != nullptr && LOUPE_OFFERS(*stored, play) ? stored : nullptr;
  }
  template <class Function, class Call>
  loupe_status held_to_state(Function loupe_visualizer::*function, Call&& call) {
    const bool is_offered = offers(function);
    if (!is_strict) return is_offered ? call() : LOUPE_OK;
    const auto* base = reinterpret_cast<const char*>(&table());
    const auto offset = static_cast<std::size_t>(reinterpret_cast<const char*>(&(table().*function)) - base);
    if (is_offered) state_.before(offset, instance_.speaker());
    const loupe_status status = is_offered ? call() : LOUPE_OK;
    state_.after(offset, status);
    return status;
  }
  const loupe_visualizer& table() const { return instance_.table<loupe_visualizer>(); }

  std::string name_;
  ComponentInstance instance_;
  VisualizerState state_;
};

}  // namespace loupe
