#pragma once

#include <gtest/gtest.h>
#include <loupe/plugin.h>
#include <loupe/testing.h>

#include <cmath>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "paths.h"

namespace lt = loupe::testing;
using loupe::OptionValues;
using lt::tensor;
using Names = std::vector<std::string>;

inline constexpr lt::Pass without_gradients{true, false}, in_eval_mode{false, true};
inline const std::vector<lt::Parameter> weight_and_bias = {{"weight", {2, 2}}, {"bias", {2}}};

/// A bench with one built-in lens.
class LensBench : public lt::Bench {
 public:
  explicit LensBench(const std::string& lens, const std::string& yaml = "{}")
      : Bench("lenses: [" + lens + ": " + yaml + "]", {LOUPE_TEST_PLUGINS}), lens_(lens) {}

  lt::Module add(const std::string& name, const std::string& type, const std::vector<lt::Parameter>& parameters = {},
                 uint32_t flags = LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED) {
    const lt::Module module = this->module(name, type, parameters, flags);
    all_.push_back({module, parameters});
    return module;
  }
  /// Sends an event to every tap: each module's forward, its output's gradient, two values of each parameter, with a
  /// gradient between them. Then ends a step and a tick.
  void live() {
    for (const auto& [module, parameters] : all_) {
      for (const lt::Parameter& each : parameters) set(module, each.name, tensor({1}, each.sizes));
    }
    for (const auto& [module, parameters] : all_) {
      forward(module, tensor({3, 4}, {1, 2}));
      output_gradient(module, tensor({3, 4}, {1, 2}));
      for (const lt::Parameter& each : parameters) {
        gradient(module, each.name, tensor({1}, each.sizes));
        set(module, each.name, tensor({2}, each.sizes));
      }
    }
    step();
    tick();
  }

  std::optional<double> number(const std::string& tag, const std::string& layer, const std::string& line) const {
    return has_value(tag, layer, line) ? std::optional(value(tag, layer, line)) : std::nullopt;
  }
  std::pair<double, double> band(const std::string& tag, const std::string& layer, const std::string& low) const {
    const lt::Range found = range(tag, layer, low);
    return {found.low, found.high};
  }
  bool has_band(const std::string& tag, const std::string& layer, const std::string& low) const try {
    range(tag, layer, low);
    return true;
  } catch (const std::out_of_range&) {
    return false;
  }
  bool has_tag(const std::string& id) const {
    const Names all = tags();
    return std::find(all.begin(), all.end(), id) != all.end();
  }
  /// Whether the last tick showed nothing.
  bool is_silent() const {
    for (const std::string& each : tags()) {
      if (!layers(each).empty()) return false;
    }
    return true;
  }
  /// Detaches a module, and ends the tick in which it was detached.
  void forget_with_a_tick(lt::Module module) {
    forget(module);
    tick();
  }
  /// The lens's messages to the user, without its name and without the message that it was disabled.
  Names told() const {
    Names told;
    for (const std::string& line : log()) {
      const std::size_t name = line.find(lens_), begin = line.find(": ", name);
      if (name != std::string::npos && begin != std::string::npos && line.find("quarantined") == std::string::npos)
        told.push_back(line.substr(begin + 2));
    }
    return told;
  }

 private:
  std::string lens_;
  std::vector<std::pair<lt::Module, std::vector<lt::Parameter>>> all_;
};

/// A lens whose functions a test provides.
struct Probe : loupe::Lens {
  static constexpr auto name = "probe", help = "for a test";
  using Lens::watch_pushes;
  /// Calls watch(), which is protected.
  template <class... Own>
  loupe::Source look_at(const loupe::Module& module, const loupe::Watch& watched, Own&... own) {
    return watch(module, watched, own...);
  }
  explicit Probe(const loupe::Options&) {}
  void attach() override {
    if (attached) attached(*this);
  }
  void visit(const loupe::Module& module) override {
    if (visited) visited(*this, module);
  }
  void report(loupe::Report&) override {}
  static inline std::function<void(Probe&)> attached;
  static inline std::function<void(Probe&, const loupe::Module&)> visited;
};
LOUPE_STATIC_PLUGIN(probe_plugin, "probe", "1.0", Probe);

inline lt::Bench probe_bench(std::function<void(Probe&)> attached,
                             std::function<void(Probe&, const loupe::Module&)> visited = {}) {
  Probe::attached = std::move(attached);
  Probe::visited = std::move(visited);
  return lt::Bench("lenses: [probe]", {LOUPE_TEST_PLUGINS}, {&probe_plugin});
}

/// One preprocessor after the forward of one module, or after pushes; its series can be read at any time.
class Stream {
 public:
  explicit Stream(const char* preprocessor, const OptionValues& options = {}, bool of_pushes = false)
      : bench_(probe_bench(
            [&](Probe& probe) {
              if (of_pushes) source_ = probe.watch_pushes(loupe::Watch("push").preprocessor(preprocessor, options));
            },
            [&](Probe& probe, const loupe::Module& module) {
              source_ = probe.look_at(module, loupe::Watch("forward").preprocessor(preprocessor, options));
            })) {
    if (!of_pushes) module_ = bench_.module("layer", "Linear");
  }

  void feed(const lt::Tensor& tensor, lt::Pass pass = lt::training_pass) { bench_.forward(module_, tensor, pass); }
  void reset() { bench_.tick(); }
  lt::Bench& bench() { return bench_; }

  /// Nullopt if the series does not exist or has no values. Throws Error for a quantile that is not kept.
  std::optional<double> get(const char* series, loupe::Aggregate aggregate = loupe::Aggregate::mean) const {
    const auto found = source_.find(series);
    return found ? found->get(aggregate) : std::nullopt;
  }
  /// The values kept with `inplace: false`, in their order.
  std::vector<double> values(const char* series) const { return source_.values(series); }
  Names series() const {
    Names names;
    for (std::size_t i = 0; i < source_.series_count(); ++i) names.emplace_back(source_.read(i).name());
    return names;
  }

 private:
  loupe::Source source_;
  lt::Bench bench_;
  lt::Module module_;
};
