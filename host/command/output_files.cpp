#include "command/output_files.h"

#include <loupe/files/compression.h>
#include <loupe/options.h>
#include <sys/stat.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <system_error>

#include "command/usage_error.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

/// A name may be a link, which does not change.
FileStamp stamp_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? FileStamp::of(status) : FileStamp();
}

/// What of a path is there: itself, and the files beside it whose names have something more in the middle or at the
/// end.
std::set<fs::path> found_at(const fs::path& path) {
  std::set<fs::path> found;
  std::error_code none;
  if (fs::exists(path, none)) found.insert(path);
  const std::string name = path.filename().string(), stem = path.stem().string() + ".", end = path.extension().string();
  const fs::path folder = path.parent_path();
  for (const fs::directory_entry& each : fs::directory_iterator(folder.empty() ? fs::path(".") : folder, none)) {
    const std::string other = each.path().filename().string();
    const bool goes_on = other.rfind(name + ".", 0) == 0;
    const bool is_longer = !end.empty() && other.size() > name.size() && other.rfind(stem, 0) == 0 &&
                           other.compare(other.size() - end.size(), end.size(), end) == 0;
    if ((goes_on || is_longer) && each.is_regular_file(none)) found.insert(folder / other);
  }
  return found;
}

/// Whether a file is what goes by that path, under whatever name.
bool is_at(const fs::path& path, const fs::path& file) {
  std::error_code none;
  if (fs::weakly_canonical(path, none) == fs::weakly_canonical(file, none)) return true;
  const std::set<fs::path> found = found_at(path);
  return std::any_of(found.begin(), found.end(),
                     [&](const fs::path& each) { return fs::equivalent(each, file, none); });
}

}  // namespace

void add_force(CLI::App& command, bool& force) {
  command.add_flag("--force", force, "Overwrite files that are there already");
}

void keep_existing(const fs::path& path, const std::string& command, bool force) {
  std::error_code none;
  if (!force && fs::is_regular_file(path, none))
    throw UsageError("'" + path.string() + "' is there already, maybe of an earlier 'loupe " + command +
                     "'; overwrite it with --force, or write elsewhere with --out");
}

void OutputFiles::expect(const ComponentConfig& visualizer, const fs::path& folder,
                         const std::vector<std::string>& records) {
  const Options options(visualizer.options->get());
  if (!options.has("path")) return;
  const fs::path path = (folder / options.get<std::string>("path")).lexically_normal();
  for (const std::string& record : records) {
    if (!is_at(path, record) && !is_at(path, text_file_at(record))) continue;
    throw UsageError("the visualizer '" + visualizer.name + "' would write over the record '" + record +
                     "' itself; choose another folder with --out");
  }
  paths_.push_back(path);
  std::error_code none;
  if (fs::is_directory(path, none) && !fs::is_empty(path, none))
    throw UsageError("the folder '" + path.string() + "' has files already, maybe of an earlier 'loupe " + command_ +
                     "', which new ones would mix with; remove it, or write elsewhere with --out");
  for (const fs::path& each : found_at(path)) {
    keep_existing(each, command_, force_);
    before_[each] = stamp_of(each);
  }
}

void OutputFiles::tell(std::ostream& out) const {
  for (const fs::path& path : paths_) {
    for (const fs::path& each : found_at(path)) {
      std::error_code none;
      const auto known = before_.find(each);
      if (known != before_.end() && known->second == stamp_of(each)) continue;
      out << "wrote " << each.string() << (fs::is_directory(each, none) ? "/" : "") << "\n";
    }
  }
}

}  // namespace loupe
