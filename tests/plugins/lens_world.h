#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stream.h"

namespace loupe::test {

/// A module as a lens is shown it.
struct ModuleSpec {
  std::string name, type;
  uint32_t family = LOUPE_FAMILY_OTHER;
  uint32_t flags = LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED;
  std::vector<std::string> parameters = {};
  std::string model = "";
  std::string settings = "";
};

/// What a lens told a visualizer.
struct Shown {
  struct Tag {
    uint32_t type;
    bool log_y, big, annotate;
    std::optional<double> y_minimum, y_maximum;
    std::string healthy = {};
  };
  std::map<std::string, Tag> tags;
  std::map<std::tuple<std::string, std::string, std::string>, double> values;
  std::map<std::tuple<std::string, std::string, std::string>, std::pair<double, double>> ranges;
  struct Histogram {
    std::vector<double> edges, counts;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Histogram> histograms;

  /// Nullopt when no such value was told.
  std::optional<double> value(const std::string& tag, const std::string& layer, const std::string& line) const;
  /// @param names as "low|high"
  std::optional<std::pair<double, double>> range(const std::string& tag, const std::string& layer,
                                                 const std::string& names) const;
  std::vector<std::string> layers(const std::string& tag) const;
};

/// A host around one lens: built-in gatherers and preprocessors of their plugins, modules and events of the test's.
class LensWorld {
 public:
  /// @param lens the component's name; its plugin is a file of that name unless `plugin` says otherwise
  explicit LensWorld(const std::string& lens, const std::string& yaml = "{}", const std::string& plugin = "");
  ~LensWorld();
  LensWorld(const LensWorld&) = delete;
  LensWorld& operator=(const LensWorld&) = delete;

  void add(const ModuleSpec& spec);
  void forget(const std::string& module);

  void event(uint32_t tap, const std::string& module, const Tensor& tensor, const std::string& label = "",
             uint32_t flags = kTraining, uint32_t index = 0);
  void forward(const std::string& module, const Tensor& tensor, uint32_t flags = kTraining) {
    event(LOUPE_TAP_FORWARD, module, tensor, "", flags);
  }
  void push(const char* label, double value, uint32_t flags = 0);
  /// The value that changes are counted from.
  void prime(const std::string& module, const std::string& label, const Tensor& tensor);

  /// The optimizers that are attached, as they are from now on; borrowed. A step is told of the first.
  void set_optimizers(std::vector<const loupe_optimizer*> optimizers) { optimizers_ = std::move(optimizers); }
  void step();

  /// Reports and resets.
  Shown tick(double epoch = 1);
  std::optional<double> query(const std::string& key) const;
  /// The names of the modules that the lens watches at a tap, in the order they were added; with "/label" where the
  /// stream has one.
  std::vector<std::string> watched(uint32_t tap) const;
  /// How often the lens read a series.
  std::size_t rows_read() const { return rows_read_; }
  /// Whether every stream that has series keeps all values of an epoch, rather than folding them as they come.
  bool keeps_values() const;

 private:
  struct FakeModule;
  struct Watch;
  void dispatch(Watch& watch, const loupe_event& event);
  FakeModule& find(const std::string& name);
  loupe_sink sink(Shown& shown);

  loupe_wiring wiring_{};
  std::list<FakeModule> modules_;
  std::list<Watch> watches_;
  std::map<std::string, bool> told_;
  std::vector<const loupe_optimizer*> optimizers_;
  Shown* showing_ = nullptr;
  std::unique_ptr<Instance> lens_;
  uint64_t next_id_ = 1;
  std::size_t rows_read_ = 0;
};

}  // namespace loupe::test
