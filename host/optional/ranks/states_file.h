#pragma once

#include <loupe/files/gzip.h>
#include <loupe/files/older_epochs.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "pipeline/module_node.h"
#include "ranks/job.h"
#include "ranks/rank_message.h"

// Each rank keeps the states of its lenses in a file beside its record. `loupe merge` reads these files.
// A file is a row of gzip members, each of whole frames: a letter, the number of bytes that follow (8 bytes,
// little-endian), and those bytes, as StateWriter writes them. 'h' begins each part of the run and describes the rank;
// 'm' is a module, only from rank 0; 't' is a tick. The file of a killed process can be read up to its last whole tick.

namespace loupe {

/// A rank's description of itself.
struct RankHeader {
  std::string run, job;
  int rank = 0, world_size = 1;
  double start_time = 0;                           ///< seconds since 1970
  std::string config, config_file, config_folder;  ///< see Config: text, file, folder
  std::vector<std::string> lenses;                 ///< names of the lenses

  static RankHeader of(const Config& config, const Job& job, double start_time);
  std::string frame() const;
};

/// A tick of one rank.
struct RankTick {
  loupe_tick tick{};  ///< the tick, without optimizers
  RankMessage message;
};

std::string frame_of(const ModuleDescription& module);
/// @param message  the bytes of a RankMessage
std::string frame_of(const loupe_tick& tick, std::string_view message);
/// Reads a frame of an earlier part of the run, for a resumed run that continues the file.
bool read_old_frame(std::istream& input, OldLine& line);

/// "runs/x/record.states.gz" of "runs/x/record.jsonl".
std::filesystem::path states_file_of(std::filesystem::path record);

/// Reads a rank's file, one tick after the other.
class StatesReader {
 public:
  /// Throws Error if the file is missing, or in a format that this version cannot read.
  explicit StatesReader(const std::filesystem::path& file);

  const std::string& file() const { return file_; }
  const RankHeader& header() const { return header_; }
  /// The current tick; null after the last one. Modules are those reported until then.
  const RankTick* tick() const { return has_tick_ ? &tick_ : nullptr; }
  std::vector<ModuleDescription> take_modules() { return std::exchange(modules_, {}); }
  /// Goes on to the next tick.
  void next();
  /// Why the file was not read to its end, in a sentence; empty if it was, or is still being read.
  const std::string& fault() const { return fault_; }

 private:
  bool read_frame();

  std::string file_;
  std::unique_ptr<TextInput> input_;
  RankHeader header_;
  std::string frame_, fault_;
  RankTick tick_;
  bool has_tick_ = false;
  std::vector<ModuleDescription> modules_;
  std::size_t module_count_ = 0;
};

}  // namespace loupe
