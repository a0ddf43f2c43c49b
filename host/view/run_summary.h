#pragma once

#include <loupe/files/text_pieces.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/run_folder.h"
#include "record/finding_history.h"
#include "record/record_line.h"
#include "view/small_curve.h"

namespace loupe::view {

/// What a list says of a run, read from its record and read on as that grows. One thread.
class RunSummary {
 public:
  /// Losses and metrics, each by its name: more than people read in a row of a list.
  static constexpr std::size_t most_losses = 6;
  /// Settings that people compare runs by are far fewer.
  static constexpr std::size_t most_settings = 100;
  struct Loss {
    std::string name;
    bool is_metric;  ///< whether low is good is not known of those
    double last;
    double last_epoch = 0;
    std::size_t count = 0, nan_streak = 0;                 ///< of its values, and how many of the latest were NaN
    std::optional<std::pair<double, double>> lowest = {};  ///< of the finite ones, with its epoch
    SmallCurve curve = {};
  };

  explicit RunSummary(std::filesystem::path record) : record_(std::move(record)) {}

  /// Reads what came since the last call, about `most` bytes of it, and everything anew where the record is another
  /// one. Returns whether it has changed. What is wrong with the record is in damage().
  bool read_on(std::size_t most);
  /// There is more in the record than was read so far.
  bool is_behind() const { return behind_; }
  /// What is wrong with the record, in one sentence; empty where nothing is. What stood before it is told all the same.
  const std::string& damage() const { return damage_; }

  const replay::RecordedRun& run() const { return run_; }
  /// The last tick, where there was one.
  const std::optional<replay::RecordLine>& tick() const { return tick_; }
  /// Of a run that has ended: how.
  const std::optional<replay::RecordLine>& ending() const { return ending_; }
  /// Whether a loss was NaN to the end: in the latest epochs, or in the last one while the finding stands that names
  /// the cause. Then which.
  std::optional<std::string> broken_loss() const;
  /// The first that were told, at most so many.
  const std::vector<Loss>& losses() const { return losses_; }
  const replay::FindingHistory& findings() const { return findings_; }
  /// By name, in the order they were told first; a later value replaces an earlier one.
  const std::vector<replay::RecordedSetting>& settings() const { return settings_; }
  const FileStamp& stamp() const { return stamp_; }
  /// Whether the record has changed since it was read.
  bool is_outdated() const { return FileStamp::of(text_file_at(record_)) != stamp_; }

 private:
  void begin_anew();
  void read(TextPieces& pieces, std::size_t most);
  void take(std::string_view text);
  void take_loss();
  void note_lowest();
  void take_setting(replay::RecordedSetting setting);

  std::filesystem::path record_;
  FileStamp stamp_;
  TextPieces::Place place_;  // how far the record was read
  std::string unfinished_;   // a line whose end was not there yet
  std::size_t lines_ = 0;
  bool behind_ = false;
  std::string damage_;
  replay::RecordLine line_;

  replay::RecordedRun run_;
  std::optional<replay::RecordLine> tick_, ending_;
  std::vector<Loss> losses_;
  replay::FindingHistory findings_;
  std::vector<replay::RecordedSetting> settings_;
};

}  // namespace loupe::view
