#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace loupe::view {

/// Tags and a note that people give a run: a small JSON object in its folder.
struct RunNotes {
  std::vector<std::string> tags;  ///< words, each once
  std::string note;
  bool archived = false;  ///< the list hides it unless it is asked for

  bool operator==(const RunNotes&) const = default;
};

/// Reads the notes file; returns empty notes if there is none. Throws Error if it is not a file of this kind.
RunNotes notes_in(const std::filesystem::path& file);

/// Sets the members that the JSON object `change` has, and returns the new notes; other members of the file do not
/// change. One call at a time for each file. Throws Refusal if the change is not allowed or cannot be written; the file
/// is then unchanged.
RunNotes change_notes(const std::filesystem::path& file, std::string_view change);

/// Adds them to a JSON object as "tags", "note" and "archived".
void put_notes(nlohmann::ordered_json& object, const RunNotes& notes);

}  // namespace loupe::view
