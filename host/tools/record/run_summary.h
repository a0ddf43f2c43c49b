#pragma once

#include <loupe/detail/keyed_list.h>
#include <loupe/detail/run_state.h>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/reader/finding_history.h"
#include "record/reader/record_line.h"

namespace loupe::replay {

/// A line of numbers at the size of a word, in bounded memory however long the run is: neighbours are joined into the
/// highest of them, and values that are not finite are kept.
class SmallCurve {
 public:
  static constexpr std::size_t most_points = 64;

  /// A repeated epoch, for example of a resumed run, discards the later points.
  void take(double epoch, double value);
  /// The joined values in their order; the last is the latest value itself.
  std::vector<double> values() const;

 private:
  struct Point {
    double first_epoch, value;
    std::size_t count;  // the number of epochs
  };

  std::vector<Point> points_;
  std::size_t stride_ = 1;  // epochs to a point
  double latest_ = 0;
};

/// The results and the settings of a run, from the lines of its record. Its size is bounded, whatever the record holds.
/// One thread.
class RunSummary {
 public:
  static constexpr std::size_t most_losses = 100, most_settings = 10'000;
  /// A loss or a metric, by the means of its epochs.
  struct Loss {
    std::string name;
    bool is_metric = false;  ///< it is unknown whether low values are good
    double last = std::numeric_limits<double>::quiet_NaN();
    double last_epoch = 0;
    /// One of several trained losses, as of an actor and a critic: its lowest value is not its best, and is not kept.
    bool is_one_of_several = false;
    std::optional<std::pair<double, double>> lowest = {};  ///< the lowest finite value of whole epochs, and its epoch
    SmallCurve curve = {};
  };
  using SettingTexts = std::vector<std::pair<std::string, std::string>>;

  RunSummary() = default;
  explicit RunSummary(RecordedRun run) : run_(std::move(run)) { broken_.begin(run_.train_loss, run_.validation_loss); }

  /// Takes the record's next line. A run line means that the run goes on in a new process.
  /// @param text the line in the file. Throws Error if the line is not a valid run, model or hyperparameter.
  void take(const RecordLine& line, std::string_view text);

  const RecordedRun& run() const { return run_; }
  /// The last tick; nullopt without one.
  const std::optional<RecordLine>& tick() const { return tick_; }
  double last_epoch() const { return tick_ ? tick_->epoch : 0; }
  /// The end of the run, if it is the record's last line.
  const std::optional<RecordLine>& ending() const { return ending_; }
  bool has_values() const { return has_values_; }

  /// The losses, in the order of their first values.
  const std::vector<Loss>& losses() const { return losses_.items(); }
  /// Null if there is none, or if it is a metric.
  const Loss* loss(const std::string& name) const;
  /// The state of a run whose end is recorded.
  std::optional<StateOfRun> ended_as() const;

  FindingHistory& findings() { return findings_; }
  const FindingHistory& findings() const { return findings_; }

  /// Hyperparameters by name, in the order of their first values; a later value replaces an earlier one.
  const std::vector<RecordedSetting>& hyperparameters() const { return hyperparameters_.items(); }
  /// The settings of the configuration, by dotted names.
  SettingTexts configured() const;
  /// Models, then hyperparameters, then the settings of the configuration.
  SettingTexts settings() const;

 private:
  void take_loss(const RecordLine& line);

  RecordedRun run_;
  BrokenLoss broken_;
  std::optional<RecordLine> tick_, ending_;
  bool has_values_ = false;
  detail::KeyedList<Loss> losses_;
  FindingHistory findings_;
  detail::KeyedList<RecordedSetting> hyperparameters_;
  detail::KeyedList<std::pair<std::string, std::string>> models_;
};

/// "2 warnings (1 resolved): dead_units of conv1"; "no findings".
std::string worst_finding_of(const RunSummary& run);
/// A list with commas.
std::string text_of(const RecordedSetting& setting);

}  // namespace loupe::replay
