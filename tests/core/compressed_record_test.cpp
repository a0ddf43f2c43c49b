// What the host does with a record that is compressed by now, whose name is the one that it had before.

#include <gtest/gtest.h>
#include <loupe/files/gzip.h>

#include "core/last_words.h"
#include "core/run_folder.h"
#include "folder.h"
#include "record/resumed_history.h"
#include "told.h"

namespace loupe {
namespace {

std::string readable(const std::string& file) {
  TextInput input(file);
  std::string text;
  for (std::string line; std::getline(input, line);) text += line + "\n";
  EXPECT_EQ(input.fault(), "");
  return text;
}

TEST(CompressedRecordOfARun, TakesTheLastWordsAsAMemberOfItsOwn) {
  const Folder folder;
  folder.write("record.jsonl.gz", gzip_member("{\"kind\":\"tick\",\"epoch\":7}\n"));
  LastWords words;
  words.prepare(folder.path("record.jsonl"), 7);
  words.set_step(70);
  LastWords::speak("failed", "it was a \"signal\"");
  const std::string text = readable(folder.path("record.jsonl"));
  EXPECT_EQ(text.rfind("{\"kind\":\"tick\",\"epoch\":7}\n{\"kind\":\"end\",\"epoch\":7,\"how\":\"failed\"", 0), 0u)
      << text;
  EXPECT_NE(text.find(R"("step":70,"message":"it was a \"signal\""})"), std::string::npos) << text;
  EXPECT_FALSE(std::filesystem::exists(folder.path("record.jsonl")));
  EXPECT_EQ(std::system(("gzip -t '" + folder.path("record.jsonl.gz") + "'").c_str()), 0);
}

TEST(CompressedRecordOfARun, IsKeptWhereALaterRunTakesTheFolder) {
  const Folder folder;
  const Told told;
  folder.write("run/record.jsonl.gz", "the earlier run's");
  folder.write("run/record.jsonl", "its beginning");
  RunFolder later;
  later.take(folder.path("run"));
  EXPECT_TRUE(later.keep_older({"record.jsonl"}));
  for (const char* name : {"record.jsonl", "record.jsonl.gz"}) {
    EXPECT_FALSE(std::filesystem::exists(folder.path("run") + "/" + name));
    EXPECT_TRUE(std::filesystem::exists(folder.path("run/older-1") + "/" + name));
  }
}

TEST(CompressedRecordOfARun, SaysWhereARunGoesOn) {
  const Folder folder;
  const std::string lines =
      "{\"kind\":\"run\",\"format\":3,\"name\":\"a\",\"config\":\"attach: {every: 2}\"}\n"
      "{\"kind\":\"tick\",\"epoch\":7,\"step\":1}\n";
  const std::string later = gzip_member("{\"kind\":\"tick\",\"epoch\":8,\"step\":1}\n");
  folder.write("record.jsonl.gz", gzip_member(lines) + later.substr(0, later.size() - 1));
  const auto run = EarlierRun::read(folder.path("record.jsonl"));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->last_epoch, 7);
  EXPECT_EQ(run->config, "attach: {every: 2}");
}

}  // namespace
}  // namespace loupe
