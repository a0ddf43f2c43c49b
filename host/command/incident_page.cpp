#include "command/incident_page.h"

#include <loupe/detail/keyed_list.h>
#include <loupe/error.h>

#include <cctype>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "command/incident_files.h"
#include "config/settings.h"
#include "core/bounds.h"
#include "loupe/config_error.h"
#include "record/record_line.h"

namespace loupe {
namespace {

using Json = IncidentFiles::Json;
using replay::RecordLine;

/// A value, or the low and the high end of a range.
struct Told {
  std::string tag, layer, line, high_name;
  double value = 0, high = 0;
  uint64_t events = 0;
};

std::optional<double> number_in(const Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  if (*found == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (*found == "Infinity") return std::numeric_limits<double>::infinity();
  if (*found == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

uint64_t count_in(const Json& line, const char* key) {
  const auto found = line.find(key);
  const uint64_t count = found != line.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  if (static_cast<double>(count) <= largest_count) return count;
  throw Error("an incident's '" + std::string(key) + "' cannot be " + std::to_string(count) +
              ": it counts up to 2^53; was the file changed by hand?");
}

/// "forward" is the output, "step_gradient weight" the weight's gradient at the step.
std::string title_of(const std::string& gatherer, std::string label) {
  static const std::map<std::string, std::string> outputs = {{"forward", "Output"},
                                                             {"forward_input", "Input"},
                                                             {"output_gradient", "Output Gradient"},
                                                             {"input_gradient", "Input Gradient"}};
  static const std::map<std::string, std::string> parameters = {
      {"optimizer_step", ""}, {"parameter_gradient", " Gradient"}, {"step_gradient", " Gradient at the Step"}};
  if (const auto found = outputs.find(gatherer); found != outputs.end() && label.empty()) return found->second;
  const auto found = parameters.find(gatherer);
  if (found == parameters.end() || label.empty()) return gatherer + (label.empty() ? "" : " " + label);
  label[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(label[0])));
  return label + found->second;
}

/// What an incident measured, as plots show it.
class IncidentPlots {
 public:
  explicit IncidentPlots(const IncidentFiles& files) {
    if (const auto modules = files.about.find("modules"); modules != files.about.end() && modules->is_array()) {
      for (const Json& each : *modules) layers_.insert(text_of(each, "name"));
    }
    layers_.insert(text_of(files.about, "layer"));
    for (const Json& line : files.lines) take(line);
  }

  void tell(replay::VisualizerGroup& visualizers) const {
    // How numbers grew until they were not finite says more than how many of them were not.
    for (const bool is_last : {false, true}) {
      for (const auto& [tag, type] : tags_.items()) {
        if ((tag == non_finite) != is_last) continue;
        const bool is_big = tag == losses || tag == metrics || tag == rates;
        loupe_tag told{};
        told.struct_size = sizeof told;
        told.type = type;
        told.id = tag.c_str();
        told.flags = is_big ? uint32_t{LOUPE_TAG_BIG} | uint32_t{LOUPE_TAG_ANNOTATE} : 0U;
        visualizers.tell(&loupe_visualizer::tag, told);
      }
    }
    uint64_t number = 0;
    for (const auto& [step, all] : steps_) {
      visualizers.tell(&loupe_visualizer::begin_tick,
                       loupe_tick{.struct_size = sizeof(loupe_tick),
                                  .reason = LOUPE_TICK_STEPS,
                                  .number = number++,
                                  .at = {.step = step, .epoch = static_cast<double>(step)}});
      for (const Told& told : all) tell(told, visualizers);
      visualizers.tell(&loupe_visualizer::end_tick);
    }
  }

 private:
  static constexpr const char* non_finite = "Non-Finite Values";
  static constexpr const char* losses = "Loss";
  static constexpr const char* metrics = "Metrics";
  static constexpr const char* rates = "Learning Rate";

  static void tell(const Told& told, replay::VisualizerGroup& visualizers) {
    const char* const names[] = {told.line.c_str(), told.high_name.c_str()};
    const double numbers[] = {told.value, told.high};
    const std::size_t bands = told.high_name.empty() ? 0 : 1;
    visualizers.tell(&loupe_visualizer::row, loupe_row{.struct_size = sizeof(loupe_row),
                                                       .tag = told.tag.c_str(),
                                                       .layer = told.layer.empty() ? nullptr : told.layer.c_str(),
                                                       .events = told.events,
                                                       .value_count = 1 - bands,
                                                       .value_names = names,
                                                       .values = numbers,
                                                       .band_count = bands,
                                                       .band_names = names,
                                                       .bands = numbers});
  }

  void add(uint64_t step, Told told, uint32_t type = LOUPE_SCALE_NUMERICAL) {
    tags_[told.tag] = {told.tag, type};
    steps_[step].push_back(std::move(told));
  }

  /// A name may hold spaces: the longest that a stream begins with.
  std::string layer_of(const std::string& stream) const {
    constexpr std::size_t longest_name = 4096;
    for (std::size_t end = stream.substr(0, longest_name).rfind(' '); end != std::string::npos && end > 0;
         end = stream.rfind(' ', end - 1)) {
      if (const auto layer = layers_.find(stream.substr(0, end)); layer != layers_.end()) return *layer;
    }
    return stream.substr(0, stream.find(' '));
  }

  void take(const Json& line) {
    const std::string stream = text_of(line, "stream");
    const uint64_t step = count_in(line, "step"), events = count_in(line, "events");
    if (const auto value = number_in(line, "value")) {
      constexpr const char* rate = "learning rate of ";
      const bool is_rate = stream.rfind(rate, 0) == 0;
      const std::string name = is_rate ? stream.substr(std::char_traits<char>::length(rate)) : stream;
      const bool is_loss = name.find("loss") != std::string::npos;
      return add(step, {is_rate ? rates : is_loss ? losses : metrics, "", name, "", *value, 0, events});
    }
    if (line.count("waiting") != 0) return;
    const std::string layer = layer_of(stream);
    const std::string rest = stream.size() > layer.size() ? stream.substr(layer.size() + 1) : "";
    const auto space = rest.find(' ');
    const std::string title = title_of(rest.substr(0, space), space == std::string::npos ? "" : rest.substr(space + 1));
    const auto training = line.find("training");
    const std::string how = training != line.end() && *training == false ? ", not training" : "";
    const auto show = [&](const std::string& tag, const std::string& name, double value) {
      add(step, {tag, layer, name + how, "", value, 0, events});
    };
    const uint64_t nan = count_in(line, "nan"), infinite = count_in(line, "inf");
    if (nan > 0) show(non_finite, title + " NaN", static_cast<double>(nan));
    if (infinite > 0) show(non_finite, title + " Inf", static_cast<double>(infinite));
    // The folder has the norm of the finite elements only.
    if (const auto norm = number_in(line, "norm")) {
      show(title + " Norm", "norm",
           nan > 0        ? std::numeric_limits<double>::quiet_NaN()
           : infinite > 0 ? std::numeric_limits<double>::infinity()
                          : *norm);
    }
    const auto mean = number_in(line, "mean"), low = number_in(line, "min"), high = number_in(line, "max");
    if (mean) show(title, "mean", *mean);
    if (mean && low && high) add(step, {title, layer, "min" + how, "max" + how, *low, *high, events});
    if (!mean && low && high) {
      show(title, "min", *low);
      show(title, "max", *high);
    }
    if (const auto change = number_in(line, "change_norm")) show(title + " Change", "norm", *change);
    if (const uint64_t units = count_in(line, "units"); units > 0 && count_in(line, "elements") > 0) {
      const auto share = [&](const char* key, uint64_t of) {
        return static_cast<double>(count_in(line, key)) / static_cast<double>(of);
      };
      const auto show_share = [&](const char* name, double value) {
        add(step, {title + " Activity", layer, name + how, "", value, 0, events}, LOUPE_SCALE_PROBABILITY);
      };
      show_share("active", share("active", count_in(line, "elements")));
      show_share("dead units", share("dead_units", units));
    }
  }

  std::set<std::string> layers_;
  detail::KeyedList<std::pair<std::string, uint32_t>> tags_;
  std::map<uint64_t, std::vector<Told>> steps_;
};

void tell_modules(const Json& about, replay::VisualizerGroup& visualizers) {
  const auto told = about.find("modules");
  if (told == about.end() || !told->is_array() || told->empty()) return;
  std::vector<std::pair<std::string, std::string>> names;
  for (const Json& each : *told) names.emplace_back(text_of(each, "name"), text_of(each, "type"));
  loupe_model model{.struct_size = sizeof(loupe_model), .name = "", .type = "", .own_name = ""};
  std::vector<loupe_module> modules;
  for (std::size_t i = 0; i < names.size(); ++i) {
    loupe_module module{};
    module.struct_size = sizeof module;
    module.flags = told->at(i).value("leaf", false) ? LOUPE_MODULE_LEAF : 0;
    module.name = module.path = names[i].first.c_str();
    module.model = &model;
    module.type = module.full_type = names[i].second.c_str();
    modules.push_back(module);
  }
  std::vector<const loupe_module*> pointers;
  for (const loupe_module& each : modules) pointers.push_back(&each);
  model.modules = pointers.data();
  model.module_count = pointers.size();
  visualizers.tell(&loupe_visualizer::model, model);
}

void tell_setting(const std::string& name, const std::string& text, replay::VisualizerGroup& visualizers) {
  if (text.empty()) return;
  visualizers.tell(&loupe_visualizer::hyperparameter, loupe_option_value{.struct_size = sizeof(loupe_option_value),
                                                                         .type = LOUPE_TYPE_STRING,
                                                                         .name = name.c_str(),
                                                                         .string = text.c_str()});
}

void tell_settings(const Json& about, replay::VisualizerGroup& visualizers) {
  tell_setting("incident.cause", cause_of(about), visualizers);
  for (const char* key : {"why", "layer", "parameter", "time"})
    tell_setting(std::string("incident.") + key, text_of(about, key), visualizers);
  for (const char* key : {"step", "epoch", "streams_left_out"})
    tell_setting(std::string("incident.") + key, number_of(about, key), visualizers);
  std::string files, left_out;
  for (const Json& each : about.value("tensors", Json::array())) {
    const std::string file = text_of(each, "file");
    const std::string missing = text_of(each, "layer") + "." + text_of(each, "parameter") +
                                (each.value("gradient", false) ? "'s gradient" : "") + ": " + text_of(each, "left_out");
    std::string& list = file.empty() ? left_out : files;
    list += (list.empty() ? "" : ", ") + (file.empty() ? missing : file);
  }
  tell_setting("incident.tensors", files, visualizers);
  tell_setting("incident.tensors_left_out", left_out, visualizers);
  for (const Json& each : about.value("learning_rates", Json::array())) {
    const std::string model = text_of(each, "model");
    const std::string name =
        (model.empty() ? "" : model + " ") + text_of(each, "optimizer") + " group " + number_of(each, "group") + " ";
    for (const char* key : {"learning_rate", "momentum", "weight_decay"})
      tell_setting(name + key, number_of(each, key), visualizers);
  }
}

/// The findings, by steps as all that is shown.
void tell_findings(const IncidentFiles& files, const std::string& folder, replay::VisualizerGroup& visualizers) {
  for (const Json& each : files.findings) {
    RecordLine line;
    try {
      replay::parse_record_line(each.dump(), line);
      if (line.kind != RecordLine::Kind::finding) throw Error("a line is not a finding");
    } catch (const Error& e) {
      throw ConfigError(folder + "/findings.jsonl: error: " + e.what());
    }
    line.first_epoch = static_cast<double>(line.first_step);
    line.last_epoch = static_cast<double>(line.last_step);
    visualizers.tell_event(line);
  }
}

}  // namespace

void play_incident(const std::string& folder, const std::string& directory, replay::VisualizerGroup& visualizers) {
  const IncidentFiles files = read_incident(folder);
  const std::string name = text_of(files.about, "run") + ", incident at step " + number_of(files.about, "step");
  const std::string version = text_of(files.about, "loupe_version"), time = text_of(files.about, "time");
  settings_of(files.config).lend([&](const loupe_options* settings) {
    const loupe_run run{.struct_size = sizeof(loupe_run),
                        .flags = LOUPE_RUN_INCIDENT,
                        .name = name.c_str(),
                        .directory = directory.c_str(),
                        .config = files.config.c_str(),
                        .loupe_version = version.c_str(),
                        .libtorch_version = "",
                        .started = time.c_str(),
                        .rank = 0,
                        .world_size = 1,
                        .train_loss = "train_loss",
                        .validation_loss = "val_loss",
                        .settings = settings};
    visualizers.set_run(run);
    visualizers.tell(&loupe_visualizer::begin, run);
  });
  tell_modules(files.about, visualizers);
  tell_settings(files.about, visualizers);
  IncidentPlots(files).tell(visualizers);
  tell_findings(files, folder, visualizers);
  visualizers.tell(&loupe_visualizer::flush);
}

}  // namespace loupe
