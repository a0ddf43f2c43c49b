#include "command/commands.h"

#include <loupe/detail/keyed_list.h>
#include <loupe/draft/abi/incidents.h>
#include <loupe/error.h>
#include <loupe/files/readable.h>
#include <loupe/internal/bounds.h>
#include <loupe/text/words.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iomanip>
#include <iosfwd>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "command/records.h"
#include "command/usage_error.h"
#include "config/settings.h"
#include "config/yaml_text.h"
#include "core/run_folder.h"
#include "core/text.h"
#include "loupe/config_error.h"
#include "record/reader/record_line.h"
#include "record/run_player.h"
#include "view/run_state.h"

namespace loupe {
namespace {

using Json = nlohmann::ordered_json;

/// The content of the folder of an incident, such as incident-412, which a run wrote.
struct IncidentFiles {
  Json about;                  ///< the run, and why the folder was written
  std::vector<Json> findings;  ///< findings, in the form of a record's lines
  std::vector<Json> lines;     ///< one per stream and step, those of the blamed module first
  std::string config;          ///< the run's YAML; empty where it cannot be read
};

namespace fs = std::filesystem;

constexpr int format = 1;
// A run writes at most 32 MB of measurements, and one stream more; each line has about ten values.
constexpr std::size_t most_bytes = std::size_t{48} << 20, most_lines = 500'000, most_values = 5'000'000;

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw ConfigError(file.string() + ": error: " + what + "; give a folder incident-STEP as a run wrote it");
}

std::string text_in(const fs::path& file) {
  try {
    return read_file(file, most_bytes);
  } catch (const std::system_error& reason) {
    fail(file, "this cannot be read: " + reason.code().message());
  } catch (const Error& reason) {
    fail(file, std::string("this cannot be read: ") + reason.what());
  }
}

/// Text that is not JSON gives the type `discarded`.
Json json_in(const fs::path& file, const std::string& text) try {
  return parse_bounded<Json>(text, nullptr, /*allow_exceptions=*/false);
} catch (const Error& reason) {
  fail(file, reason.what());
}

Json read_json(const fs::path& file) {
  Json json = json_in(file, text_in(file));
  if (!json.is_object()) fail(file, "this was cut off, or is not JSON");
  return json;
}

std::vector<Json> read_lines(const fs::path& file) {
  std::istringstream stream(text_in(file));
  std::vector<Json> lines;
  std::size_t values = 0;
  for (std::string text; std::getline(stream, text);) {
    // The last line may be cut off, because the disk was full.
    Json line = json_in(file, text);
    values += line.size();
    if (lines.size() >= most_lines || values > most_values)
      fail(file, "too large, from line " + std::to_string(lines.size() + 1) + " on");
    if (line.is_object()) {
      lines.push_back(std::move(line));
    } else if (!stream.eof()) {
      fail(file, "line " + std::to_string(lines.size() + 1) + " is not a JSON object");
    }
  }
  return lines;
}

/// A text on one line; empty without one.
std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || !found->is_string() ? "" : printable_line(found->get<std::string>());
}

/// A number, or the name of one that JSON has no digits for; empty without one.
std::string number_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return "";
  if (found->is_string()) return printable_line(found->get<std::string>());
  if (found->is_number_integer()) return std::to_string(found->get<int64_t>());
  if (!found->is_number()) return "?";
  std::ostringstream text;
  text << std::setprecision(4) << found->get<double>();
  return text.str();
}

/// "because of the finding 'dead_units' at 'fc1'"
std::string cause_of(const Json& about) {
  const std::string how = text_of(about, "how"), rule = text_of(about, "rule"), layer = text_of(about, "layer");
  if (how == "finding") return "because of the finding '" + rule + "'" + (layer.empty() ? "" : " at '" + layer + "'");
  if (how == "dump") return "because the trainer asked for it";
  if (how == "terminate") return "because the program ended by std::terminate";
  return "because of " + how;
}

/// Whether that is a folder which a run wrote for an incident.
bool is_incident(const std::string& folder) {
  std::error_code no_matter;
  if (!fs::is_directory(folder, no_matter)) return false;
  const fs::path path = fs::path(folder).lexically_normal();
  const std::string name = (path.filename().empty() ? path.parent_path() : path).filename().string();
  return fs::exists(path / "about.json", no_matter) || name.rfind(LOUPE_DRAFT_INCIDENT_FOLDER, 0) == 0;
}

/// Throws ConfigError for a folder that is not whole; the last line of a full disk may be cut off.
IncidentFiles read_incident(const std::string& folder) {
  const fs::path path(folder);
  IncidentFiles files;
  files.about = read_json(path / "about.json");
  if (text_of(files.about, "kind") != "incident") fail(path / "about.json", "this does not belong to an incident");
  if (number_of(files.about, "format") != std::to_string(format)) {
    fail(path / "about.json", "this incident has format " + number_of(files.about, "format") +
                                  ", and this Loupe reads format " + std::to_string(format));
  }
  files.findings = read_lines(path / "findings.jsonl");
  files.lines = read_lines(path / "measurements.jsonl");
  try {
    files.config = read_file(path / "config.yaml", max_yaml_bytes);
  } catch (const std::exception&) {
    // The configuration is missing, or Loupe would not accept it.
  }
  return files;
}

constexpr std::size_t shown_steps = 8;

uint32_t line_in_file(const Json& finding) {
  const auto found = finding.find("file_line");
  return found != finding.end() && found->is_number_unsigned() ? found->get<uint32_t>() : 0;
}

void tell_findings(const std::vector<Json>& findings, std::ostream& out) {
  out << "\n" << (findings.empty() ? "no findings\n" : "findings\n");
  for (const Json& each : findings) {
    const std::string layer = text_of(each, "layer"), parameter = text_of(each, "parameter");
    const std::string place = layer + (layer.empty() || parameter.empty() ? "" : ".") + parameter;
    out << "  " << text_of(each, "severity") << (text_of(each, "state") == "gone" ? ", resolved" : "") << ": "
        << (place.empty() ? "" : place + ": ")
        << loupe::message_with_place(text_of(each, "message"), text_of(each, "file"), line_in_file(each)) << " ("
        << text_of(each, "rule") << ", from step " << number_of(each, "first_step") << ")\n";
    if (const std::string advice = text_of(each, "advice"); !advice.empty()) out << "    → " << advice << "\n";
  }
}

void tell_rates(const Json& about, std::ostream& out) {
  const auto rates = about.find("learning_rates");
  if (rates == about.end() || !rates->is_array() || rates->empty()) return;
  out << "\noptimizers\n";
  for (const Json& each : *rates) {
    const std::string model = text_of(each, "model");
    out << "  " << model << (model.empty() ? "" : " ") << text_of(each, "optimizer") << " group "
        << number_of(each, "group") << ": learning rate " << number_of(each, "learning_rate");
    if (const std::string momentum = number_of(each, "momentum"); !momentum.empty()) out << ", momentum " << momentum;
    if (const std::string decay = number_of(each, "weight_decay"); !decay.empty()) out << ", weight decay " << decay;
    out << "\n";
  }
}

void tell_tensors(const Json& about, std::ostream& out) {
  const auto tensors = about.find("tensors");
  if (tensors == about.end() || !tensors->is_array() || tensors->empty()) return;
  out << "\ntensors, for torch.load\n";
  for (const Json& each : *tensors) {
    const std::string file = text_of(each, "file");
    out << "  " << (file.empty() ? text_of(each, "parameter") + " is left out: " + text_of(each, "left_out") : file)
        << "\n";
  }
}

/// The numbers that the lines of a stream have, in the order of the file.
std::vector<std::string> columns_of(const std::vector<const Json*>& lines) {
  std::vector<std::string> columns;
  for (const Json* line : lines) {
    for (const auto& [key, value] : line->items()) {
      const bool is_number = key != "stream" && key != "training" && key != "waiting";
      if (is_number && std::find(columns.begin(), columns.end(), key) == columns.end()) columns.push_back(key);
    }
  }
  return columns;
}

void tell_stream(const std::string& name, const std::vector<const Json*>& lines, std::ostream& out) {
  const std::size_t first = lines.size() - std::min(lines.size(), shown_steps);
  const std::vector<const Json*> shown(lines.begin() + static_cast<std::ptrdiff_t>(first), lines.end());
  out << "\n" << printable_line(name);
  if (first > 0) out << ", the last " << shown.size() << " of " << lines.size();
  out << "\n ";
  const std::vector<std::string> columns = columns_of(shown);
  constexpr int width = 12;
  for (const std::string& column : columns) out << std::setw(width) << printable_line(column);
  out << "\n";
  for (const Json* line : shown) {
    out << " ";
    for (const std::string& column : columns) out << std::setw(width) << number_of(*line, column.c_str());
    const auto training = line->find("training");
    const bool is_validation = training != line->end() && *training == false && line->count("elements") != 0;
    out << (is_validation ? "  not training" : "") << (line->count("waiting") != 0 ? "  not measured yet" : "") << "\n";
  }
}

/// Prints the folder of an incident in words: its reason, its findings, and the last steps of each stream,
/// those of the blamed module first. Throws ConfigError for an incomplete folder.
void show_incident(const std::string& folder, std::ostream& out) {
  const IncidentFiles files = read_incident(folder);
  const Json& about = files.about;
  std::vector<std::pair<std::string, std::vector<const Json*>>> streams;
  for (const Json& line : files.lines) {
    const std::string stream = text_of(line, "stream");
    const bool same = !streams.empty() && streams.back().first == stream;
    if (!same) streams.push_back({stream, {}});
    streams.back().second.push_back(&line);
  }
  out << text_of(about, "run") << ", step " << number_of(about, "step") << " in epoch " << number_of(about, "epoch")
      << ", " << text_of(about, "time") << ": kept " << cause_of(about) << "\n";
  if (const std::string why = text_of(about, "why"); !why.empty()) out << "  " << why << "\n";
  tell_findings(files.findings, out);
  tell_rates(about, out);
  tell_tensors(about, out);
  for (const auto& [name, shown] : streams) tell_stream(name, shown, out);
  if (const std::string left_out = number_of(about, "streams_left_out"); left_out != "" && left_out != "0")
    out << "\n" << left_out << " more streams were left out\n";
}

using replay::RecordLine;

/// A value, or the low and the high end of a range, as plots show it.
struct Shown {
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

/// The measurements of an incident, as plots.
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
    // The growth of numbers until they were not finite is more helpful than their count, so that plot comes last.
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
      for (const Shown& told : all) tell(told, visualizers);
      visualizers.tell(&loupe_visualizer::end_tick);
    }
  }

 private:
  static constexpr const char* non_finite = "Non-Finite Values";
  static constexpr const char* losses = "Loss";
  static constexpr const char* metrics = "Metrics";
  static constexpr const char* rates = "Learning Rate";

  static void tell(const Shown& told, replay::VisualizerGroup& visualizers) {
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

  void add(uint64_t step, Shown told, uint32_t type = LOUPE_SCALE_NUMERICAL) {
    tags_[told.tag] = {told.tag, type};
    steps_[step].push_back(std::move(told));
  }

  /// The layer of a stream: the longest known name with which it begins, because names may contain spaces.
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
  std::map<uint64_t, std::vector<Shown>> steps_;
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

/// Shows the findings, by steps like everything else.
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
    visualizers.finding(replay::message_of<loupe_finding>(line));
  }
}

/// Plays the folder of an incident to visualizers as a separate run (LOUPE_RUN_INCIDENT), with one tick per step: the
/// measurements of each stream, the findings, and the reason as hyperparameters `incident.*`. Their files go to
/// `directory`. Throws ConfigError for an incomplete folder, and Error when a visualizer fails.
void play_incident(const std::string& folder, const std::string& directory, replay::VisualizerGroup& visualizers) {
  const IncidentFiles files = read_incident(folder);
  const std::string name = text_of(files.about, "run") + ", incident at step " + number_of(files.about, "step");
  const std::string version = text_of(files.about, "loupe_version"), time = text_of(files.about, "time");
  loupe::settings_of(files.config).lend([&](const loupe_options* settings) {
    const loupe_run run{.struct_size = sizeof(loupe_run),
                        .flags = LOUPE_RUN_INCIDENT,
                        .name = name.c_str(),
                        .directory = directory.c_str(),
                        .config = files.config.c_str(),
                        .loupe_version = version.c_str(),
                        .framework_version = "",
                        .started = time.c_str(),
                        .rank = 0,
                        .world_size = 1,
                        .train_loss = "train_loss",
                        .validation_loss = "val_loss",
                        .settings = settings,
                        .framework = ""};
    visualizers.set_run(run);
    visualizers.tell(&loupe_visualizer::begin, run);
  });
  tell_modules(files.about, visualizers);
  tell_settings(files.about, visualizers);
  IncidentPlots(files).tell(visualizers);
  tell_findings(files, folder, visualizers);
  visualizers.tell(&loupe_visualizer::flush);
}

}  // namespace

CLI::App* Replay::add_to(CLI::App& app) {
  CLI::App* subcommand = app.add_subcommand(
      "replay", "Play a record to other visualizers, or show an incident as text or, by html, as a page");
  subcommand
      ->add_option("record", record,
                   "Folder of the run or its record, or an incident, for example runs/digits/incident-412")
      ->required()
      ->type_name("FILE");
  subcommand->add_option("--visualizer", visualizers.names, "Where to show it: html, tensorboard, csv, …; repeatable")
      ->allow_extra_args(false)
      ->type_name("VISUALIZER");
  visualizers.add_to(*subcommand);
  return subcommand;
}

void Replay::replay_incident(const Catalogue& catalogue, std::ostream& out) const try {
  if (visualizers.names.empty()) return show_incident(record, out);
  if (visualizers.names != std::vector<std::string>{"html"}) {
    throw UsageError("'" + record +
                     "' is an incident's folder, which is shown as text, or as a page, only by --visualizer html");
  }
  const auto chosen = choose_visualizers(visualizers, catalogue);
  OutputFiles written("replay", visualizers.force);
  for (const ComponentConfig& each : chosen) written.expect(each, visualizers.out, {});
  make_out_folder(visualizers.out);
  replay::VisualizerGroup group(chosen);
  play_incident(record, visualizers.out, group);
  written.tell(out);
} catch (const nlohmann::json::exception&) {
  throw ConfigError(record +
                    ": error: a part of this incident has a wrong type; was a file of it "
                    "changed by hand?");
}

void Replay::run(const Catalogue& catalogue, std::ostream& out, std::ostream& errors) const {
  if (is_incident(record)) return replay_incident(catalogue, out);
  if (visualizers.names.empty()) throw UsageError("a record is played to visualizers; name one: --visualizer html");
  const std::string file = record_file(record);
  const auto chosen = choose_visualizers(visualizers, catalogue);
  replay::RecordReader reader(file);
  OutputFiles written("replay", visualizers.force);
  for (const ComponentConfig& each : chosen) written.expect(each, visualizers.out, {file});
  make_out_folder(visualizers.out);
  replay::VisualizerGroup group(chosen);
  replay::RunPlayer player(reader, group);
  ReadingProgress progress(1, all_write_files(chosen));
  progress.begin(file);
  player.set_on_line([&](const replay::RecordLine& line) { progress.take(line); });
  const std::string left_out =
      player.play(reader.run().name, visualizers.out, view::flags_by_lock(fs::path(file).parent_path()));
  progress.clear();
  written.tell(out);
  if (!left_out.empty()) errors << "loupe: warning: " << left_out << "\n";
}

}  // namespace loupe
