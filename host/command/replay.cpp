#include "command/replay.h"

#include <ostream>

#include "replay/player.h"

namespace loupe {

CLI::App* Replay::add_to(CLI::App& app) {
  CLI::App* subcommand = app.add_subcommand("replay", "Plays what 'record' wrote to other visualizers");
  subcommand->add_option("record", record, "The record, such as runs/digits/record.jsonl")->required();
  subcommand->add_option("--visualizer", visualizers.names, "Where to show it: html, tensorboard, csv, …; repeatable")
      ->required()
      ->allow_extra_args(false);
  visualizers.add_to(*subcommand);
  return subcommand;
}

void Replay::run(const Catalogue& catalogue, std::ostream& errors) const {
  const auto chosen = choose_visualizers(visualizers, {record}, catalogue);
  replay::RecordReader reader(record);
  make_out_folder(visualizers.out);
  replay::Audience audience(chosen);
  const std::string left_out = replay::Player(reader, audience).play(reader.run().name, visualizers.out);
  if (!left_out.empty()) errors << "loupe: warning: " << left_out << "\n";
}

}  // namespace loupe
