#pragma once

#include <loupe/files/older_epochs.h>
#include <loupe/visualizer.h>

#include <istream>
#include <string>

namespace loupe::record {

/// The version of the format, in every run line; readers refuse a higher one.
constexpr int format_version = 3;

// Each makes one line of JSON with its line end. NaN and infinities are the strings "NaN", "Infinity", "-Infinity";
// every other number reads back as the same double.
std::string run_line(const Run& run);
std::string model_line(const Model& model);
std::string tag_line(Tag tag);
// A tick may have many thousands of these: they are added to a text.
void add_value_line(std::string& text, double epoch, const RowValue& value);
void add_range_line(std::string& text, double epoch, const RowRange& range);
void add_histogram_line(std::string& text, double epoch, Histogram histogram);
std::string hyperparameter_line(const Hyperparameter& told);
/// @param epoch in which it was reported
std::string finding_line(double epoch, loupe_finding finding);
std::string note_line(const Note& note);
/// Closes an epoch: without this line the epoch is not whole.
std::string tick_line(const Tick& tick);
/// How the run ended; the last line of a record.
std::string end_line(const Ending& ending);

/// A ReadOldLine for records.
bool read_old_line(std::istream& input, OldLine& line);

}  // namespace loupe::record
