#pragma once

#include <loupe/files/older_epochs.h>
#include <loupe/visualizer.h>

#include <istream>
#include <string>

namespace loupe::record {

/// The version of the format, written in every run line; readers refuse higher versions.
constexpr int format_version = 3;

// Each function makes one line of JSON with its line end. NaN and infinities are the strings "NaN", "Infinity",
// "-Infinity"; every other number reads back as the same double.
std::string run_line(const Run& run);
std::string model_line(const Model& model);
std::string tag_line(Tag tag);
// These append to a text, because a tick may have thousands of such lines.
void add_value_line(std::string& text, double epoch, const RowValue& value);
void add_range_line(std::string& text, double epoch, const RowRange& range);
void add_histogram_line(std::string& text, double epoch, Histogram histogram);
std::string hyperparameter_line(const Hyperparameter& told);
/// @param epoch the epoch in which it was reported
std::string finding_line(double epoch, loupe_finding finding);
std::string note_line(const Note& note);
/// Closes an epoch; without this line the epoch is incomplete.
std::string tick_line(const Tick& tick);
/// How the run ended; the last line of a record.
std::string end_line(const Ending& ending);

/// A ReadOldLine for records.
bool read_old_line(std::istream& input, OldLine& line);

}  // namespace loupe::record
