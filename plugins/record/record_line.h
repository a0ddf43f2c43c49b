#ifndef LOUPE_RECORD_RECORD_LINE_H
#define LOUPE_RECORD_RECORD_LINE_H

#include <loupe/files/older_epochs.h>
#include <loupe/visualizer.h>

#include <istream>
#include <string>

namespace loupe::record {

/// The version of the format, in every run line; readers refuse a higher one.
constexpr int format_version = 2;

// Each makes one line of JSON with its line end. NaN and infinities are the strings "NaN", "Infinity", "-Infinity";
// every other number reads back as the same double.
std::string run_line(const Run& run);
std::string model_line(const Model& model);
std::string tag_line(const Tag& tag);
std::string value_line(double epoch, const Value& value);
std::string range_line(double epoch, const Range& range);
std::string histogram_line(double epoch, const Histogram& histogram);
/// Closes an epoch: without this line the epoch is not whole. `time` is ISO 8601, UTC.
std::string tick_line(double epoch, const std::string& time);

/// A ReadOldLine for records.
bool read_line(std::istream& input, OldLine& line);

}  // namespace loupe::record

#endif
