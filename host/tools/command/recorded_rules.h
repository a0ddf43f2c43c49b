#pragma once

#include <loupe/finding.h>

#include <memory>
#include <string>
#include <vector>

#include "record/reader/record_line.h"

namespace loupe {

/// Judges a past run by the rules of the lens `health`, where the values of its record suffice, with the thresholds
/// that the run's configuration gave the lens, or its defaults.
class RecordedRules {
 public:
  explicit RecordedRules(const replay::RecordedRun& run);
  ~RecordedRules();
  RecordedRules(const RecordedRules&) = delete;
  RecordedRules& operator=(const RecordedRules&) = delete;

  /// The record's next line; `text` is as it stands in the file.
  void take(const replay::RecordLine& line, const std::string& text);
  /// Takes the findings so far, as lines of the kind `finding`, in the order of the record.
  std::vector<replay::RecordLine> take_findings();
  /// A finding of the tick `tick`, as such a line.
  static replay::RecordLine line_of(const Finding& found, const replay::RecordLine& tick);
  /// Whether the lens watched the run, so that rules that need more than a record were judged, too.
  bool was_watched() const;
  /// The option `patience` of the lens: windows in a row.
  int patience() const;
  /// The rules that were judged, and those that this record has too little for.
  std::vector<std::string> judged() const;
  std::vector<std::string> not_judged() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loupe
