#include "command/commands.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "command/incident_files.h"
#include "command/incident_page.h"
#include "command/incident_text.h"
#include "command/records.h"
#include "command/usage_error.h"
#include "loupe/config_error.h"
#include "record/player.h"

namespace loupe {

CLI::App* Replay::add_to(CLI::App& app) {
  CLI::App* subcommand = app.add_subcommand(
      "replay", "Plays what 'record' wrote to other visualizers, or shows an incident: as text, or as a page by html");
  subcommand
      ->add_option("record", record,
                   "The record, such as runs/digits/record.jsonl, or the run's folder; or an incident's, such as "
                   "runs/digits/incident-412")
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
                     "' is an incident's folder, which is shown as text, or as a page by --visualizer html alone");
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
                    ": error: something of this incident is not of the type that a run gives it; was a file of it "
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
  replay::Player player(reader, group);
  ReadingProgress progress(1, all_write_files(chosen));
  progress.begin(file);
  player.set_on_line([&](const replay::RecordLine& line) { progress.take(line); });
  const std::string left_out = player.play(reader.run().name, visualizers.out);
  progress.clear();
  written.tell(out);
  if (!left_out.empty()) errors << "loupe: warning: " << left_out << "\n";
}

}  // namespace loupe
