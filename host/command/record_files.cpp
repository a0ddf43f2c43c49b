#include "command/record_files.h"

#include <loupe/files/compression.h>

#include <algorithm>
#include <filesystem>

#include "command/usage_error.h"
#include "config/launch.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

/// The record of a folder; of a run of several processes that were merged, the one of all.
fs::path record_in(const fs::path& folder) {
  std::error_code none;
  const fs::path merged = folder / merged_folder_name / record_name;
  return fs::exists(text_file_at(merged), none) && fs::exists(text_file_at(folder / record_name), none)
             ? merged
             : folder / record_name;
}

std::vector<std::string> records_below(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const fs::path file = record_in(entry.path());
    if (fs::exists(text_file_at(file), none)) found.push_back(file.string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<std::string> record_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code none;
    const fs::path own = record_in(path);
    if (!fs::is_directory(path, none)) {
      files.push_back(path);
    } else if (fs::exists(text_file_at(own), none)) {
      files.push_back(own.string());
    } else {
      const std::vector<std::string> below = records_below(path);
      if (below.empty())
        throw UsageError("the folder '" + path + "' has no " + record_name +
                         ", nor has a folder in it; name the record "
                         "itself, or have one written by the visualizer 'record'");
      files.insert(files.end(), below.begin(), below.end());
    }
  }
  return files;
}

std::string record_file(const std::string& path) {
  const std::vector<std::string> files = record_files({path});
  if (files.size() > 1)
    throw UsageError("the folder '" + path + "' has the records of " + std::to_string(files.size()) +
                     " runs, such as '" + files.front() + "'; name one");
  return files.front();
}

}  // namespace loupe
