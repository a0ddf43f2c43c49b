#include "command/run_names.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "config/launch.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::size_t last_parts(const fs::path& path, std::size_t count, std::string& text) {
  const std::vector<fs::path> parts(path.begin(), path.end());
  fs::path last;
  for (std::size_t i = parts.size() - std::min(count, parts.size()); i < parts.size(); ++i) last /= parts[i];
  text = last.string();
  return parts.size();
}

/// The shortest ends of the paths that are all different; the whole paths where some are equal.
Names distinct_ends(const std::vector<fs::path>& paths) {
  Names ends(paths.size());
  for (std::size_t count = 1;; ++count) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      longest = std::max(longest, last_parts(paths[i], count, ends[i]));
    }
    Names sorted = ends;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() || count >= longest) return ends;
  }
}

/// Records are mostly called the same, and their folders tell them apart.
std::vector<fs::path> telling_paths(const Names& files) {
  std::vector<fs::path> paths;
  bool same_file_name = true;
  for (const std::string& file : files) {
    paths.push_back(fs::absolute(file).lexically_normal());
    same_file_name = same_file_name && paths.back().filename() == paths.front().filename();
  }
  if (same_file_name) {
    for (fs::path& path : paths) {
      path = path.parent_path();
      if (path.filename() == merged_folder_name) path = path.parent_path();
    }
  }
  return paths;
}

/// The words of a name, each with the mark that ends it.
Names words_of(const std::string& name) {
  Names words(1);
  for (const char letter : name) {
    words.back() += letter;
    if (letter == ' ' || letter == '-' || letter == '_' || letter == '/') words.emplace_back();
  }
  return words;
}

}  // namespace

std::vector<std::string> distinct_names(const Names& names, const Names& files) {
  const bool all_equal = std::set<std::string>(names.begin(), names.end()).size() == 1;
  Names distinct = names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::size_t> equal;
    Names paths;
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (names[j] != names[i]) continue;
      equal.push_back(j);
      paths.push_back(files[j]);
    }
    if (equal.size() < 2 || equal.front() != i) continue;
    const Names ends = distinct_ends(telling_paths(paths));
    for (std::size_t j = 0; j < equal.size(); ++j) {
      std::string& own = distinct[equal[j]];
      own = all_equal ? ends[j] : own + " (" + ends[j] + ")";
    }
  }
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    // The same record twice, or a name that looks like another's with its folder.
    const std::string name = distinct[i];
    const auto earlier = distinct.begin() + static_cast<std::ptrdiff_t>(i);
    for (int count = 2; std::find(distinct.begin(), earlier, distinct[i]) != earlier; ++count) {
      distinct[i] = name + " " + std::to_string(count);
    }
  }
  return distinct;
}

std::vector<std::string> shortened_names(const Names& names) {
  if (names.size() < 2) return names;
  std::vector<Names> words;
  std::size_t fewest = words_of(names.front()).size();
  for (const std::string& name : names) {
    words.push_back(words_of(name));
    fewest = std::min(fewest, words.back().size());
  }
  const auto all_have = [&](const auto& word_in) {
    return std::all_of(words.begin(), words.end(),
                       [&](const Names& each) { return word_in(each) == word_in(words.front()); });
  };
  std::size_t first = 0, last = 0;  // words that go
  while (first + 1 < fewest && all_have([&](const Names& each) { return each[first]; })) ++first;
  while (first + last + 1 < fewest && all_have([&](const Names& each) { return each[each.size() - 1 - last]; })) ++last;
  Names shortened;
  for (const Names& each : words) {
    std::string name;
    for (std::size_t i = first; i + last < each.size(); ++i) name += each[i];
    if (last > 0) name.pop_back();  // the mark before what is gone
    shortened.push_back(name);
  }
  const std::set<std::string> different(shortened.begin(), shortened.end());
  return different.size() < names.size() || different.count("") != 0 ? names : shortened;
}

}  // namespace loupe
