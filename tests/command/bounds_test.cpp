// Whatever a file contains, a command ends soon, with a message that says what is wrong and where.

#include <gtest/gtest.h>
#include <loupe/files/gzip.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "examples/process.h"
#include "paths.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

class OfAnybody : public testing::Test {
 protected:
  Finished loupe(const std::string& arguments, const std::string& before = "") const {
    return run(before + " " + LOUPE_COMMAND + " " + arguments, folder_);
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  /// The text of a record that a run wrote.
  std::string recorded() const { return text_of(record_run((folder_ / "recorded").string())); }
  static bool says(const Finished& finished, const std::string& what) {
    return finished.output.find(what) != std::string::npos;
  }
  static bool steers(const std::string& text) {
    return std::any_of(text.begin(), text.end(), [](char letter) {
      const auto byte = static_cast<unsigned char>(letter);
      return (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    });
  }

  const fs::path folder_ = fresh_folder();
};

TEST_F(OfAnybody, NamesTheFileAndNumberOfALineWithoutAnEnd) {
  const std::string whole = recorded(), line = "{\"kind\":\"run\",\"format\":3}\n", half(std::size_t{40} << 20, ' ');
  write("packed/record.jsonl.gz", gzip_member(line) + gzip_member(half) + gzip_member(half));
  write("plain/record.jsonl", line + half + half);
  write("baseline.json", half + half);
  for (const auto& [file, name] :
       {std::pair("packed", "packed/record.jsonl.gz"), std::pair("plain", "plain/record.jsonl")}) {
    for (const std::string& command :
         {std::string("replay ") + file + " --visualizer csv --out out", std::string("diagnose ") + file,
          "compare recorded " + std::string(file) + " --out with_" + file}) {
      EXPECT_ENDS(loupe(command), 2, std::string(name) + ":2: error: this line is longer than 64 MB");
    }
  }
  EXPECT_ENDS(loupe("diagnose recorded --baseline baseline.json"), 2,
              "baseline.json: error: the baseline cannot be read: it is larger than 64 MB");
}

TEST_F(OfAnybody, DoesNotWaitForAPipeUnlessItIsOpenAlready) {
  recorded();
  fs::create_directories(folder_ / "run");
  fs::create_directories(folder_ / "incident-1");
  for (const char* name : {"run/record.jsonl", "pipe", "incident-1/about.json"})
    ASSERT_EQ(::mkfifo((folder_ / name).c_str(), 0600), 0);
  for (const char* command :
       {"replay run --visualizer csv", "diagnose run", "compare recorded run --out out", "learn run --out good.json",
        "replay pipe --visualizer csv", "compare --port pipe pipe", "diagnose recorded --baseline pipe",
        "diagnose recorded --baseline-findings pipe", "validate pipe", "run --config pipe true", "replay incident-1"}) {
    EXPECT_ENDS(loupe(command, "timeout 20"), 2, "it is a pipe or a device, not a file");
  }
  EXPECT_EQ(loupe("run ./pipe", "timeout 20").exit_code, 126);
  EXPECT_EQ(loupe("diagnose /dev/stdin", "cat recorded/record.jsonl | timeout 20").exit_code, 0);
}

TEST_F(OfAnybody, RefusesJsonThatTakesAHundredTimesItsSizeInMemory) {
  std::string wide = "[";
  for (int i = 0; i < 2'100'000; ++i) wide += "{},";
  wide += "0]";
  write("run.jsonl", "{\"kind\":\"run\",\"format\":3,\"x\":" + wide + "}\n");
  write("prints.jsonl", "{\"kind\":\"fingerprint\",\"format\":1,\"x\":" + wide + "}\n");
  write("baseline.json", wide);
  write("incident-1/about.json", wide);
  recorded();
  for (const char* command :
       {"diagnose run.jsonl", "compare --port prints.jsonl prints.jsonl", "replay incident-1",
        "diagnose recorded --baseline baseline.json", "diagnose recorded --baseline-findings baseline.json"}) {
    EXPECT_ENDS(loupe(command), 2, "more values than 4000000");
  }
}

TEST_F(OfAnybody, TextsOfFilesAndTheirNamesCannotControlTheTerminal) {
  const std::string text = recorded();
  const std::string evil = "\x1b]0;title\x07\x1b[31m";
  write("kind.jsonl",
        "{\"kind\":\"run\",\"format\":3,\"name\":\"\\u001b[31m\"}\n{\"kind\":\"\\u001b]0;x\\u0007\",\"epoch\":1}\n");
  write("a.yaml", "\"\\e]0;x\\a\": 1\n");
  write(
      "prints.jsonl",
      "{\"kind\":\"fingerprint\",\"format\":1,\"language\":\"C++\",\"libtorch\":\"\\u001b[31m\"}\n"
      "{\"kind\":\"module\",\"name\":\"\\u001b[31mfc\",\"type\":\"Linear\",\"settings\":\"\",\"functional\":false}\n");
  write("others.jsonl",
        "{\"kind\":\"fingerprint\",\"format\":1,\"language\":\"C++\",\"libtorch\":\"2\"}\n"
        "{\"kind\":\"module\",\"name\":\"\\u001b]0;t\\u0007fc\",\"type\":\"Conv\",\"settings\":\"\",\"functional\":"
        "false}\n");
  write(evil + "/record.jsonl", text);
  const std::string named = "\"$(printf '\\033]0;title\\007\\033[31m')\"";
  for (const std::string& command :
       {std::string("diagnose kind.jsonl"), std::string("replay kind.jsonl --visualizer csv --out out"),
        std::string("compare recorded kind.jsonl --out out"), std::string("validate a.yaml"),
        std::string("compare --port prints.jsonl others.jsonl"), "diagnose " + named, "diagnose --json " + named,
        "replay " + named + "x --visualizer csv", "replay " + named + " --visualizer csv --out " + named,
        "check " + named, "describe " + named, "list --plugins " + named, "run ./" + named, "explain " + named, named,
        "view " + named + "x", "merge " + named, "learn " + named + " --out " + named}) {
    const Finished finished = loupe(command, "timeout 20");
    EXPECT_FALSE(steers(finished.output)) << command << ": " << finished.output;
    EXPECT_NE(finished.output, "") << command;
  }
}

TEST_F(OfAnybody, TheCommandDoesNotReplaceAPreloadedAllocator) {
  const Finished exported =
      run("nm -D --defined-only " + LOUPE_COMMAND + " | grep -wE 'malloc|calloc|realloc|free'", folder_);
  EXPECT_EQ(exported.output, "") << "memory of a preloaded allocator would be freed by another";
}

TEST_F(OfAnybody, AProgramInAFolderThatWasRemovedRunsUnwatched) {
  const std::string in_it = "mkdir gone && cd gone && rmdir ../gone && ";
  const Finished finished = loupe("run sh -c 'echo it ran; exit 3'", in_it);
  EXPECT_EQ(finished.exit_code, 3) << finished.output;
  EXPECT_TRUE(says(finished, "it ran\n")) << finished.output;
  EXPECT_TRUE(says(finished, "the working folder, which no longer exists (--out takes another); it runs unwatched"))
      << finished.output;
  EXPECT_EQ(loupe("run --require sh -c 'echo it ran'", in_it).exit_code, 2);
  const Finished elsewhere = loupe("run --out " + folder_.string() + " sh -c 'exit 3'", in_it);
  EXPECT_EQ(elsewhere.exit_code, 3);
  EXPECT_FALSE(says(elsewhere, "unwatched")) << elsewhere.output;
}

}  // namespace
}  // namespace loupe::test
