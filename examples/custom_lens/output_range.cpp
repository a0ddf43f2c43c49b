// An example lens: the range of each layer's outputs. float16 overflows above 65504, and int8 needs a scale that fits.

#include <loupe/plugin.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

// The largest magnitude of each tensor, one number per event. The host measures it in a pass that all lenses share.
class LargestMagnitude : public loupe::Preprocessor {
 public:
  static constexpr const char* name = "largest_magnitude";
  static constexpr const char* help = "the largest absolute value of each tensor";
  explicit LargestMagnitude(const loupe::Options&) {}

  loupe::Request request() const override {
    loupe::Request request;
    request.measures = LOUPE_MEASURE_EXTREMES;
    return request;
  }
  void process(const loupe::Event& event) override {
    magnitudes_.push(std::max(-event.measurement().minimum, event.measurement().maximum));
  }

 private:
  loupe::Series& magnitudes_ = add_series("magnitude");
};

// Watches the outputs of modules of the types that the YAML names, and shows the largest and mean magnitude per epoch.
class OutputRange : public loupe::Lens {
 public:
  static constexpr const char* name = "output_range";
  static constexpr const char* help = "how large each layer's outputs get";
  static std::vector<loupe::Option> options() {
    return {{"types", loupe::Strings{"Linear", "Conv2d"}, "the types of module to look at"}};
  }
  explicit OutputRange(const loupe::Options& options) : types_(options.get<loupe::Strings>("types")) {}

  void visit(const loupe::Module& module) override {
    if (std::find(types_.begin(), types_.end(), module.type()) == types_.end()) return;
    layers_[module.id()] = {module.name(), watch(module, loupe::Watch("forward").preprocessor("largest_magnitude"))};
  }
  void forget(const loupe::Module& module) override { layers_.erase(module.id()); }
  void report(loupe::Report& report) override {
    report.tag("Output Range", {});
    for (const auto& [id, layer] : layers_) {
      if (const auto found = layer.second.find("magnitude")) lines_.write(report, "Output Range", layer.first, *found);
    }
  }

 private:
  loupe::Strings types_;
  loupe::Lines lines_{{"max", "mean"}, {}};
  std::map<std::uint64_t, std::pair<std::string, loupe::Source>> layers_;
};

LOUPE_PLUGIN("output_range", "1.0.0", LargestMagnitude, OutputRange);
