#ifndef LOUPE_CORE_DISPLAY_H
#define LOUPE_CORE_DISPLAY_H

#include <loupe/abi.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/component_instance.h"
#include "core/config.h"

namespace loupe {

/// What a run is, as visualizers are told when they begin.
struct RunDescription {
  std::string name, directory, config, models, started;
  bool resumed = false;
};

/// The time now as ISO 8601 in UTC.
std::string utc_now();
/// The LibTorch that this Loupe was built for.
const char* libtorch_version();

/// All visualizers of an inspector. One that fails is told once, tried again at the next tick, and never stops
/// training. Trainer's thread.
class Display {
 public:
  /// Throws ConfigError when one cannot be made.
  void replace(const std::vector<ComponentConfig>& visualizers);
  void set_run(RunDescription run) { run_ = std::move(run); }
  const RunDescription& run() const { return run_; }
  /// The same for a component. Borrows from this display.
  loupe_run c_run() const;

  void begin_tick(double epoch);
  void tag(const loupe_tag& tag);
  void value(const loupe_value& value);
  void range(const loupe_range& range);
  void histogram(const loupe_histogram& histogram);
  void end_tick();
  void progress(const loupe_progress& progress);
  bool wants_progress() const;
  void end();

  /// A value of the last tick that had one.
  std::optional<double> last(const std::string& tag, const std::string& layer, const std::string& line) const;

 private:
  struct Shown {
    std::string name;
    ComponentInstance instance;
    bool begun = false;    // told of the run
    std::size_t told = 0;  // how many of the tags it knows
    bool failing = false;  // the user knows
    bool skip = false;     // failed in this tick
  };
  struct TagRecord {
    std::string name;
    loupe_tag tag;
  };

  void begin(Shown& shown);
  void tell_tags(Shown& shown);
  template <class Call>
  void each(Call&& call);
  template <class Call>
  void guarded_call(Shown& shown, Call&& call);

  RunDescription run_;
  std::vector<Shown> shown_;
  std::vector<std::unique_ptr<TagRecord>> tags_;
  std::map<std::tuple<std::string, std::string, std::string>, double> last_;
};

}  // namespace loupe

#endif
