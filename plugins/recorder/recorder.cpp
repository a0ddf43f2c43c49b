#include <deque>
#include <fstream>

#include "common/layers.h"
#include "common/module_filter.h"
#include "common/number_text.h"
#include "common/output_path.h"
#include "recorder/recording.h"

namespace loupe {
namespace {

struct MomentName {
  const char* name;
  Moment moment;
  const char* gatherer;
};
constexpr MomentName moments[] = {{"forward_pre", Moment::forward_pre, "forward_input"},
                                  {"forward_input", Moment::forward_input, "forward"},
                                  {"forward_output", Moment::forward_output, "forward"},
                                  {"backward_input", Moment::backward_input, "input_gradient"},
                                  {"backward_output", Moment::backward_output, "output_gradient"}};

const MomentName& moment_of(const std::string& name) {
  for (const MomentName& each : moments) {
    if (name == each.name) return each;
  }
  throw Error("there is no moment '" + name + "' to record", LOUPE_INVALID);
}

std::optional<uint32_t> fold_of(const std::string& name) {
  if (name == "sum") return LOUPE_SUM;
  if (name == "mean") return LOUPE_MEAN;
  if (name == "max") return LOUPE_MAX;
  if (name == "min") return LOUPE_MIN;
  return std::nullopt;
}

}  // namespace

/// Keeps tensors that pass through modules, and saves them at each tick.
class Recorder : public Lens {
 public:
  static constexpr const char* name = "recorder";
  static constexpr const char* help = "saves tensors that pass through modules, for torch.load, at each tick";
  static std::vector<Option> options() {
    std::vector<Option> options = {
        {"what", "forward_output",
         "the inputs as a forward is entered (forward_pre) or left (forward_input), its outputs, or the gradients of "
         "its first input (backward_input) or output (backward_output)",
         Strings{"forward_pre", "forward_input", "forward_output", "backward_input", "backward_output"}},
        {"argument", 0, "which tensor, where a forward takes or gives several", 0.0},
        {"reduction", "none", "fold all tensors of a module into one; without it all are kept",
         Strings{"none", "sum", "mean", "max", "min"}},
        {"keep", "batch", "the whole tensor, or the first item along dimension 0", Strings{"batch", "sample"}},
        {"every", 1, "record each n-th time", 1.0},
        {"limit", 0, "record so many tensors of a module and no more; 0 is no limit", 0.0},
        {"train_update", true, "record while the module is in training mode"},
        {"eval_update", true, "record while it is in evaluation mode"},
        {"each_epoch", false, "save each epoch in a folder of its own and start anew after it"},
        {"path", "", "the folder, within the run's; without it the moment's name"}};
    for (Option& option : ModuleFilter::options()) options.push_back(std::move(option));
    options.emplace_back("indices", Strings{}, "only modules at these positions of the model, itself being 0");
    return options;
  }

  Recorder(const Options& options, const Host& host)
      : host_(host),
        filter_(options),
        indices_(options.get<Strings>("indices")),
        gatherer_(moment_of(options.get<std::string>("what")).gatherer),
        path_(options.get<std::string>("path")),
        each_epoch_(options.get<bool>("each_epoch")) {
    const auto what = options.get<std::string>("what");
    settings_.moment = moment_of(what).moment;
    settings_.argument = options.get<std::size_t>("argument");
    settings_.every = options.get<uint64_t>("every");
    settings_.limit = options.get<uint64_t>("limit");
    settings_.sample = options.get<std::string>("keep") == "sample";
    settings_.fold = fold_of(options.get<std::string>("reduction"));
    settings_.passes = (options.get<bool>("train_update") ? uint32_t{LOUPE_PASS_TRAINING} : 0U) |
                       (options.get<bool>("eval_update") ? uint32_t{LOUPE_PASS_EVALUATION} : 0U);
    const bool backward = what.rfind("backward", 0) == 0;
    if (backward && settings_.argument != 0) {
      throw Error("gradients are recorded of the first tensor alone; leave out 'argument'", LOUPE_INVALID);
    }
    for (const std::string& index : indices_) {
      if (index.empty() || index.find_first_not_of("0123456789") != std::string::npos) {
        throw Error("'" + index + "' in 'indices' is no position; positions are 0, 1, 2, …", LOUPE_INVALID);
      }
    }
    if (path_.empty()) path_ = what;
  }

  void visit(const Module& module) override {
    if (module.is_loss()) return;
    const std::string position = std::to_string(module.is_root() ? position_ = 0 : ++position_);
    const bool listed = std::find(indices_.begin(), indices_.end(), position) != indices_.end();
    if (!filter_.takes(module) || (!indices_.empty() && !listed)) return;
    Recording& own = own_.emplace_back(host_, settings_);
    layers_.emplace_back(module, watch(module, {gatherer_}, own));
    recorded_.push_back({module.name(), &own});
  }
  void forget(const Module& module) override { loupe::forget(layers_, module); }

  void introduce(Report& report) override { report.tag(tag_, {}); }
  void report(Report& report) override {
    filter_.warn_of_unmatched(host_, name);
    if (recorded_.empty() && !std::exchange(told_, true)) host_.warn("recorder: no module fits what is to be recorded");
    for (const Layer& layer : layers_) {
      if (const auto samples = layer.source.get("samples", LOUPE_SUM)) {
        report.value(tag_, layer.name, "this epoch", *samples);
      }
    }
    save(report);
  }

 private:
  struct Recorded {
    std::string layer;
    Recording* recording;
  };

  /// 0.pt, 1.pt, … and which module each is.
  void save(const Report& report) {
    std::filesystem::path folder = directory(report);
    if (each_epoch_) folder /= number_text(report.epoch());
    try {
      std::filesystem::create_directories(folder);
    } catch (const std::filesystem::filesystem_error& reason) {
      throw Error("cannot make the folder '" + folder.string() + "': " + reason.code().message());
    }
    std::ofstream names(folder / "modules.txt");
    for (std::size_t i = 0; i < recorded_.size(); ++i) {
      recorded_[i].recording->save((folder / (std::to_string(i) + ".pt")).string());
      if (each_epoch_) recorded_[i].recording->clear();
      names << i << ".pt " << recorded_[i].layer << '\n';
    }
    names.close();
    if (!names) throw Error("cannot write '" + (folder / "modules.txt").string() + "'; is there room on the disk?");
  }
  /// Found once: the working directory may change later.
  const std::filesystem::path& directory(const Report& report) {
    if (directory_.empty()) {
      Run unknown{};
      unknown.directory = "";
      directory_ = output_path(report.run() != nullptr ? *report.run() : unknown, path_);
    }
    return directory_;
  }

  Host host_;
  ModuleFilter filter_;
  Strings indices_;
  const char* gatherer_;
  std::string path_;
  std::filesystem::path directory_;
  bool each_epoch_;
  bool told_ = false;
  RecordingSettings settings_;
  std::size_t position_ = 0;
  std::deque<Recording> own_;  // kept after a module is forgotten: what was recorded is saved at the next tick
  std::vector<Recorded> recorded_;
  Layers layers_;
  const std::string tag_ = "Recorded Samples";
};

}  // namespace loupe

LOUPE_PLUGIN("recorder", "0.1.0", loupe::Recorder);
