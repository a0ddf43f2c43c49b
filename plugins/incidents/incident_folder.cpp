#include "incidents/incident_folder.h"

#include <loupe/detail/parameter_group.h>
#include <loupe/draft/tensor_math.h>
#include <loupe/error.h>
#include <loupe/files/output_path.h>
#include <loupe/files/readable.h>
#include <loupe/files/replacement.h>
#include <loupe/internal/bounds.h>
#include <loupe/internal/message_json.h>
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

namespace loupe::incidents {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t most_measured_bytes = std::size_t{32} << 20;
constexpr int64_t most_tensor_elements = int64_t{1} << 24;  // the limit for all files of one incident together

Json json_of(double value) {
  return loupe::json_of<Json>(value);
}
Json number_or_null(double value) {
  return loupe::number_or_null<Json>(value);
}
Json text_or_null(const char* text) {
  return loupe::text_or_null<Json>(text);
}
std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Writes a file of the folder. Throws Error if that fails, for example on a full disk.
void write_file(const fs::path& file, const std::string& text) try {
  Replacement replacement(file);
  replacement.write(text);
  replacement.commit(false);
} catch (const std::system_error& reason) {
  throw Error("cannot write '" + file.string() + "': " + reason_of(reason));
}

fs::path make_folder(const fs::path& directory, uint64_t step) {
  fs::create_directories(directory);
  const std::string name = std::string(LOUPE_DRAFT_INCIDENT_FOLDER) + std::to_string(step);
  for (int number = 1;; ++number) {
    fs::path folder = directory / (number == 1 ? name : name + "-" + std::to_string(number));
    if (::mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST)
      throw fs::filesystem_error("cannot be created", folder, std::error_code(errno, std::generic_category()));
  }
}

/// The float as the double with the fewest digits: 0.1 instead of 0.10000000149.
double plain(float value) {
  std::array<char, 32> text{};
  const char* end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double number = value;
  std::from_chars(text.data(), end, number);
  return number;
}

Json line_of(const std::string& stream, const StepNumbers& step) {
  Json line = {{"stream", stream},
               {"step", step.step + 1},  // an event has the number of steps before it; findings count from 1
               {"events", step.last_number - step.first_number + 1},
               {"training", (step.flags & LOUPE_EVENT_TRAINING) != 0}};
  return line;
}

Json measured_line(const std::string& stream, const StepNumbers& step) {
  Json line = line_of(stream, step);
  if (step.is_waiting) {
    line["waiting"] = true;  // the device has not delivered the numbers
    return line;
  }
  line["elements"] = step.numel;
  line["nan"] = step.nan_count;
  line["inf"] = step.inf_count;
  const bool is_finite = step.nan_count + step.inf_count == 0;
  if ((step.measures & LOUPE_MEASURE_SUMS) != 0) {
    // With NaN or Inf the sums leave those elements out, so there is no mean: the number of the others may be unknown.
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

/// The last steps of all streams as text; the caller adds those of the blamed module first.
class Measurements {
 public:
  explicit Measurements(const loupe_draft_incident& incident) : incident_(incident) {}

  std::string text;
  uint64_t left_out = 0;  ///< the number of streams that were left out

  void add_numbers(const std::string& stream, const LastSteps& steps) {
    for (std::size_t i = 0; i < steps.count(); ++i) {
      Json line = line_of(stream, steps.at(i));
      line["value"] = json_of(plain(steps.at(i).scalar));
      text += dumped(line);
    }
  }
  void add_pushes(const KeptSteps& kept) {
    const bool is_held = draft::hold(incident_, nullptr, [&] {
      for (const auto& [label, steps] : kept.pushes) add_numbers(label, steps);
    });
    left_out += is_held ? 0 : 1;
  }
  void add(const WatchedModule& module) {
    const bool is_held = draft::hold(incident_, module.module, [&] {
      for (const StreamSteps& stream : module.streams) {
        if (text.size() > most_measured_bytes) {
          left_out += stream.steps.count() > 0 ? 1 : 0;
          continue;
        }
        for (std::size_t i = 0; i < stream.steps.count(); ++i)
          text += dumped(measured_line(stream.name, stream.steps.at(i)));
      }
    });
    left_out += is_held ? 0 : 1;
  }

 private:
  const loupe_draft_incident& incident_;
};

std::string findings_text(const loupe_draft_incident& incident) {
  std::string text;
  for (std::size_t i = 0; i < incident.finding_count; ++i) {
    const loupe_finding& finding = *incident.findings[i];
    Json line = {{"kind", "finding"}, {"epoch", json_of(finding.last_epoch)}};
    add_members(line, finding);
    text += dumped(line);
  }
  return text;
}

Json optimizers_json(const loupe_draft_incident& incident) {
  Json list = Json::array();
  for (std::size_t o = 0; o < incident.optimizer_count; ++o) {
    const loupe_optimizer& optimizer = *incident.optimizers[o];
    for (std::size_t i = 0; i < optimizer.group_count; ++i) {
      const loupe_parameter_group& group = *optimizer.groups[i];
      list.push_back({{"model", text_or_null(optimizer.model_name)},
                      {"optimizer", optimizer.type},
                      {"group", i},
                      {"learning_rate", number_or_null(learning_rate_of(group).value_or(NAN))},
                      {"momentum", number_or_null(momentum_of(group).value_or(NAN))},
                      {"weight_decay", number_or_null(weight_decay_of(group).value_or(NAN))}});
    }
  }
  return list;
}

/// The modules in the order of the model; streams are stored separately.
Json modules_json(const KeptSteps& kept) {
  Json list = Json::array();
  for (const auto& [id, watched] : kept.modules) {
    if (watched.module == nullptr) continue;
    const Module module(watched.module);
    list.push_back({{"name", module.name()}, {"type", module.type()}, {"leaf", module.is_leaf()}});
  }
  return list;
}

/// A valid file name for a layer, whose name may contain any characters.
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

/// Saves the parameters and gradients of modules, and records why some are missing.
class SavedTensors {
 public:
  SavedTensors(const Host& host, fs::path folder) : host_(host), folder_(std::move(folder)) {}

  void add(const Module& module) {
    for (std::size_t i = 0; i < module.parameter_count(); ++i) {
      for (const bool gradient : {false, true}) add(module, module.parameter(i).name, gradient);
    }
  }
  Json take() { return std::move(list_); }

 private:
  void add(const Module& module, const char* parameter, bool gradient) {
    const std::string name =
        file_name(std::string(module.name()) + "." + parameter + (gradient ? ".gradient" : "")) + ".pt";
    Json entry = {{"layer", module.name()}, {"parameter", parameter}, {"gradient", gradient}};
    auto save = [&](const loupe_tensor& tensor) {
      try {
        if (elements_ + tensor.numel > most_tensor_elements) {
          entry["left_out"] = "it is too large";
          return;
        }
        loupe_retained* kept = nullptr;
        detail::ErrorBuffer error;
        error.check(host_.tensors().retain(host_.context(), &tensor, &kept, error.get()));
        std::vector<KeptTensor> tensors;
        tensors.emplace_back(host_, kept);
        draft::save(host_, tensors, false, (folder_ / name).string());
        elements_ += tensor.numel;
        entry["file"] = name;
      } catch (const std::exception& e) {
        entry["left_out"] = e.what();
      }
    };
    const auto call = [](void* context, const loupe_tensor* tensor) {
      (*static_cast<decltype(save)*>(context))(*tensor);
    };
    detail::ErrorBuffer error;
    const loupe_parameter_service& parameters = host_.service<loupe_parameter_service>(LOUPE_PARAMETERS_ID);
    const loupe_status status = parameters.lend(
        host_.context(), module, parameter, gradient ? uint32_t{LOUPE_LEND_GRADIENT} : 0U, call, &save, error.get());
    if (status == LOUPE_NOT_FOUND) return;
    if (status != LOUPE_OK) entry["left_out"] = error.text();
    list_.push_back(std::move(entry));
  }

  Host host_;
  fs::path folder_;
  Json list_ = Json::array();
  int64_t elements_ = 0;
};

/// Whether a module is the blamed one, or inside of it.
class Blamed {
 public:
  Blamed(const KeptSteps& kept, const std::string& layer) {
    for (const auto& [id, watched] : kept.modules) {
      if (watched.module != nullptr && !layer.empty() && watched.module->name == layer) blamed_ = watched.module;
    }
  }
  bool operator()(const loupe_module& module) const {
    if (blamed_ == nullptr || module.model != blamed_->model) return false;
    if (&module == blamed_ || (blamed_->flags & LOUPE_MODULE_ROOT) != 0) return true;
    const std::string path = module.path, outer = blamed_->path;
    if (path.size() <= outer.size() || path.compare(0, outer.size(), outer) != 0) return false;
    const char next = path[outer.size()];  // a separator, or part of a longer name
    return next != '_' && std::isalnum(static_cast<unsigned char>(next)) == 0;
  }

 private:
  const loupe_module* blamed_ = nullptr;
};

void fill(const fs::path& folder, const loupe_draft_incident& incident, const loupe_run& run, const KeptSteps& kept,
          const Host& host, bool saves) {
  const loupe_finding none{};
  const loupe_finding& finding = incident.finding != nullptr ? *incident.finding : none;
  const Blamed is_blamed(kept, text_of(finding.layer));
  Measurements measurements(incident);
  measurements.add_pushes(kept);
  for (const auto& [key, rates] : kept.rates) measurements.add_numbers("learning rate of " + rates.name, rates.steps);
  SavedTensors tensors(host, folder);
  for (const bool blamed : {true, false}) {
    for (const auto& [id, watched] : kept.modules) {
      if (watched.module == nullptr || is_blamed(*watched.module) != blamed) continue;
      measurements.add(watched);
      if (blamed && saves) tensors.add(Module(watched.module));
    }
  }
  write_file(folder / "measurements.jsonl", measurements.text);
  write_file(folder / "findings.jsonl", findings_text(incident));
  write_file(folder / "config.yaml", run.config);
  Json about = {{"kind", "incident"},
                {"format", 1},
                {"run", run.name},
                {"loupe_version", LOUPE_VERSION},
                {"step", incident.at.step},
                {"epoch", json_of(incident.at.epoch)},
                {"time", utc_text(incident.at.time)},
                {"how", incident.how},
                {"why", incident.why},
                {"rule", text_or_null(finding.rule)},
                {"layer", text_or_null(finding.layer)},
                {"parameter", text_or_null(finding.parameter)},
                {"finding", finding.id},
                {"learning_rates", optimizers_json(incident)},
                {"tensors", tensors.take()},
                {"modules", modules_json(kept)},
                {"streams_left_out", measurements.left_out}};
  write_file(folder / "about.json", dumped(about, 2));
}

}  // namespace

std::string write_incident_folder(const loupe_draft_incident& incident, const loupe_run& run, const KeptSteps& kept,
                                  const Host& host, bool saves) {
  const fs::path folder = make_folder(run.directory, incident.at.step);
  try {
    fill(folder, incident, run, kept, host, saves);
  } catch (const std::exception& e) {
    throw Error("'" + folder.string() + "' is left incomplete: " + e.what());
  }
  return folder.string();
}

std::vector<Earlier> incidents_in(const std::string& directory) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  std::vector<Earlier> all;
  std::error_code none;
  for (const fs::directory_entry& each : fs::directory_iterator(directory, none)) {
    const std::string name = each.path().filename().string();
    if (name.rfind(LOUPE_DRAFT_INCIDENT_FOLDER, 0) != 0 || !each.is_directory(none)) continue;
    Earlier& earlier = all.emplace_back();  // an incomplete one counts too
    try {
      const auto about = parse_bounded<Json>(read_file(each.path() / "about.json", most_bytes));
      earlier.how = about.at("how").get<std::string>();
      if (about.at("rule").is_string()) earlier.rule = about.at("rule").get<std::string>();
    } catch (const std::exception&) {
      earlier.how = "finding";
    }
  }
  return all;
}

}  // namespace loupe::incidents
