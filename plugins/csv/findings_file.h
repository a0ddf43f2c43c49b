#pragma once

#include <loupe/detail/owned.h>
#include <loupe/files/epoch_file.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace loupe::csv {

/// The findings, in a file beside that of the values: "run.csv" has "run.findings.csv". There is none while nothing was
/// found, nor beside what is no file, such as a pipe.
class FindingsFile {
 public:
  /// @param values the path of the values' file
  FindingsFile(const OutputPath& values, const std::string& path, bool sync, const Host& host);

  void begin(const Run& run);
  void begin_tick(const Tick& tick);
  void finding(const loupe_finding& finding);
  /// Each throws Error when the file cannot be written.
  void end_tick();
  void flush();
  void end();

 private:
  void write(double epoch);

  OutputPath values_, path_;
  Host host_;
  EpochFile file_;
  std::unique_ptr<detail::Owned<loupe_run>> waiting_run_;  // until there is something to write
  std::filesystem::path waiting_path_;                     // a link laid later is not followed
  bool takes_any_ = false, has_earlier_ = false, in_tick_ = false, ticked_ = false;
  double epoch_ = 0, last_epoch_ = 0;
  std::string text_;
};

}  // namespace loupe::csv
