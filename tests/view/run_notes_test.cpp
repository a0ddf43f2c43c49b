// Notes and tags that people add to a run, kept in the run's folder.

#include "view/run_notes.h"

#include <gtest/gtest.h>
#include <loupe/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "examples/process.h"
#include "made_records.h"
#include "view/http.h"
#include "view/runs_folder.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using view::change_notes;
using view::notes_in;
using view::RunNotes;

/// The status and message of a refused change; the file stays unchanged.
std::string refusal(const fs::path& file, const std::string& change) {
  const std::string before = text_of(file);
  try {
    change_notes(file, change);
  } catch (const view::Refusal& refusal) {
    EXPECT_EQ(text_of(file), before);
    return std::to_string(refusal.status) + ' ' + refusal.why;
  }
  ADD_FAILURE() << "accepted: " << change;
  return "";
}

TEST(RunNotes, AreChangedMemberByMemberAndReadBack) {
  const fs::path file = fresh_folder() / "notes.json";
  EXPECT_EQ(notes_in(file), RunNotes()) << "there is no file yet";
  EXPECT_EQ(change_notes(file, R"({"tags": ["baseline", "ü<b>", "baseline"], "note": "a\n\"b\""})"),
            (RunNotes{{"baseline", "ü<b>"}, "a\n\"b\"", false}));
  change_notes(file, R"({"archived": true})");
  EXPECT_EQ(notes_in(file), (RunNotes{{"baseline", "ü<b>"}, "a\n\"b\"", true}));
  change_notes(file, R"({"tags": [], "note": ""})");
  EXPECT_EQ(notes_in(file), (RunNotes{{}, "", true}));
  // No temporary file is left beside the replaced file.
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()), 1);
}

TEST(RunNotes, KeepUnknownMembersOfTheFile) {
  const fs::path file = put(fresh_folder() / "notes.json", R"({"mine": [1], "note": "by hand"})");
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  change_notes(file, R"({"tags": ["a"]})");
  EXPECT_EQ(Json::parse(text_of(file)),
            Json::parse(R"({"mine": [1], "note": "by hand", "tags": ["a"], "archived": false})"));
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0640));
}

TEST(RunNotes, RefuseInvalidChanges) {
  const fs::path file = put(fresh_folder() / "notes.json", R"({"note": "before"})");
  std::string many;
  for (int i = 0; i < 21; ++i) many += (i > 0 ? ",\"" : "\"") + std::to_string(i) + '"';
  for (const std::string& wrong : std::vector<std::string>{
           "", "[]", "1", "{", "{\"note\": \"\xff\"}", R"({"tags": "a"})", R"({"tags": [1]})", R"({"tags": [""]})",
           R"({"tags": ["a b"]})", R"({"tags": ["a,b"]})", R"({"tags": ["a\u0000"]})",
           "{\"tags\": [\"" + std::string(65, 'x') + "\"]}", "{\"tags\": [" + many + "]}", R"({"note": null})",
           "{\"note\": \"" + std::string(4097, 'x') + "\"}", R"({"archived": "yes"})", R"({"other": 1})",
           std::string(30000, '[')}) {
    EXPECT_EQ(refusal(file, wrong).find("400 this cannot be stored for a run: "), 0u) << wrong;
  }
  EXPECT_EQ(refusal(file, R"({"tags": ["a b"]})"),
            "400 this cannot be stored for a run: a tag is a word of at most 64 bytes, without spaces and commas");
}

TEST(RunNotes, DoNotChangeAFileOfAnotherFormat) {
  const fs::path root = fresh_folder(), file = root / "notes.json";
  for (const std::string& wrong : {std::string("my notes"), std::string(R"({"tags": 1})"), std::string(70000, ' ')}) {
    put(file, wrong);
    EXPECT_THROW(notes_in(file), Error);
    const std::string why = refusal(file, R"({"note": "x"})");
    EXPECT_EQ(why.substr(0, 4), "409 ");
    EXPECT_NE(why.find("repair or remove it"), std::string::npos) << why;
  }
  // Links are neither read nor written, and no request waits for the other end of a pipe.
  fs::remove(file);
  put(root / "elsewhere", R"({"note": "theirs"})");
  fs::create_symlink(root / "elsewhere", file);
  EXPECT_EQ(refusal(file, R"({"note": "x"})").substr(0, 4), "409 ");
  EXPECT_EQ(text_of(root / "elsewhere"), R"({"note": "theirs"})");
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0666), 0);
  EXPECT_THROW(notes_in(file), Error);
}

TEST(RunNotes, DoNotRecreateARemovedFolder) {
  const fs::path file = fresh_folder() / "gone/notes.json";
  EXPECT_EQ(refusal(file, R"({"note": "x"})"), "404 the folder of this run was deleted");
  EXPECT_FALSE(fs::exists(file.parent_path()));
}

TEST(RunNotes, AreRefusedInAReadOnlyFolder) {
  const fs::path root = fresh_folder(), file = put(root / "notes.json", "{}");
  fs::permissions(root, fs::perms(0555));
  // Root may write despite the permissions, so become another user.
  constexpr uid_t nobody = 65534;
  const uid_t user = ::geteuid();
  if (user == 0) {
    ASSERT_EQ(::seteuid(nobody), 0);
  }
  const std::string why = refusal(file, R"({"note": "x"})");
  if (user == 0) {
    ASSERT_EQ(::seteuid(user), 0);
  }
  fs::permissions(root, fs::perms(0755));
  EXPECT_EQ(why, "403 '" + file.string() +
                     "' cannot be written: Permission denied; tags and notes need a folder that you may write to");
}

TEST(RunNotes, OfMergedProcessesAreWhereMergingKeepsThem) {
  const view::FoundRun run{"/runs/a", "a"}, merged{"/runs/a/merged", "a", true}, named_so{"/runs/merged", "merged"};
  EXPECT_EQ(run.notes(), "/runs/a/notes.json");
  EXPECT_EQ(merged.notes(), "/runs/a/notes.json");
  EXPECT_EQ(named_so.notes(), "/runs/merged/notes.json");
}

}  // namespace
}  // namespace loupe::test
