#pragma once

#include <loupe/lens.h>

#include <functional>
#include <vector>

namespace loupe::testing {

/// What a test wants told at the next tick.
using ToTell = std::vector<std::function<void(Report&)>>;

/// The lens that tells it. Every bench has one, after those of its YAML.
class Teller : public Lens {
 public:
  /// @param to_tell  outlives this
  explicit Teller(ToTell& to_tell) : to_tell_(to_tell) {}

  void visit(const loupe::Module&) override {}
  /// Whoever takes steps need not watch anything.
  void step(const Step&, Report&) override {}
  void report(Report& report) override {
    const ToTell told = std::exchange(to_tell_, {});
    for (const auto& tell : told) tell(report);
  }

 private:
  ToTell& to_tell_;
};

}  // namespace loupe::testing
