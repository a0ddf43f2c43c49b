#include "view/report_store.h"

#include <loupe/error.h>
#include <loupe/files/compression.h>
#include <loupe/files/descriptor.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "view/run_state.h"

namespace loupe::view {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_kept = 12;
constexpr off_t largest_page = off_t{512} << 20;

}  // namespace

std::string page_in(const fs::path& file) try {
  const Descriptor page(file, O_RDONLY | O_NOFOLLOW);
  const struct stat status = page.status();
  if (!S_ISREG(status.st_mode)) throw Error("'" + file.string() + "' is not a file");
  if (status.st_size > largest_page) throw Error("'" + file.string() + "' is too large for a browser");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(page.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw last_error();
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
} catch (const std::system_error& e) {
  throw Error("'" + file.string() + "' cannot be read: " + e.code().message());
}

ReportStore::ReportStore(Make make) : make_(std::move(make)) {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (error) parent = "/tmp";
  std::string name = (parent / "loupe-view-XXXXXX").string();
  // Creates a folder that only this user can read.
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error("no folder for reports can be created in '" + parent.string() + "': " + last_error().code().message() +
                "; set TMPDIR to one with room");
  }
  folder_ = name;
}

ReportStore::~ReportStore() {
  std::error_code no_matter;
  fs::remove_all(folder_, no_matter);
}

std::string ReportStore::page_of(const std::vector<fs::path>& records) {
  const std::lock_guard lock(mutex_);
  // Take the stamps before reading the records: text that comes meanwhile makes the report outdated.
  std::vector<FileStamp> stamps;
  std::vector<std::uint32_t> states;
  for (const fs::path& each : records) {
    stamps.push_back(FileStamp::of(text_file_at(each)));
    states.push_back(flags_by_lock(each.parent_path()));
  }
  const auto known =
      std::find_if(reports_.begin(), reports_.end(), [&](const Report& each) { return each.records == records; });
  if (known != reports_.end()) {
    reports_.splice(reports_.begin(), reports_, known);
  } else {
    reports_.push_front({records, {}, {}, folder_ / std::to_string(++count_)});
  }
  while (reports_.size() > most_kept) {
    std::error_code no_matter;
    fs::remove_all(reports_.back().folder, no_matter);
    reports_.pop_back();
  }
  Report& made = reports_.front();
  if (made.stamps != stamps || made.states != states) {
    std::vector<std::string> files;
    for (const fs::path& each : records) files.push_back(each.string());
    made.stamps.clear();
    make_(files, made.folder.string());
    made.stamps = std::move(stamps);
    made.states = std::move(states);
  }
  return page_in(made.folder / "report.html");
}

}  // namespace loupe::view
