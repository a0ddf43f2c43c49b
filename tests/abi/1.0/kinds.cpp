// A component of each kind by the C++ layer, as a plugin of ABI 1.0 has them.
#include <loupe/plugin.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

class Outputs : public loupe::Gatherer {
 public:
  static constexpr const char* name = "cpp_outputs";
  static constexpr const char* help = "outputs, handed on";
  explicit Outputs(const loupe::Options&) {}
  void open(const std::optional<loupe::Module>&, const char*) override { subscribe(LOUPE_TAP_FORWARD); }
  void event(const loupe::Event& event) override { emit(*event.raw()); }
};

class Means : public loupe::Preprocessor {
 public:
  static constexpr const char* name = "cpp_means";
  static constexpr const char* help = "the mean of each tensor";
  explicit Means(const loupe::Options&) {}
  loupe::Request request() const override {
    loupe::Request request;
    request.measures = LOUPE_MEASURE_SUMS;
    request.passes = LOUPE_PASS_TRAINING;
    return request;
  }
  void process(const loupe::Event& event) override {
    const auto& measured = event.measurement();
    if (measured.numel > 0) means_.push(measured.sum / static_cast<double>(measured.numel));
  }

 private:
  loupe::Series& means_ = add_series("mean", loupe::Series::Keep::quantiles);
};

class MeanLens : public loupe::Lens {
 public:
  static constexpr const char* name = "cpp_lens";
  static constexpr const char* help = "the mean of each layer";
  static std::vector<loupe::Option> options() { return {{"limit", 1.0, "means above it are a finding"}}; }
  explicit MeanLens(const loupe::Options& options) : limit_(options.get<double>("limit")) {}

  void visit(const loupe::Module& module) override {
    if (module.is_leaf())
      layers_[module.id()] = {module.name(), watch(module, loupe::Watch("cpp_outputs").preprocessor("cpp_means"))};
  }
  void forget(const loupe::Module& module) override { layers_.erase(module.id()); }
  void step(const loupe::Step&, loupe::Report&) override { ++steps_; }
  void report(loupe::Report& report) override {
    report.tag("C++ Means", {});
    for (const auto& [id, layer] : layers_) {
      const auto& [name, source] = layer;
      const auto mean = source.get("mean");
      if (!mean) continue;
      report.value("C++ Means", name, "mean", *mean);
      report.value("C++ Means", name, "median", source.get("mean", loupe::Aggregate::median).value());
      report.value("C++ Means", name, "steps", static_cast<double>(steps_));
      if (*mean <= limit_) continue;
      loupe::Finding finding;
      finding.rule = "cpp_large_mean";
      finding.message = "the mean is above the limit";
      finding.layer = name;
      finding.value = *mean;
      finding.threshold = limit_;
      report.finding(finding);
    }
    steps_ = 0;
  }

 private:
  double limit_;
  std::map<std::uint64_t, std::pair<std::string, loupe::Source>> layers_;
  int steps_ = 0;
};

class LinesFile : public loupe::Visualizer {
 public:
  static constexpr const char* name = "cpp_lines";
  static constexpr const char* help = "a line for each message";
  static std::vector<loupe::Option> options() { return {loupe::Option("path", "", "the file").required()}; }
  explicit LinesFile(const loupe::Options& options) : path_(options.get<std::string>("path")) {}

  void begin(const loupe::Run&) override { file_.open(path_); }
  void model(const loupe::Model& model) override { file_ << "model of " << model.module_count << " modules\n"; }
  void tag(const loupe::Tag& tag) override { file_ << "tag " << tag.id << '\n'; }
  void begin_tick(const loupe::Tick& tick) override {
    file_ << "tick " << tick.at.epoch << " after " << tick.at.step << " steps\n";
  }
  void row(const loupe::Row& row) override {
    file_ << "row " << row.tag << ", " << (row.layer != nullptr ? row.layer : "-") << ':';
    for (std::size_t i = 0; i < row.value_count; ++i) file_ << ' ' << row.value_names[i] << '=' << row.values[i];
    for (std::size_t i = 0; i < row.band_count; ++i)
      file_ << ' ' << row.band_names[2 * i] << '=' << row.bands[2 * i] << ".." << row.bands[2 * i + 1];
    file_ << '\n';
  }
  void finding(const loupe_finding& finding) override {
    file_ << "finding " << finding.rule << ", " << finding.layer << ": " << finding.message << '\n';
  }
  void flush() override { file_.flush(); }
  void end(const loupe::Ending& ending) override { file_ << "end, " << ending.how << std::endl; }

 private:
  std::string path_;
  std::ofstream file_;
};

LOUPE_PLUGIN("cpp_kinds", "1.0", Outputs, Means, MeanLens, LinesFile);
