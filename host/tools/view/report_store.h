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

/// Makes reports from records on request, in a folder of this process that is deleted with it.
/// Any thread; one report is made at a time.
class ReportStore {
 public:
  /// Makes `folder`/report.html of the records; throws where it cannot.
  using Make = std::function<void(const std::vector<std::string>& records, const std::string& folder)>;

  /// Throws Error when there is no room for temporary files.
  explicit ReportStore(Make make);
  ~ReportStore();
  ReportStore(const ReportStore&) = delete;
  ReportStore& operator=(const ReportStore&) = delete;

  /// The report of these records, as a page; made again if one of them has changed. Throws what making throws.
  std::string page_of(const std::vector<std::filesystem::path>& records);
  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Report {
    std::vector<std::filesystem::path> records;
    std::vector<FileStamp> stamps;
    std::vector<std::uint32_t> states;  ///< flags_by_lock(): a run may die without another line
    std::filesystem::path folder;
  };

  Make make_;
  std::filesystem::path folder_;
  std::mutex mutex_;
  std::list<Report> reports_;  // the last one asked for first
  std::uint64_t count_ = 0;
};

/// A whole file, which is no link. Throws Error where it cannot be read, or is larger than a page can be.
std::string page_in(const std::filesystem::path& file);

}  // namespace loupe::view
