#include <loupe/draft/tensor_math.h>
#include <loupe/files/output_path.h>
#include <loupe/files/replacement.h>
#include <loupe/layers.h>
#include <loupe/lenses/explanation.h>
#include <loupe/lenses/kind_filter.h>
#include <loupe/plugin.h>
#include <loupe/text/number_text.h>

#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace loupe {

/// The tensors of a module to record, by their names in YAML.
enum class Moment { forward_pre, forward_input, forward_output, backward_input, backward_output };

struct RecordingSettings {
  Moment moment = Moment::forward_output;
  std::size_t argument = 0;  ///< the index of the tensor among a forward's inputs or outputs
  uint32_t passes = LOUPE_PASS_BOTH;
  uint64_t every = 1;            ///< each n-th event
  uint64_t limit = 0;            ///< the most tensors to record; 0: no limit
  bool sample = false;           ///< record only the first item of a batch
  std::optional<uint32_t> fold;  ///< LOUPE_DRAFT_FOLD_SUM, …: fold into one tensor; nullopt keeps all
};

/// The recording of one module. It has its own preprocessor, because tensors are kept and not measured.
class Recording : public Preprocessor {
 public:
  Recording(const Host& host, const RecordingSettings& settings)
      : host_(host), settings_(settings), samples_(add_series("samples")) {}

  Request request() const override {
    Request request;
    request.passes = settings_.passes;
    request.wants_tensor = true;
    return request;
  }

  void process(const Event& event) override {
    if (seen_++ % settings_.every != 0 || (settings_.limit != 0 && taken_ >= settings_.limit)) return;
    const loupe_tensor* tensor = find(event);
    if (tensor == nullptr) return;
    const bool one_item = settings_.sample && tensor->dim > 0;
    const double samples = one_item || tensor->dim == 0 ? 1.0 : static_cast<double>(tensor->sizes[0]);
    if (one_item && tensor->sizes[0] == 0) return;
    const std::lock_guard lock(mutex_);
    std::optional<KeptTensor> item;
    if (one_item) tensor = &item.emplace(draft::clone_item(host_, *tensor, 0)).view();
    if (settings_.fold && !tensors_.empty()) {
      draft::fold(host_, tensors_[0], *tensor, *settings_.fold, taken_);
    } else if (item) {
      tensors_.push_back(std::move(*item));
    } else {
      tensors_.emplace_back(host_, *tensor);
    }
    ++taken_;
    samples_.push(samples);
  }

  /// Saves the tensors; a module without any becomes an empty list.
  void save(const std::string& file) const {
    const std::lock_guard lock(mutex_);
    draft::save(host_, tensors_, !settings_.fold || tensors_.empty(), file);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    tensors_.clear();
    taken_ = 0;
  }

 private:
  const loupe_tensor* find(const Event& event) const {
    const std::size_t which = settings_.argument;
    switch (settings_.moment) {
      case Moment::forward_pre:
      case Moment::forward_input:
        return which < event.input_count() ? event.input(which).raw() : nullptr;
      case Moment::forward_output:
        return which < event.output_count() ? event.output(which).raw() : nullptr;
      default:
        return event.tensor() ? event.tensor().raw() : nullptr;
    }
  }

  Host host_;
  RecordingSettings settings_;
  Series& samples_;
  mutable std::mutex mutex_;  // the model may run on a different thread while the trainer's thread saves
  std::vector<KeptTensor> tensors_;
  uint64_t seen_ = 0, taken_ = 0;
};

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
  if (name == "sum") return LOUPE_DRAFT_FOLD_SUM;
  if (name == "mean") return LOUPE_DRAFT_FOLD_MEAN;
  if (name == "max") return LOUPE_DRAFT_FOLD_MAX;
  if (name == "min") return LOUPE_DRAFT_FOLD_MIN;
  return std::nullopt;
}

}  // namespace

/// Keeps tensors that pass through modules, and saves them at each tick.
class Recorder : public Lens {
 public:
  static constexpr const char* name = "recorder";
  static constexpr const char* help = "saves tensors that pass through modules, for torch.load, at each tick";
  static std::vector<const char*> gives() {
    return {"Recorded Samples: how many samples of each module an epoch recorded; the tensors are in files"};
  }
  static constexpr const char* example = "recorder: {what: forward_output, keep: sample, limit: 100}";
  static std::vector<Option> options() {
    std::vector<Option> options = {
        {"what", "forward_output",
         "the inputs as a forward is entered (forward_pre) or left (forward_input), its outputs, or the gradients of "
         "an input (backward_input) or output (backward_output)",
         Strings{"forward_pre", "forward_input", "forward_output", "backward_input", "backward_output"}},
        {"argument", 0, "the index of the tensor if a forward has several", 0.0},
        {"reduction", "none", "fold all tensors of a module into one; without it all are kept",
         Strings{"none", "sum", "mean", "max", "min"}},
        {"keep", "batch", "the whole tensor, or the first item along dimension 0", Strings{"batch", "sample"}},
        {"every", 1, "record each n-th time", 1.0},
        {"limit", 0, "the largest number of tensors recorded per module; 0: no limit", 0.0},
        {"train_update", true, "record while the module is in training mode"},
        {"eval_update", true, "record while it is in evaluation mode"},
        {"each_epoch", false, "save each epoch in a separate folder and start again after it"},
        {"path", "", "the folder, within the run's; without it the moment's name"}};
    for (Option& option : KindFilter::options()) options.push_back(std::move(option));
    options.emplace_back("indices", Strings{}, "only modules at these positions of the model, itself being 0");
    return options;
  }

  Recorder(const Options& options, const Host& host)
      : host_(host),
        filter_(options),
        indices_(options.get<Strings>("indices")),
        gatherer_(moment_of(options.get<std::string>("what")).gatherer),
        path_(folder_option(options)),
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
    if (what == "backward_output") gatherer_options_.add({"output", options.get<int>("argument")});
    if (what == "backward_input") gatherer_options_.add({"input", options.get<int>("argument")});
    for (const std::string& index : indices_) {
      if (index.empty() || index.find_first_not_of("0123456789") != std::string::npos) {
        throw Error("'" + index + "' in 'indices' is not a position; positions are 0, 1, 2, …", LOUPE_INVALID);
      }
    }
  }

  void visit(const Module& module) override {
    if (module.is_loss()) return;
    const std::string position = std::to_string(module.is_root() ? position_ = 0 : ++position_);
    const bool listed = std::find(indices_.begin(), indices_.end(), position) != indices_.end();
    if (!filter_.takes(module) || (!indices_.empty() && !listed)) return;
    Recording& own = own_.emplace_back(host_, settings_);
    layers_.emplace_back(module, watch(module, {gatherer_, gatherer_options_}, own));
    recorded_.push_back({module.name(), &own});
  }
  void forget(const Module& module) override { loupe::forget(layers_, module); }

  void report(Report& report) override {
    report.tag(tag_, explained({}, words()));
    filter_.warn(host_, !recorded_.empty());
    for (const Layer& layer : layers_) {
      if (const auto samples = layer.source.get("samples", Aggregate::sum)) {
        report.value(tag_, layer.name, "this epoch", *samples);
      }
    }
    save(report);
  }

 private:
  static Explanation words() {
    return {"How many samples of each module were recorded in an epoch; the tensors themselves are in files.",
            "As many as the options every, limit and active allow.",
            "0: the module was not run, or only in passes that are not recorded."};
  }
  struct Recorded {
    std::string layer;
    Recording* recording;
  };

  /// Writes 0.pt, 1.pt, … and a list of their modules.
  void save(const Report& report) {
    const loupe_run* run = host_.run();
    std::filesystem::path folder = path_.in(run != nullptr ? run->directory : "");
    const bool goes_on = each_epoch_ && run != nullptr && (run->flags & LOUPE_RUN_RESUMED) != 0;
    const double since = run != nullptr ? run->start_time : 0;
    if (!goes_on && !std::exchange(saved_, true)) keep_recorded(folder, since);
    if (each_epoch_) folder /= number_text(report.epoch());
    // A resumed run overwrites only epochs that it trains again.
    if (goes_on && epochs_.insert(report.epoch()).second) keep_recorded(folder, since);
    try {
      std::filesystem::create_directories(folder);
    } catch (const std::filesystem::filesystem_error& reason) {
      throw Error("cannot make the folder '" + folder.string() + "': " + reason.code().message());
    }
    std::string names;
    for (std::size_t i = 0; i < recorded_.size(); ++i) {
      recorded_[i].recording->save((folder / (std::to_string(i) + ".pt")).string());
      if (each_epoch_) recorded_[i].recording->clear();
      names += std::to_string(i) + ".pt " + recorded_[i].layer + '\n';
    }
    try {
      Replacement file(folder / "modules.txt");
      file.write(names);
      file.commit(false);
    } catch (const std::system_error& reason) {
      throw cannot_write(folder / "modules.txt", reason, "the tensors are there, but not the names of their modules");
    }
  }
  /// Moves the recordings of an earlier run to a new folder. Does nothing if there are none.
  void keep_recorded(const std::filesystem::path& folder, double since) const {
    try {
      bool recorded = std::filesystem::exists(folder / "modules.txt");
      if (!recorded && std::filesystem::is_directory(folder)) {
        for (const auto& epoch : std::filesystem::directory_iterator(folder)) {
          recorded = recorded || std::filesystem::exists(epoch.path() / "modules.txt");
        }
      }
      if (recorded) {
        host_.info("the tensors of an earlier run are kept in '" + keep_older(folder, since).string() + "'");
      }
    } catch (const std::system_error& reason) {
      throw Error("cannot keep the tensors of an earlier run in '" + folder.string() + "': " + reason.code().message());
    }
  }
  static std::string folder_option(const Options& options) {
    const auto path = options.get<std::string>("path");
    return path.empty() ? options.get<std::string>("what") : path;
  }

  Host host_;
  KindFilter filter_;
  Strings indices_;
  const char* gatherer_;
  OptionValues gatherer_options_;
  OutputPath path_;
  bool each_epoch_;
  bool saved_ = false;
  std::set<double> epochs_;  // the epochs that a resumed run has saved
  RecordingSettings settings_;
  std::size_t position_ = 0;
  std::deque<Recording> own_;  // kept after a module is forgotten, because its tensors are saved at the next tick
  std::vector<Recorded> recorded_;
  Layers layers_;
  const std::string tag_ = "Recorded Samples";
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"recorder", LOUPE_VERSION, "Saves tensors.", "the authors of Loupe", "MIT"}),
                  loupe::Recorder);
