#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "watched_run.h"

namespace loupe {

/// A run with a record, whose first epochs are over.
struct Recording {
  explicit Recording(const Folder& folder, int epochs = 1)
      : monitor(Config::from_text("plugins: {path: [" + test_plugin("probe") + ", " + LOUPE_BUILT_PLUGINS +
                                      "]}\nrun: {dir: " + folder.path("run") +
                                      "}\nlenses: [probe_lens]\nvisualizers: [record]\n",
                                  "a.yaml", "/"),
                &host) {
    ModuleDescription description;
    description.name = description.path = "conv";
    description.type = "Linear";
    description.flags = LOUPE_MODULE_LEAF;
    layer = monitor.add_module(std::move(description));
    monitor.set_epochs(3);
    for (; epochs > 0; --epochs) {
      step();
      monitor.tick(std::nullopt);
    }
  }
  void step() {
    Monitored::forward(*layer, {1});
    monitor.note_step();
  }

  Stage stage;
  MadeHost host;
  Monitor monitor;
  std::shared_ptr<ModuleNode> layer;
};

struct Left {
  explicit Left(const Folder& folder) {
    for (const nlohmann::json& line : lines_of(folder.path("run/record.jsonl"))) {
      if (line["kind"] == "tick") ticks.push_back(line);
      if (line["kind"] == "end") ends.push_back(line);
      last = line["kind"];
    }
  }
  std::vector<nlohmann::json> ticks, ends;
  std::string last;
};

}  // namespace loupe
