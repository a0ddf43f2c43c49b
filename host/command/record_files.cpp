#include "command/record_files.h"

#include <loupe/files/compression.h>

#include <algorithm>
#include <filesystem>

#include "command/usage_error.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;
constexpr const char* record_name = "record.jsonl";

std::vector<std::string> records_below(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const fs::path file = entry.path() / record_name;
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
    const fs::path own = fs::path(path) / record_name;
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
