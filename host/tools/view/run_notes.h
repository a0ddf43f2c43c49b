#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace loupe::view {

/// What people say of a run: a small JSON object in its folder.
struct RunNotes {
  std::vector<std::string> tags;  ///< words, each once
  std::string note;
  bool archived = false;  ///< the list hides it unless it is asked for

  bool operator==(const RunNotes&) const = default;
};

/// What the file says; nothing without one. Throws Error where it is no file of this kind.
RunNotes notes_in(const std::filesystem::path& file);

/// Changes the members that the JSON object `change` has, and returns what the file says then; other members of the
/// file stay. One call at a time for each file. Throws Refusal where the change is not allowed or cannot be written,
/// and the file is as it was.
RunNotes change_notes(const std::filesystem::path& file, std::string_view change);

/// Adds them to a JSON object as "tags", "note" and "archived".
void put_notes(nlohmann::ordered_json& object, const RunNotes& notes);

}  // namespace loupe::view
