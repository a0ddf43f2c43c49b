#ifndef LOUPE_CSV_CSV_ROW_H
#define LOUPE_CSV_CSV_ROW_H

#include <loupe/visualizer.h>

#include <istream>
#include <string>

#include "common/older_epochs.h"

namespace loupe::csv {

constexpr const char* heading = "epoch,tag,layer,line,value,low,high\n";

// Rows with their line end, quoted as RFC 4180 says. A band's line is the names of its ends: "min..max".
std::string value_row(double epoch, const Value& value);
std::string range_row(double epoch, const Range& range);

/// A ReadOldLine for these files. Nothing in them closes an epoch, so each row counts as whole.
bool read_row(std::istream& input, OldLine& line);

}  // namespace loupe::csv

#endif
