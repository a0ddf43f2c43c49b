#include "csv/findings_file.h"

#include <loupe/files/output_path.h>

#include <cmath>
#include <system_error>
#include <utility>

#include "csv/csv_row.h"

namespace loupe::csv {
namespace {

namespace fs = std::filesystem;

std::string beside(const std::string& values) {
  fs::path path(values);
  const std::string extension = path.extension().string();
  return path.replace_extension(".findings" + (extension.empty() ? ".csv" : extension)).string();
}

}  // namespace

FindingsFile::FindingsFile(const OutputPath& values, const std::string& path, bool sync, const Host& host)
    : values_(values), path_(beside(path)), host_(host), file_(OutputPath(beside(path)), sync, &read_row, host) {}

void FindingsFile::begin(const Run& run) {
  std::error_code no_matter;
  const auto kind = fs::status(values_.in(run), no_matter).type();
  takes_any_ = kind == fs::file_type::regular || kind == fs::file_type::not_found;
  waiting_run_ = std::make_unique<detail::Owned<loupe_run>>(run);
  waiting_path_ = path_.in(run);
  in_tick_ = ticked_ = has_earlier_ = false;
  text_.clear();
  if (!takes_any_ || !fs::is_regular_file(waiting_path_, no_matter)) return;
  if ((run.flags & LOUPE_RUN_RESUMED) != 0) {
    has_earlier_ = true;
    return;
  }
  // A healthy run writes none, and must not seem to have what an earlier one found.
  try {
    keep_older(waiting_path_, run.start_time);
  } catch (const std::system_error& reason) {
    host_.warn("'" + waiting_path_.string() +
               "' is of an earlier run and cannot be moved away: " + reason.code().message());
  }
}

void FindingsFile::begin_tick(const Tick& tick) {
  epoch_ = tick.at.epoch;
  in_tick_ = true;
}

void FindingsFile::finding(const loupe_finding& finding) {
  if (!takes_any_) return;
  last_epoch_ = in_tick_ || !(finding.last_epoch > 0) ? epoch_ : finding.last_epoch;
  text_ += finding_row(last_epoch_, finding);
}

void FindingsFile::end_tick() {
  in_tick_ = false;
  ticked_ = true;
  // Of what a run that goes on trains again, the earlier findings give way even where there is none now.
  if (!text_.empty() || std::exchange(has_earlier_, false)) write(epoch_);
}

void FindingsFile::flush() {
  // Without a tick nobody knows from which epoch a run goes on.
  if (!text_.empty() && !in_tick_ && (ticked_ || !has_earlier_)) write(last_epoch_);
}

void FindingsFile::end() {
  if (!text_.empty()) write(ticked_ || !has_earlier_ ? last_epoch_ : INFINITY);
  file_.end({finding_heading, "", ""});
}

void FindingsFile::write(double epoch) {
  if (const auto run = std::exchange(waiting_run_, nullptr)) file_.begin(run->get(), waiting_path_);
  has_earlier_ = false;
  file_.write(epoch, std::exchange(text_, ""), {finding_heading, "", ""});
}

}  // namespace loupe::csv
