#include "command/tag_descriptions.h"

#include <loupe/plugin.h>

#include <yaml-cpp/yaml.h>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "core/log.h"
#include "loupe/register_plugin.h"
#include "pipeline/monitor.h"

namespace loupe {
namespace {

using Tags = std::map<std::string, TagDescription>;

/// Where the plots go, and the lens that is telling.
struct Listener {
  Tags tags;
  std::string lens;
};
Listener*& listener() {
  static Listener* now = nullptr;
  return now;
}

class TagListener : public Visualizer {
 public:
  static constexpr const char* name = "loupe_tag_listener";
  static constexpr const char* help = "takes what lenses tell of their plots, for `loupe explain`";
  explicit TagListener(const Options&) {}
  void tag(const Tag& tag) override {
    const auto text = [](const char* told) { return std::string(told != nullptr ? told : ""); };
    if (listener() == nullptr) return;
    TagDescription& known = listener()->tags[tag.id];
    known.lenses.insert(listener()->lens);
    if (!known.id.empty()) return;
    known.id = tag.id;
    known.title = text(title_of(tag));
    known.unit = text(tag.unit);
    known.description = text(tag.description);
    known.healthy = text(tag.healthy);
    known.advice = text(tag.advice);
  }
  void begin_tick(const Tick&) override {}
  void row(const Row&) override {}
};

LOUPE_STATIC_PLUGIN(tag_listener, "loupe_tag_listener", "1.0", TagListener);

void add(Monitor& monitor, const std::string& type, uint32_t family) {
  ModuleDescription description;
  description.name = description.path = type;
  description.type = type;
  description.full_type = "torch::nn::" + type + "Impl";
  description.family = family;
  description.flags = LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED;
  constexpr uint32_t trained = LOUPE_PARAMETER_TRAINABLE | LOUPE_PARAMETER_OPTIMIZED;
  if (family == LOUPE_FAMILY_LINEAR) {
    description.parameters = {{"weight", trained, {2, 2}, 4}, {"bias", trained, {2}, 2}};
  }
  if (family == LOUPE_FAMILY_NORMALIZATION) {
    description.parameters = {{"running_mean", LOUPE_PARAMETER_BUFFER, {2}, 2}};
  }
  monitor.add_module(std::move(description));
}

/// Each stream gets a number and a NaN, for some plots are told of only once there is something in them.
void train(Monitor& monitor) {
  constexpr uint32_t flags = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;
  for (const float value : {1.F, NAN}) {
    const float values[] = {value, 1, 0, 2};
    const int64_t sizes[] = {2, 2}, strides[] = {2, 1};
    loupe_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype_code = LOUPE_DTYPE_FLOAT;
    tensor.dtype_bits = 32;
    tensor.dtype_lanes = 1;
    tensor.device_type = LOUPE_DEVICE_CPU;
    tensor.data = values;
    tensor.sizes = sizes;
    tensor.strides = strides;
    tensor.dim = 2;
    tensor.numel = 4;
    for (const auto& module : monitor.modules()) {
      for (Stream& stream : module->streams()) stream.dispatch(&tensor, flags);
    }
    monitor.push("train_loss", static_cast<double>(value), LOUPE_EVENT_LOSS);
    monitor.push("accuracy", static_cast<double>(value), 0);
  }
}

/// A folder for what lenses write, gone with it. Throws Error when none can be made.
class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "loupe-explain-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw Error("no folder can be made in '" + std::filesystem::temp_directory_path().string() +
                  "': " + std::strerror(errno) + "; name another in TMPDIR");
    }
  }
  ~ScratchFolder() {
    std::error_code no_matter;
    std::filesystem::remove_all(path_, no_matter);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// @param lens an item of the list `lenses`  @param trains whether there is something to show
void listen_to(const std::string& lens, const std::vector<std::string>& paths, bool trains) {
  const ScratchFolder scratch;
  YAML::Emitter text;
  text << YAML::Flow << paths;
  const std::string yaml = "loupe: 1\nattach: {summary: false}\nrun: {dir: '" + scratch.path() +
                           "'}\nplugins: {path: " + text.c_str() +
                           "}\nvisualizers: [loupe_tag_listener]\nlenses:\n  - " + lens + "\n";
  try {
    Monitor monitor(Config::from_text(yaml, "explain.yaml", ""));
    add(monitor, "Linear", LOUPE_FAMILY_LINEAR);
    add(monitor, "ReLU", LOUPE_FAMILY_ACTIVATION);
    add(monitor, "BatchNorm2d", LOUPE_FAMILY_NORMALIZATION);
    for (int i = 0; i < 2; ++i) {
      if (trains) train(monitor);
      monitor.tick(std::nullopt);
    }
  } catch (const std::exception&) {
    // Not every lens can be made without options, and not every one needs to be understood.
    return;
  }
}

}  // namespace

std::vector<TagDescription> describe_tags(const Catalogue& catalogue, const std::vector<std::string>& paths) {
  register_plugin(tag_listener);
  set_log_sink([](int, const std::string&) {});
  Listener heard;
  listener() = &heard;
  for (const std::string& lens : catalogue.names(Kind::lens)) {
    const loupe_component& component = *catalogue.find(Kind::lens, lens)->component;
    heard.lens = component.name;
    for (const bool trains : {false, true}) {
      listen_to(component.name, paths, trains);
      if (component.example != nullptr) {
        std::string example;  // indented as an item of a list
        for (const char* letter = component.example; *letter != '\0'; ++letter) {
          example += *letter;
          if (*letter == '\n') example += "    ";
        }
        listen_to(example, paths, trains);
      }
    }
  }
  listener() = nullptr;
  set_log_sink({});
  std::vector<TagDescription> tags;
  for (auto& [id, tag] : heard.tags) tags.push_back(std::move(tag));
  return tags;
}

}  // namespace loupe
