#include "pipeline/incident.h"

#include <loupe/error.h>
#include <loupe/number_text.h>
#include <loupe/utc_text.h>
#include <loupe/words.h>
#include <sys/stat.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "loupe/version.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t most_measured_bytes = std::size_t{32} << 20;
constexpr int64_t most_tensor_elements = int64_t{1} << 24;  // of all files of an incident together

Json number(double value) {
  if (const char* name = non_finite_name(value)) return name;
  return value;
}
Json number_or_null(double value) {
  return std::isnan(value) ? Json() : number(value);
}
Json text_or_null(const char* text) {
  return text == nullptr || *text == '\0' ? Json() : Json(text);
}
std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// A file of the folder; a full disk is told, not passed over.
void write_file(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) throw fs::filesystem_error("cannot be written", file, std::error_code(errno, std::generic_category()));
}

fs::path make_folder(const fs::path& directory, uint64_t step) {
  fs::create_directories(directory);
  const std::string name = "incident-" + std::to_string(step);
  for (int number = 1;; ++number) {
    fs::path folder = directory / (number == 1 ? name : name + "-" + std::to_string(number));
    if (::mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST)
      throw fs::filesystem_error("cannot be made", folder, std::error_code(errno, std::generic_category()));
  }
}

/// Where a thread holds it that never goes on, as at an abnormal end, it is not had.
std::unique_lock<std::mutex> lock_soon(std::mutex& mutex) {
  constexpr int tries = 100;
  std::unique_lock lock(mutex, std::try_to_lock);
  for (int i = 0; i < tries && !lock.owns_lock(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

/// The number that is written with the fewest digits, 0.1 rather than 0.10000000149.
double plain(float value) {
  std::array<char, 32> text{};
  const char* end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double number = value;
  std::from_chars(text.data(), end, number);
  return number;
}

Json line_of(const std::string& stream, const KeptStep& kept) {
  Json line = {{"stream", stream},
               {"step", kept.step},
               {"events", kept.last_number - kept.first_number + 1},
               {"training", (kept.flags & LOUPE_EVENT_TRAINING) != 0}};
  return line;
}

Json measured_line(const std::string& stream, const KeptStep& kept) {
  Json line = line_of(stream, kept);
  if (kept.is_waiting) {
    line["waiting"] = true;  // for a device
    return line;
  }
  line["elements"] = kept.numel;
  line["nan"] = kept.nan_count;
  line["inf"] = kept.inf_count;
  const bool is_finite = kept.nan_count + kept.inf_count == 0;
  if ((kept.measures & LOUPE_MEASURE_SUMS) != 0) {
    // Of one event with NaN or Inf the sums are of the rest, and how many those are is known of a single event alone.
    if (is_finite && kept.numel > 0) line["mean"] = number(plain(kept.mean));
    line["norm"] = number(plain(kept.norm));
  }
  if ((kept.measures & LOUPE_MEASURE_EXTREMES) != 0) {
    line["min"] = number(plain(kept.minimum));
    line["max"] = number(plain(kept.maximum));
  }
  if ((kept.measures & LOUPE_MEASURE_ACTIVITY) != 0) {
    line["active"] = kept.active_count;
    line["units"] = kept.unit_count;
    line["dead_units"] = kept.dead_units;
  }
  if ((kept.measures & LOUPE_MEASURE_CHANGE) != 0 && kept.has_change)
    line["change_norm"] = number(plain(kept.change_norm));
  return line;
}

/// Every stream's last steps, those of the module blamed first.
class Measurements {
 public:
  std::string text;
  uint64_t left_out = 0;  ///< streams

  void add_numbers(const std::string& stream, const StepRing& ring) {
    for (std::size_t i = 0; i < ring.count(); ++i) {
      Json line = line_of(stream, ring.at(i));
      line["value"] = number(plain(ring.at(i).scalar));
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
      gatherer.each_kept([&](const std::string& stream, const StepRing& ring) {
        if (text.size() > most_measured_bytes) {
          ++left_out;
          return;
        }
        for (std::size_t i = 0; i < ring.count(); ++i) text += dumped(measured_line(stream, ring.at(i)));
      });
    }
  }
};

std::string findings_text(const std::vector<const loupe_finding*>& findings) {
  std::string text;
  for (const loupe_finding* each : findings) {
    text += dumped({{"kind", "finding"},
                    {"epoch", number(each->last_epoch)},
                    {"severity", word_of(severity_words, each->severity)},
                    {"state", word_of(finding_state_words, each->state)},
                    {"rule", each->rule},
                    {"layer", text_or_null(each->layer)},
                    {"parameter", text_or_null(each->parameter)},
                    {"message", each->message},
                    {"advice", text_or_null(each->advice)},
                    {"tag", text_or_null(each->tag)},
                    {"source", text_or_null(each->source)},
                    {"value", number_or_null(each->value)},
                    {"threshold", number_or_null(each->threshold)},
                    {"first_step", each->first_step},
                    {"last_step", each->last_step},
                    {"first_epoch", number(each->first_epoch)},
                    {"last_epoch", number(each->last_epoch)},
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
                      {"learning_rate", number_or_null(group.learning_rate)},
                      {"momentum", number_or_null(group.momentum)},
                      {"weight_decay", number_or_null(group.weight_decay)}});
    }
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
  for (const auto& [label, ring] : incident.box.pushes()) measurements.add_numbers(label, ring);
  for (const auto& [key, rates] : incident.box.rates())
    measurements.add_numbers("learning rate of " + rates.name, rates.ring);
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
                {"epoch", number(incident.epoch)},
                {"time", utc_text(incident.time)},
                {"how", incident.cause.how},
                {"why", incident.cause.why},
                {"rule", text_or_null(incident.cause.rule.c_str())},
                {"layer", text_or_null(incident.cause.layer.c_str())},
                {"parameter", text_or_null(incident.cause.parameter.c_str())},
                {"learning_rates", optimizers_json(incident.optimizers)},
                {"tensors", tensors.take()},
                {"streams_left_out", measurements.left_out}};
  write_file(folder / "about.json", dumped(about, 2));
}

}  // namespace

std::string write_incident(const Incident& incident) {
  const fs::path folder = make_folder(incident.run.directory, incident.step);
  try {
    fill(folder, incident);
  } catch (const std::exception& e) {
    throw Error("'" + folder.string() + "' is left incomplete: " + e.what());
  }
  return folder.string();
}

}  // namespace loupe
