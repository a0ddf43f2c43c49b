#include "black_box/incident_folder.h"

#include <loupe/detail/parameter_group.h>
#include <loupe/error.h>
#include <loupe/files/readable.h>
#include <loupe/files/replacement.h>
#include <loupe/finding.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>
#include <sys/stat.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/bounds.h"
#include "core/locks.h"
#include "core/run_folder.h"
#include "loupe/version.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t most_measured_bytes = std::size_t{32} << 20;
constexpr int64_t most_tensor_elements = int64_t{1} << 24;  // of all files of an incident together

Json json_of(double value) {
  if (const char* name = non_finite_name(value)) return name;
  return value;
}
Json number_or_null(double value) {
  return std::isnan(value) ? Json() : json_of(value);
}
Json text_or_null(const char* text) {
  return text == nullptr || *text == '\0' ? Json() : Json(text);
}
std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// A file of the folder; a full disk is told, not passed over.
void write_file(const fs::path& file, const std::string& text) try {
  Replacement replacement(file);
  replacement.write(text);
  replacement.commit(false);
} catch (const std::system_error& reason) {
  throw Error("cannot write '" + file.string() + "': " + reason_of(reason));
}

fs::path make_folder(const fs::path& directory, uint64_t step) {
  fs::create_directories(directory);
  const std::string name = incident_folder_prefix + std::to_string(step);
  for (int number = 1;; ++number) {
    fs::path folder = directory / (number == 1 ? name : name + "-" + std::to_string(number));
    if (::mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST)
      throw fs::filesystem_error("cannot be made", folder, std::error_code(errno, std::generic_category()));
  }
}

/// The number that is written with the fewest digits, 0.1 rather than 0.10000000149.
double plain(float value) {
  std::array<char, 32> text{};
  const char* end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double number = value;
  std::from_chars(text.data(), end, number);
  return number;
}

Json line_of(const std::string& stream, const StepNumbers& step) {
  Json line = {{"stream", stream},
               {"step", step.step},
               {"events", step.last_number - step.first_number + 1},
               {"training", (step.flags & LOUPE_EVENT_TRAINING) != 0}};
  return line;
}

Json measured_line(const std::string& stream, const StepNumbers& step) {
  Json line = line_of(stream, step);
  if (step.is_waiting) {
    line["waiting"] = true;  // for a device
    return line;
  }
  line["elements"] = step.numel;
  line["nan"] = step.nan_count;
  line["inf"] = step.inf_count;
  const bool is_finite = step.nan_count + step.inf_count == 0;
  if ((step.measures & LOUPE_MEASURE_SUMS) != 0) {
    // Of one event with NaN or Inf the sums are of the rest, and how many those are is known of a single event alone.
    if (is_finite && step.numel > 0) line["mean"] = json_of(plain(step.mean));
    line["norm"] = json_of(plain(step.norm));
  }
  if ((step.measures & LOUPE_MEASURE_EXTREMES) != 0) {
    line["min"] = json_of(plain(step.minimum));
    line["max"] = json_of(plain(step.maximum));
  }
  if ((step.measures & LOUPE_MEASURE_ACTIVITY) != 0) {
    line["active"] = step.active_count;
    line["units"] = step.unit_count;
    line["dead_units"] = step.dead_units;
  }
  if ((step.measures & LOUPE_MEASURE_CHANGE) != 0 && step.has_change)
    line["change_norm"] = json_of(plain(step.change_norm));
  return line;
}

/// Every stream's last steps, those of the module blamed first.
class Measurements {
 public:
  std::string text;
  uint64_t left_out = 0;  ///< streams

  void add_numbers(const std::string& stream, const LastSteps& steps) {
    for (std::size_t i = 0; i < steps.count(); ++i) {
      Json line = line_of(stream, steps.at(i));
      line["value"] = json_of(plain(steps.at(i).scalar));
      text += dumped(line);
    }
  }
  void add(ModuleNode& module) {
    const auto lock = lock_soon(module.mutex());
    if (!lock.owns_lock()) {
      ++left_out;
      return;
    }
    for (const GathererNode& gatherer : module.gatherers()) {
      gatherer.each_last_steps([&](const std::string& stream, const LastSteps& steps) {
        if (text.size() > most_measured_bytes) {
          ++left_out;
          return;
        }
        for (std::size_t i = 0; i < steps.count(); ++i) text += dumped(measured_line(stream, steps.at(i)));
      });
    }
  }
};

std::string findings_text(const std::vector<const loupe_finding*>& findings) {
  std::string text;
  for (const loupe_finding* each : findings) {
    text += dumped({{"kind", "finding"},
                    {"epoch", json_of(each->last_epoch)},
                    {"severity", word_of(severity_words, each->severity)},
                    {"state", word_of(finding_state_words, each->state)},
                    {"id", each->id},
                    {"rule", each->rule},
                    {"layer", text_or_null(each->layer)},
                    {"parameter", text_or_null(each->parameter)},
                    {"message", each->message},
                    {"advice", text_or_null(each->advice)},
                    {"tag", text_or_null(each->tag)},
                    {"source", text_or_null(each->source)},
                    {"caused_by", text_or_null(each->caused_by)},
                    {"file", text_or_null(each->file)},
                    {"file_line", each->line},
                    {"value", number_or_null(value_of(*each).value_or(NAN))},
                    {"threshold", number_or_null(threshold_of(*each).value_or(NAN))},
                    {"first_step", each->first_step},
                    {"last_step", each->last_step},
                    {"first_epoch", json_of(each->first_epoch)},
                    {"last_epoch", json_of(each->last_epoch)},
                    {"count", each->count}});
  }
  return text;
}

Json optimizers_json(const std::vector<const loupe_optimizer*>& optimizers) {
  Json list = Json::array();
  for (const loupe_optimizer* optimizer : optimizers) {
    for (std::size_t i = 0; i < optimizer->group_count; ++i) {
      const loupe_parameter_group& group = *optimizer->groups[i];
      list.push_back({{"model", text_or_null(optimizer->model)},
                      {"optimizer", optimizer->type},
                      {"group", i},
                      {"learning_rate", number_or_null(learning_rate_of(group).value_or(NAN))},
                      {"momentum", number_or_null(momentum_of(group).value_or(NAN))},
                      {"weight_decay", number_or_null(weight_decay_of(group).value_or(NAN))}});
    }
  }
  return list;
}

/// Their names in the order of the model, which streams go without.
Json modules_json(const Incident& incident) {
  Json list = Json::array();
  for (const auto& module : incident.modules) {
    const ModuleDescription& told = module->description();
    list.push_back({{"name", told.name}, {"type", told.type}, {"leaf", (told.flags & LOUPE_MODULE_LEAF) != 0}});
  }
  return list;
}

/// A layer's name may hold anything.
std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    safe += plain ? c : '_';
  }
  constexpr std::size_t longest = 100;
  return safe.substr(0, longest);
}

/// The parameters and gradients of modules: what there is, and what there is not and why.
class SavedTensors {
 public:
  SavedTensors(const SaveTensor& save, fs::path folder) : save_(save), folder_(std::move(folder)) {}

  void add(const ModuleDescription& module) {
    if (!save_ || !module.lend) return;
    for (const ParameterDescription& parameter : module.parameters) {
      for (const bool gradient : {false, true}) add(module, parameter.name, gradient);
    }
  }
  Json take() { return std::move(list_); }

 private:
  void add(const ModuleDescription& module, const std::string& parameter, bool gradient) {
    const std::string name = file_name(module.name + "." + parameter + (gradient ? ".gradient" : "")) + ".pt";
    Json entry = {{"layer", module.name}, {"parameter", parameter}, {"gradient", gradient}};
    const auto save = [&](const loupe_tensor& tensor) {
      if (elements_ + tensor.numel > most_tensor_elements) {
        entry["left_out"] = "it is too large";
        return;
      }
      save_(tensor, folder_ / name);
      elements_ += tensor.numel;
      entry["file"] = name;
    };
    try {
      if (!module.lend(parameter, gradient, save)) return;
    } catch (const std::exception& e) {
      entry["left_out"] = e.what();
    }
    list_.push_back(std::move(entry));
  }

  const SaveTensor& save_;
  fs::path folder_;
  Json list_ = Json::array();
  int64_t elements_ = 0;
};

/// Whether a module is the one blamed, or within it.
class Blamed {
 public:
  explicit Blamed(const Incident& incident) {
    for (const auto& module : incident.modules) {
      const bool named = !incident.cause.layer.empty() && module->description().name == incident.cause.layer;
      if (named) blamed_ = &module->description();
    }
  }
  bool operator()(const ModuleDescription& module) const {
    if (blamed_ == nullptr || module.model != blamed_->model) return false;
    if (&module == blamed_ || (blamed_->flags & LOUPE_MODULE_ROOT) != 0) return true;
    const std::string &path = module.path, &outer = blamed_->path;
    if (path.size() <= outer.size() || path.compare(0, outer.size(), outer) != 0) return false;
    const char next = path[outer.size()];  // a separator, or the rest of a longer name
    return next != '_' && std::isalnum(static_cast<unsigned char>(next)) == 0;
  }

 private:
  const ModuleDescription* blamed_ = nullptr;
};

void fill(const fs::path& folder, const Incident& incident) {
  const Blamed is_blamed(incident);
  Measurements measurements;
  for (const auto& [label, steps] : incident.numbers.pushes()) measurements.add_numbers(label, steps);
  for (const auto& [key, rates] : incident.numbers.rates())
    measurements.add_numbers("learning rate of " + rates.name, rates.steps);
  SavedTensors tensors(incident.save, folder);
  for (const bool blamed : {true, false}) {
    for (const auto& module : incident.modules) {
      if (is_blamed(module->description()) != blamed) continue;
      measurements.add(*module);
      if (blamed) tensors.add(module->description());
    }
  }
  write_file(folder / "measurements.jsonl", measurements.text);
  write_file(folder / "findings.jsonl", findings_text(incident.findings));
  write_file(folder / "config.yaml", incident.run.config);
  Json about = {{"kind", "incident"},
                {"format", 1},
                {"run", incident.run.name},
                {"loupe_version", LOUPE_VERSION},
                {"step", incident.step},
                {"epoch", json_of(incident.epoch)},
                {"time", utc_text(incident.time)},
                {"how", incident.cause.how},
                {"why", incident.cause.why},
                {"rule", text_or_null(incident.cause.rule.c_str())},
                {"layer", text_or_null(incident.cause.layer.c_str())},
                {"parameter", text_or_null(incident.cause.parameter.c_str())},
                {"finding", incident.cause.finding},
                {"learning_rates", optimizers_json(incident.optimizers)},
                {"tensors", tensors.take()},
                {"modules", modules_json(incident)},
                {"streams_left_out", measurements.left_out}};
  write_file(folder / "about.json", dumped(about, 2));
}

}  // namespace

std::string write_incident_folder(const Incident& incident) {
  const fs::path folder = make_folder(incident.run.directory, incident.step);
  try {
    fill(folder, incident);
  } catch (const std::exception& e) {
    throw Error("'" + folder.string() + "' is left incomplete: " + e.what());
  }
  return folder.string();
}

std::vector<IncidentCause> causes_of_incidents_in(const std::string& directory) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  std::vector<IncidentCause> causes;
  std::error_code none;
  for (const fs::directory_entry& each : fs::directory_iterator(directory, none)) {
    if (each.path().filename().string().rfind(incident_folder_prefix, 0) != 0 || !each.is_directory(none)) continue;
    IncidentCause& cause = causes.emplace_back();  // one that is not whole takes its room, too
    try {
      const auto about = parse_bounded<Json>(read_file(each.path() / "about.json", most_bytes));
      cause.how = about.at("how").get<std::string>();
      if (about.at("rule").is_string()) cause.rule = about.at("rule").get<std::string>();
    } catch (const std::exception&) {
      cause.how = "finding";
    }
  }
  return causes;
}

}  // namespace loupe
