// The visualizer `prometheus`: the last tick's numbers as a file for node_exporter's textfile collector.

#include <loupe/files/output_path.h>
#include <loupe/files/replacement.h>
#include <loupe/number_text.h>
#include <loupe/plugin.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "prometheus/exposition.h"

namespace loupe::prometheus {
namespace {

class Prometheus : public Visualizer {
 public:
  static constexpr const char* name = "prometheus";
  static constexpr const char* help = "the last tick's numbers in Prometheus's text format, for a textfile collector";
  static std::vector<const char*> gives() {
    return {"loupe.prom: the last tick's numbers in Prometheus's text format"};
  }
  static constexpr const char* example = "prometheus: {path: digits.prom}";
  static std::vector<Option> options() {
    return {{"path", "loupe.prom",
             "the file, replaced as a whole at each tick; relative to the run's directory; a collector wants .prom"}};
  }

  Prometheus(const Options& options, const Host& host) : path_(options), host_(host) {}

  void begin(const Run& run) override {
    run_ = run.name;
    file_ = path_.in(run);
    try {
      check_writable(file_);
    } catch (const std::system_error& reason) {
      host_.warn(cannot_write(file_, reason, "no numbers are shown until it can be").what());
    }
  }
  void begin_tick(const Tick& tick) override {
    for (Gauge* gauge : {&epoch_, &value_, &low_, &high_}) gauge->clear();
    number_ = tick.epoch;
    epoch_.set({{"run", run_}}, tick.epoch);
  }
  void value(const Value& value) override {
    value_.set({{"run", run_}, {"tag", value.tag}, {"layer", layer_of(value)}, {"line", value.line}}, value.value);
  }
  void range(const Range& range) override {
    const std::string line = std::string(range.low_name) + ".." + range.high_name;
    low_.set({{"run", run_}, {"tag", range.tag}, {"layer", layer_of(range)}, {"line", line}}, range.low);
    high_.set({{"run", run_}, {"tag", range.tag}, {"layer", layer_of(range)}, {"line", line}}, range.high);
  }
  void end_tick() override {
    try {
      Replacement replacement(file_);
      replacement.write(epoch_.text() + value_.text() + low_.text() + high_.text());
      replacement.commit(false);
    } catch (const std::system_error& reason) {
      throw cannot_write(file_, reason, "the numbers of epoch " + number_text(number_) + " are not shown");
    }
  }

 private:
  OutputPath path_;
  std::string run_;
  Host host_;
  std::filesystem::path file_;
  double number_ = 0;
  Gauge epoch_{"loupe_epoch", "The epoch of the last tick."};
  Gauge value_{"loupe_value", "What a lens reported at the last tick."};
  Gauge low_{"loupe_range_low", "The lower end of a band that a lens reported at the last tick."};
  Gauge high_{"loupe_range_high", "The upper end of a band that a lens reported at the last tick."};
};

}  // namespace
}  // namespace loupe::prometheus

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"prometheus", "0.1.0", "The last numbers for a monitoring system.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::prometheus::Prometheus);
