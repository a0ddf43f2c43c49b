#pragma once

#include <string>
#include <vector>

namespace loupe {

/// What `record` calls its file.
inline constexpr const char* record_name = "record.jsonl";

/// The records that paths stand for: a file is one, a folder has its `record.jsonl`, in `merged` where `loupe merge`
/// put that of all processes there, or else those of the folders in it, in the order of their names; also those that
/// are compressed by now, under the name that they had before. Throws UsageError for a folder without any.
std::vector<std::string> record_files(const std::vector<std::string>& paths);
/// The same of one path. Throws UsageError where it stands for several.
std::string record_file(const std::string& path);

}  // namespace loupe
