#pragma once

#include <loupe/files/older_epochs.h>
#include <loupe/visualizer.h>

#include <istream>
#include <string>

namespace loupe::csv {

constexpr const char* heading = "epoch,tag,layer,line,value,low,high,run,step,time\n";

// Rows with their line end, quoted as RFC 4180 says. A band's line is the names of its ends: "min..max".
// A name that a spreadsheet would compute, such as "=1+1" or "-σ..+σ", comes after a quote (').
// They end with `moment`, what all rows of a tick have in common.
std::string value_row(double epoch, const RowValue& value, const std::string& moment);
std::string range_row(double epoch, const RowRange& range, const std::string& moment);
/// The last three columns: the run's name, steps so far, and seconds since 1970; empty where nobody told.
std::string moment_fields(const std::string& run, const Tick& tick);

constexpr const char* finding_heading =
    "epoch,severity,state,rule,layer,parameter,message,advice,tag,source,value,threshold,"
    "first_step,last_step,first_epoch,last_epoch,count,id,caused_by,file,line\n";
/// A row of the findings' file; quoted and guarded as those of the values. A number that there is none of is empty.
std::string finding_row(double epoch, const loupe_finding& finding);

/// A ReadOldLine for these files. Nothing in them closes an epoch, so each row counts as whole.
bool read_row(std::istream& input, OldLine& line);

}  // namespace loupe::csv
