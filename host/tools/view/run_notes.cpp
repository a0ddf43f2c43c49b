#include "view/run_notes.h"

#include <loupe/error.h>
#include <loupe/files/readable.h>
#include <loupe/files/replacement.h>
#include <loupe/internal/bounds.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "view/http.h"

namespace loupe::view {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t largest_file = 65536;
constexpr std::size_t most_tags = 20, longest_tag = 64, longest_note = 4096;

bool is_tag(std::string_view text) {
  const auto is_allowed = [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return byte > ' ' && byte != 0x7f && byte != ',';
  };
  return !text.empty() && text.size() <= longest_tag && std::all_of(text.begin(), text.end(), is_allowed);
}

Json object_in(std::string_view text) {
  Json object = parse_bounded<Json>(text, nullptr, false);
  if (!object.is_object()) throw Error("it is not a JSON object");
  return object;
}

std::vector<std::string> tags_in(const Json& told) {
  std::vector<std::string> tags;
  if (!told.is_array()) throw Error("the tags are not an array");
  for (const Json& each : told) {
    if (!each.is_string() || !is_tag(each.get_ref<const std::string&>())) {
      throw Error("a tag is a word of at most " + std::to_string(longest_tag) + " bytes, without spaces and commas");
    }
    const auto& tag = each.get_ref<const std::string&>();
    if (std::find(tags.begin(), tags.end(), tag) == tags.end()) tags.push_back(tag);
  }
  if (tags.size() > most_tags) throw Error("a run has at most " + std::to_string(most_tags) + " tags");
  return tags;
}

/// Takes the members of the object, ignoring unknown ones. Throws Error.
void take(const Json& object, RunNotes& notes) {
  if (const auto tags = object.find("tags"); tags != object.end()) notes.tags = tags_in(*tags);
  if (const auto note = object.find("note"); note != object.end()) {
    if (!note->is_string() || note->get_ref<const std::string&>().size() > longest_note) {
      throw Error("the note is a text of at most " + std::to_string(longest_note) + " bytes");
    }
    notes.note = note->get<std::string>();
  }
  if (const auto archived = object.find("archived"); archived != object.end()) {
    if (!archived->is_boolean()) throw Error("'archived' is true or false");
    notes.archived = archived->get<bool>();
  }
}

/// Returns an empty object if there is no file. Any user may have made it, so links are not followed and its size is
/// limited.
Json file_of(const fs::path& file) try {
  const Descriptor opened(file, O_RDONLY | O_NOFOLLOW);
  const struct stat status = opened.status();
  if (!S_ISREG(status.st_mode)) throw Error("it is not a file");
  std::string text;
  while (text.size() <= largest_file && read_piece(opened.get(), text, largest_file)) {
  }
  if (text.size() > largest_file) throw Error("it has more than " + std::to_string(largest_file) + " bytes");
  return object_in(text);
} catch (const std::system_error& e) {
  if (e.code() == std::errc::no_such_file_or_directory) return Json::object();
  throw Error(reason_of(e));
}

void write(const fs::path& file, const Json& whole) {
  Replacement replacement(file);
  replacement.write(whole.dump(2) + "\n");
  replacement.commit(true);
}

}  // namespace

RunNotes notes_in(const fs::path& file) {
  RunNotes notes;
  take(file_of(file), notes);
  return notes;
}

RunNotes change_notes(const fs::path& file, std::string_view change) {
  RunNotes notes;
  Json whole;
  try {
    whole = file_of(file);
    take(whole, notes);
  } catch (const Error& e) {
    throw Refusal{409, "'" + file.string() + "' cannot be read: " + e.what() + "; repair or remove it"};
  }
  try {
    const Json wanted = object_in(change);
    for (const auto& [name, value] : wanted.items()) {
      if (name != "tags" && name != "note" && name != "archived") {
        throw Error("'" + name + "' is unknown; only tags, note and archived can be changed");
      }
    }
    take(wanted, notes);
  } catch (const Error& e) {
    throw Refusal{400, std::string("this cannot be stored for a run: ") + e.what()};
  }
  put_notes(whole, notes);
  // Do not create the folder again if it was removed meanwhile.
  std::error_code no_matter;
  if (!fs::is_directory(file.parent_path(), no_matter)) throw Refusal{404, "the folder of this run was deleted"};
  try {
    write(file, whole);
  } catch (const std::system_error& e) {
    throw Refusal{403, "'" + file.string() + "' cannot be written: " + reason_of(e) +
                           "; tags and notes need a folder that you may write to"};
  }
  return notes;
}

void put_notes(Json& object, const RunNotes& notes) {
  object["tags"] = notes.tags;
  object["note"] = notes.note;
  object["archived"] = notes.archived;
}

}  // namespace loupe::view
