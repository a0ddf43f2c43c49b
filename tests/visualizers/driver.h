#pragma once

#include <dlfcn.h>
#include <loupe/detail/option_values.h>
#include <loupe/draft/abi/last_words.h>
#include <loupe/finding.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../option_default.h"
#include "../report/full_disk.h"

namespace loupe::test {

/// A visualizer from a built plugin, driven through its C table as a host would. Each call returns the error's
/// message, or "" without an error.
class Driver {
 public:
  /// The plugin's component gets its declared defaults, replaced by `options`.
  explicit Driver(const std::string& plugin, const std::vector<OptionValues::Item>& options = {})
      : host_{.struct_size = sizeof(loupe_host),
              .abi_major = LOUPE_ABI_MAJOR,
              .abi_minor = LOUPE_ABI_MINOR,
              .version = "test",
              .plugin_path = "",
              .context = &messages,
              .log = &log,
              .get_extension = &service} {
    void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto* entry = static_cast<const loupe_entry*>(dlsym(library, LOUPE_ENTRY_SYMBOL));
    if (entry == nullptr) throw std::runtime_error(dlerror());
    const auto* offered = static_cast<const loupe_plugin*>(entry->get_extension(LOUPE_PLUGIN_ID));
    component_ = offered->components[0];
    table_ = static_cast<const loupe_visualizer*>(component_->table);
    std::vector<OptionValues::Item> all;
    for (std::size_t i = 0; i < component_->option_count; ++i) {
      const auto* set = &options;
      bool given = false;
      for (const auto& item : *set) given = given || item.name == component_->options[i]->name;
      if (!given) all.push_back(default_of(*component_->options[i]));
    }
    for (const auto& item : options) all.push_back(item);
    lend(all, [&](const loupe_options* lent) {
      detail::ErrorBuffer error;
      error.check(component_->create(component_, &host_, lent, &self_, error.get()));
    });
  }
  ~Driver() { component_->destroy(self_); }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  std::string begin(const std::string& directory, bool resumed = false, const std::string& name = "digits") {
    return begin(run_of(directory, resumed, name));
  }
  /// A run to begin with; borrows its texts.
  static loupe_run run_of(const std::string& directory, bool resumed, const std::string& name,
                          const char* config = "loupe: 1\n") {
    return {.struct_size = sizeof(loupe_run),
            .flags = resumed ? uint32_t{LOUPE_RUN_RESUMED} : 0U,
            .name = name.c_str(),
            .directory = directory.c_str(),
            .config = config,
            .loupe_version = "1.0.0",
            .framework_version = "1.13.1",
            .started = "2024-05-01T12:00:00Z",
            .start_time = 1714564800.0,
            .world_size = 1,
            .train_loss = "train_loss",
            .validation_loss = "val_loss",
            .framework = "libtorch"};
  }
  /// A model of `count` modules, the first of which has all of the parameters.
  std::string model(const std::string& name, int64_t parameters, const std::string& type = "torch::nn::LinearImpl",
                    std::size_t count = 1) {
    const int64_t sizes[] = {parameters};
    const loupe_parameter parameter{
        .struct_size = sizeof(loupe_parameter), .name = "weight", .dim = 1, .numel = parameters, .sizes = sizes};
    const loupe_parameter* const all_parameters[] = {&parameter};
    const loupe_module module{.struct_size = sizeof(loupe_module),
                              .flags = LOUPE_MODULE_ROOT | LOUPE_MODULE_LEAF,
                              .name = name.c_str(),
                              .path = "",
                              .type = "Linear",
                              .full_type = "torch::nn::LinearImpl",
                              .parameters = all_parameters,
                              .parameter_count = 1};
    loupe_module further = module;
    further.parameter_count = 0;
    std::vector<const loupe_module*> modules(count, &further);
    modules[0] = &module;
    return this->model(
        loupe_model{sizeof(loupe_model), 0, name.c_str(), type.c_str(), parameters, modules.data(), count, ""});
  }
  std::string model(const loupe_model& model) {
    if (table_->model == nullptr) return "";
    return call([&](loupe_error* error) { return table_->model(self_, &model, error); });
  }
  std::string tag(const std::string& name, uint32_t type = LOUPE_SCALE_NUMERICAL, bool big = false,
                  bool log_y = false) {
    return tag({.struct_size = sizeof(loupe_tag),
                .type = type,
                .flags = (log_y ? uint32_t{LOUPE_TAG_LOG_Y} : 0U) | (big ? uint32_t{LOUPE_TAG_BIG} : 0U),
                .id = name.c_str()});
  }
  std::string begin(const loupe_run& run) {
    return call([&](loupe_error* error) { return table_->begin(self_, &run, error); });
  }
  std::string tag(const loupe_tag& tag) {
    return call([&](loupe_error* error) { return table_->tag(self_, &tag, error); });
  }
  /// From now on each epoch takes this number of steps and seconds; 0 means unknown.
  void set_pace(uint64_t steps, double seconds) {
    paced_from_ = ticks_;
    steps_ = steps;
    seconds_ = seconds;
  }
  /// The time of epoch 0; the default is in 2024.
  void set_start(double unix_seconds) { start_ = unix_seconds; }
  /// @param flags  LOUPE_TICK_INCOMPLETE
  std::string begin_tick(double epoch, uint32_t flags = 0) {
    const auto ticks = static_cast<double>(++ticks_ - paced_from_);
    const loupe_tick tick{.struct_size = sizeof(loupe_tick),
                          .reason = LOUPE_TICK_EPOCH,
                          .flags = flags,
                          .number = ticks_ - 1,
                          .at = {.step = steps_ * (ticks_ - paced_from_),
                                 .epoch = epoch,
                                 .time = start_ + 60 * epoch,
                                 .elapsed = seconds_ * ticks},
                          .steps = steps_};
    return call([&](loupe_error* error) { return table_->begin_tick(self_, &tick, error); });
  }
  /// @param step  0 for a value of the whole tick
  std::string value(const std::string& tag, const std::string& layer, const std::string& line, double number,
                    std::uint64_t events = 0, std::uint64_t step = 0) {
    const char* const name = line.c_str();
    return row({.struct_size = sizeof(loupe_row),
                .tag = tag.c_str(),
                .layer = layer_or_null(tag, layer),
                .events = events,
                .value_count = 1,
                .value_names = &name,
                .values = &number,
                .step = step});
  }
  std::string range(const std::string& tag, const std::string& layer, const std::string& low_name,
                    const std::string& high_name, double low, double high, uint64_t events = 0) {
    const char* const names[] = {low_name.c_str(), high_name.c_str()};
    const double ends[] = {low, high};
    return row({.struct_size = sizeof(loupe_row),
                .tag = tag.c_str(),
                .layer = layer_or_null(tag, layer),
                .events = events,
                .band_count = 1,
                .band_names = names,
                .bands = ends});
  }
  std::string row(const loupe_row& row) {
    return call([&](loupe_error* error) { return table_->row(self_, &row, error); });
  }
  std::string histogram(const std::string& tag, const std::string& layer, const std::string& line,
                        const std::vector<double>& edges, const std::vector<double>& counts, uint64_t events = 0) {
    const loupe_histogram histogram{.struct_size = sizeof(loupe_histogram),
                                    .tag = tag.c_str(),
                                    .layer = layer_or_null(tag, layer),
                                    .line = line.c_str(),
                                    .edges = edges.data(),
                                    .counts = counts.data(),
                                    .bin_count = counts.size(),
                                    .events = events};
    return call([&](loupe_error* error) { return table_->histogram(self_, &histogram, error); });
  }
  std::string end_tick() {
    return call([&](loupe_error* error) { return table_->end_tick(self_, error); });
  }
  std::string progress(double epoch, double epochs, uint64_t steps, uint64_t steps_before, double seconds) {
    const loupe_progress progress{.struct_size = sizeof(loupe_progress),
                                  .at = {.step = steps, .epoch = epoch},
                                  .epochs = epochs,
                                  .steps = steps,
                                  .steps_before = steps_before,
                                  .seconds = seconds};
    return call([&](loupe_error* error) { return table_->progress(self_, &progress, error); });
  }
  /// Like a host, sets the state to raised by default, and a number for the finding's identity.
  std::string finding(const loupe_finding& finding) {
    loupe_finding told = finding;
    if (told.state == 0) told.state = LOUPE_FINDING_RAISED;
    if (told.id == 0) told.id = number_of(told.source, told.rule, told.layer, told.parameter);
    return call([&](loupe_error* error) { return table_->finding(self_, &told, error); });
  }
  static uint64_t number_of(const char* source, const char* rule, const char* layer, const char* parameter) {
    std::string identity;
    for (const char* part : {source, rule, layer, parameter})
      identity += std::string(part != nullptr ? part : "") + '\n';
    return (std::hash<std::string>{}(identity) >> 11) | 1;
  }
  /// @param finding  the number of the finding that the note is about
  std::string note(uint32_t kind, const std::string& text, uint64_t step, double epoch, uint64_t finding = 0) {
    const loupe_note note{
        sizeof(loupe_note), kind, text.c_str(), {step, epoch, 1714564800.0 + 60 * epoch, 60 * epoch}, finding};
    return call([&](loupe_error* error) { return table_->note(self_, &note, error); });
  }
  std::string hyperparameter(const loupe_option_value& value) {
    return call([&](loupe_error* error) { return table_->hyperparameter(self_, &value, error); });
  }
  std::string hyperparameter(const std::string& name, double number) {
    return hyperparameter(
        {.struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_NUMBER, .name = name.c_str(), .number = number});
  }
  std::string hyperparameter(const std::string& name, const std::string& text) {
    return hyperparameter({.struct_size = sizeof(loupe_option_value),
                           .type = LOUPE_TYPE_STRING,
                           .name = name.c_str(),
                           .string = text.c_str()});
  }
  std::string end(uint32_t how = LOUPE_END_COMPLETED, const char* message = nullptr, uint64_t step = 0) {
    const loupe_ending ending{sizeof(loupe_ending), how, {.step = step}, message};
    const std::string failure = flush();
    const std::string last = call([&](loupe_error* error) { return table_->end(self_, &ending, error); });
    return last.empty() ? failure : last;
  }
  std::string flush() {
    return call([&](loupe_error* error) { return table_->flush(self_, error); });
  }
  /// A whole tick with one value of the tag "Loss".
  std::string loss_tick(double epoch, double loss) {
    begin_tick(epoch);
    value("Loss", "Loss", "train_loss mean", loss);
    return end_tick();
  }
  /// A loss tick that is also stored; returns the first error.
  std::string stored_loss_tick(double epoch, double loss) {
    const std::string failure = loss_tick(epoch, loss);
    return failure.empty() ? flush() : failure;
  }

  /// Calls any other function of the table, for example &loupe_visualizer::finding.
  template <class Told>
  std::string tell(loupe_status (*loupe_visualizer::*function)(void*, const Told*, loupe_error*), const Told& told) {
    return call([&](loupe_error* error) { return (table_->*function)(self_, &told, error); });
  }

  /// Calls the last words of all drivers, as when the process ends in a signal handler.
  static void speak(const char* how, const char* message, uint64_t step) {
    for (const LastWords& each : last_words()) each.speak(each.place, how, message, step);
  }

  const loupe_component& component() const { return *component_; }
  std::vector<std::string> messages;  ///< the component's messages to the user

 private:
  /// A big plot's layer has the same name as its tag.
  static const char* layer_or_null(const std::string& tag, const std::string& layer) {
    return layer == tag ? nullptr : layer.c_str();
  }
  static void log(void* context, int32_t, const char* message) {
    static_cast<std::vector<std::string>*>(context)->push_back(message);
  }
  struct LastWords {
    loupe_draft_last_words speak;
    void* place;
  };
  static std::vector<LastWords>& last_words() {
    static std::vector<LastWords> all;
    return all;
  }
  /// Offers only the service of last words.
  static const void* service(void*, const char* id) {
    static const loupe_draft_last_words_service table = {
        .struct_size = sizeof(loupe_draft_last_words_service),
        .add =
            [](void*, loupe_draft_last_words speak, void* place) {
              last_words().push_back({speak, place});
            },
        .remove =
            [](void*, void* place) {
              std::erase_if(last_words(), [&](const LastWords& each) { return each.place == place; });
            }};
    return std::strcmp(id, LOUPE_DRAFT_LAST_WORDS_ID) == 0 ? &table : nullptr;
  }
  template <class Call>
  static std::string call(Call&& function) {
    detail::ErrorBuffer error;
    return function(error.get()) == LOUPE_OK ? "" : error.text();
  }
  static OptionValues::Item default_of(const loupe_option& option) {
    const std::string text = test::default_text(option);
    switch (option.type) {
      case LOUPE_TYPE_BOOLEAN:
        return {option.name, text == "true"};
      case LOUPE_TYPE_INTEGER:
        return {option.name, std::stoi(text)};
      case LOUPE_TYPE_NUMBER:
        return {option.name, std::stod(text)};
      case LOUPE_TYPE_STRING:
        return {option.name, text.substr(1, text.size() - 2)};
      default:
        if (text != "[]") throw std::logic_error("the driver reads no default lists but the empty one");
        return {option.name, Strings{}};
    }
  }
  template <class Use>
  static void lend(const std::vector<OptionValues::Item>& items, Use&& use) {
    std::vector<std::vector<const char*>> lists(items.size());
    std::vector<loupe_option_value> values;
    std::vector<const loupe_option_value*> pointers;
    for (std::size_t i = 0; i < items.size(); ++i) {
      for (const std::string& text : items[i].texts) lists[i].push_back(text.c_str());
      values.push_back({sizeof(loupe_option_value), items[i].type, items[i].name.c_str(), items[i].integer,
                        items[i].number, items[i].text.c_str(), lists[i].data(), lists[i].size(), nullptr});
    }
    for (const auto& value : values) pointers.push_back(&value);
    const loupe_options options{sizeof(loupe_options), 0, pointers.data(), pointers.size()};
    use(&options);
  }

  loupe_host host_;
  const loupe_component* component_ = nullptr;
  uint64_t ticks_ = 0, paced_from_ = 0, steps_ = 0;
  double start_ = 1714564800.0;
  double seconds_ = 0;
  const loupe_visualizer* table_ = nullptr;
  void* self_ = nullptr;
};

/// A finding that a test can change.
inline Finding a_finding(const std::string& rule, uint32_t severity = LOUPE_SEVERITY_WARNING,
                         const std::string& message = "something is odd") {
  Finding finding{rule, severity, message};
  finding.first_epoch = finding.last_epoch = 1;
  return finding;
}
inline Finding gone(Finding finding) {
  finding.state = LOUPE_FINDING_GONE;
  return finding;
}

/// @param layer  the module as shown; "" for none
inline std::string tell(Driver& driver, const Finding& finding, const std::string& layer = "",
                        const char* source = nullptr) {
  loupe_finding told = finding.c_form();
  if (!layer.empty()) told.layer = layer.c_str();
  told.source = source;
  return driver.finding(told);
}
inline std::string tell_note(Driver& driver, uint32_t kind, const std::string& text, double epoch = 1,
                             uint64_t finding = 0) {
  return driver.tell(&loupe_visualizer::note,
                     loupe_note{sizeof(loupe_note), kind, text.c_str(), {7, epoch, 1714564800.25, 0.25}, finding});
}
/// Ends a run like a host: flush, then end.
inline std::string tell_end(Driver& driver, uint32_t how, double epoch, const char* message = nullptr) {
  const std::string failure = driver.flush();
  const std::string last = driver.tell(
      &loupe_visualizer::end, loupe_ending{sizeof(loupe_ending), how, {120, epoch, 1714564999.5, 199.5}, message});
  return last.empty() ? failure : last;
}

/// A new folder for a test, removed with this object.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "loupe-visualizers-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string text() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// A driver whose run has begun, in a new folder.
class Begun : public Folder, public Driver {
 public:
  explicit Begun(const std::string& plugin, const std::vector<OptionValues::Item>& options = {})
      : Driver(plugin, options) {
    begin(text());
  }
};

inline std::string read(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  if (!input) throw std::runtime_error("cannot read " + file);
  std::ostringstream text;
  text << input.rdbuf();
  return text.str();
}
inline void write(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream input(text);
  for (std::string line; std::getline(input, line);) lines.push_back(line);
  return lines;
}

}  // namespace loupe::test
