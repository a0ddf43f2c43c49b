#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "record/file_stamp.h"

namespace loupe::view {

/// Makes reports from records on request, in a temporary folder that is deleted with this object.
/// Any thread; only one report is made at a time.
class ReportStore {
 public:
  /// Makes `folder`/report.html of the records; throws if that fails.
  using Make = std::function<void(const std::vector<std::string>& records, const std::string& folder)>;

  /// Throws Error if the temporary folder cannot be made.
  explicit ReportStore(Make make);
  ~ReportStore();
  ReportStore(const ReportStore&) = delete;
  ReportStore& operator=(const ReportStore&) = delete;

  /// The report of these records, as a page; makes it again if one of them has changed. Throws what `make` throws.
  std::string page_of(const std::vector<std::filesystem::path>& records);
  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Report {
    std::vector<std::filesystem::path> records;
    std::vector<FileStamp> stamps;
    std::vector<std::uint32_t> states;  ///< flags_by_lock(); a run may die without writing another line
    std::filesystem::path folder;
  };

  Make make_;
  std::filesystem::path folder_;
  std::mutex mutex_;
  std::list<Report> reports_;  // the last requested report first
  std::uint64_t count_ = 0;
};

/// Reads a whole file that is not a link. Throws Error if it cannot be read, or is larger than a page can be.
std::string page_in(const std::filesystem::path& file);

}  // namespace loupe::view
