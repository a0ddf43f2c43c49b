#include <loupe/draft/abi/step_time.h>
#include <loupe/draft/folded.h>
#include <loupe/draft/need.h>
#include <loupe/lenses/explanation.h>
#include <loupe/plugin.h>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace loupe {

/// The memory that training holds, in total and by layer.
class Memory : public Lens {
 public:
  static constexpr const char* name = "memory";
  static constexpr const char* help = "memory of training, and memory that each layer keeps for the backward pass";
  static std::vector<const char*> gives() {
    return {
        "Memory: memory of the process, and its parts: parameters, gradients, the optimizer's state and memory that "
        "forwards "
        "keep",
        "Kept for Backward: memory of each layer's forward that was still held when the backward pass began"};
  }
  static constexpr const char* example = "memory: {layers: false}";
  static std::vector<Option> options() {
    return {{"layers", true, "also show the memory of each layer, not only the total"}};
  }

  Memory(const Options& options, const Host& host) : host_(host), shows_layers_(options.get<bool>("layers")) {
    draft::need(host, LOUPE_DRAFT_STEP_TIME_ID);
  }

  void attach() override { watch_pushes({LOUPE_DRAFT_GATHER_STEP_MEMORY}, step_); }
  void visit(const Module& module) override {
    if (module.is_loss()) return;
    modules_[module.raw()->id] = module.raw();
    if (!shows_layers_ || !module.is_tapped() || module.is_functional()) return;
    forgotten_.clear();
    Layer& layer = layers_.emplace_back();
    layer.module = module.raw();
    places_[layer.module] = std::prev(layers_.end());
    watch(module, {LOUPE_DRAFT_GATHER_STEP_MEMORY}, layer.memory);
  }
  void forget(const Module& module) override {
    modules_.erase(module.raw()->id);
    const auto place = places_.find(module.raw());
    if (place == places_.end()) return;
    forgotten_.splice(forgotten_.end(), layers_, place->second);
    places_.erase(place);
  }

  void report(Report& report) override {
    forgotten_.clear();
    report.tag(memory_tag, memory_style());
    if (shows_layers_) report.tag(kept_tag, kept_style());
    Report::Row row(report);
    if (const auto held = process_bytes()) row.value("process", mebibytes(*held));
    // The models may be destroyed already when a program ends.
    if (const double bytes = parameter_bytes(false); bytes > 0) {
      row.value("parameters", mebibytes(bytes));
      row.value("gradients", mebibytes(parameter_bytes(true)));
    }
    if (const auto state = step_.mean("optimizer state")) row.value("optimizer state", mebibytes(*state));
    const auto in_layers = step_.mean("kept"), outside = step_.mean("kept outside");
    if (in_layers && outside) row.value("kept for backward", mebibytes(*in_layers + *outside));
    row.tell(memory_tag);
    for (const Layer& layer : layers_) {
      const auto kept = layer.memory.mean("kept");
      if (kept) report.value(kept_tag, layer.module->name, "kept", mebibytes(*kept));
    }
  }

 private:
  static constexpr const char* memory_tag = "Memory";
  static constexpr const char* kept_tag = "Kept for Backward";

  struct Layer {
    const loupe_module* module = nullptr;
    draft::Folded memory;
  };

  static TagStyle memory_style() {
    TagStyle style = explained(
        {},
        {"What training holds in memory. Measured at the tick: the process's main memory (resident set size), and "
         "the sizes of parameters and of their gradients, wherever they lie. Measured in one step: the tensors that "
         "an optimizer of LibTorch's keeps, and those that LibTorch's operators made in the forward pass and that "
         "were still there when the backward pass began. The rest of the process is the program, its data, and "
         "what allocators keep for later. Nothing is estimated; memory of a device that no tensor has is not seen.",
         "Level after the first epochs. Adam's state is twice the parameters.",
         "If what is kept for backward is most of it: smaller batches with gradients added up, lower precision, or "
         "checkpoints for the layers that keep most. If only the process grows: something is kept from step to step."});
    style.big = style.annotate = true;
    style.unit = "MiB";
    style.y_minimum = 0;
    return style;
  }
  static TagStyle kept_style() {
    TagStyle style = explained(
        {},
        {"What a layer's forward made, without the layers inside it, and was still there when the backward pass began: "
         "what a checkpoint of the layer would save, and its output, which the layer behind it may need anyway. "
         "Measured in one step, by the memory of what LibTorch's operators gave.",
         "In proportion to the outputs' sizes.",
         "Make checkpoints of the layers that keep most and compute quickly, such as activations and normalizations."});
    style.unit = "MiB";
    style.y_minimum = 0;
    return style;
  }

  static double mebibytes(double bytes) { return bytes / (1 << 20); }

  /// Nullopt if unknown.
  static std::optional<double> process_bytes() {
    std::ifstream file("/proc/self/statm");
    double all = 0, resident = 0;
    if (!(file >> all >> resident)) return std::nullopt;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
  }

  /// The size of all parameters or gradients; a parameter that two modules share counts once.
  double parameter_bytes(bool gradients) const {
    std::set<const void*> seen;
    double sum = 0;
    for (const auto& [id, module] : modules_) {
      for (std::size_t i = 0; i < module->parameter_count; ++i) {
        host_.lend_parameter(module, module->parameters[i]->name, gradients, [&](const loupe_tensor& tensor) {
          if (!seen.insert(tensor.data).second) return;
          sum += static_cast<double>(tensor.numel) * tensor.dtype_bits * tensor.dtype_lanes / 8;
        });
      }
    }
    return sum;
  }

  Host host_;
  bool shows_layers_;
  draft::Folded step_;
  std::map<uint64_t, const loupe_module*> modules_;
  std::list<Layer> layers_;
  std::unordered_map<const loupe_module*, std::list<Layer>::iterator> places_;
  std::list<Layer> forgotten_;  // kept until the next call, because their sources end with the call that forgets them
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"memory", LOUPE_VERSION, "What training holds in memory.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::Memory);
