// Commands read a compressed record as they read the uncompressed one.

#include <gtest/gtest.h>
#include <loupe/files/gzip.h>

#include "examples/process.h"
#include "paths.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

Finished loupe(const std::string& arguments, const fs::path& folder) {
  return run(LOUPE_COMMAND + " " + arguments, folder);
}

/// The text of a record, split into one member per epoch; the first member includes the lines before it.
std::vector<std::string> members_of(const std::string& record) {
  std::vector<std::string> members;
  std::string epoch;
  for (const std::string& line : lines_of(record)) {
    epoch += line + "\n";
    if (line.rfind(R"({"kind":"tick")", 0) != 0) continue;
    members.push_back(gzip_member(epoch));
    epoch.clear();
  }
  if (!epoch.empty()) members.push_back(gzip_member(epoch));
  return members;
}
std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

/// The same run twice: in the folder `plain`, and compressed in the folder `packed`.
class CompressedRecord : public testing::Test {
 protected:
  void SetUp() override {
    RunToRecord sick;
    sick.healthy = false;
    fs::create_directory(folder_ / "packed");
    record_run(folder_ / "plain", sick);
    members_ = members_of(read(folder_ / "plain/record.jsonl"));
    pack(members_);
  }
  void pack(const std::vector<std::string>& members) { write(folder_ / "packed/record.jsonl.gz", joined(members)); }
  const fs::path folder_ = fresh_folder();
  std::vector<std::string> members_;
};

TEST_F(CompressedRecord, IsReplayedAsBefore) {
  for (const char* name : {"plain", "packed"}) {
    const Finished finished =
        loupe("replay " + std::string(name) + " --visualizer record --out again_" + name, folder_);
    EXPECT_EQ(finished.exit_code, 0) << finished.output;
  }
  EXPECT_EQ(read(folder_ / "again_packed/record.jsonl"), read(folder_ / "again_plain/record.jsonl"));
}

TEST_F(CompressedRecord, IsNotOverwrittenByABaseline) {
  EXPECT_ENDS(loupe("learn plain --out packed/record.jsonl", folder_), 2,
              "'packed/record.jsonl' would overwrite a record");
}

TEST_F(CompressedRecord, ThatEndsWithinAnEpochKeepsTheEarlierOnes) {
  std::vector<std::string> members = members_;
  members.resize(3);
  members.back().pop_back();
  pack(members);
  const Finished diagnosed = loupe("diagnose packed", folder_);
  EXPECT_EQ(diagnosed.output.rfind(
                "loupe: warning: 'packed/record.jsonl' ends with an epoch that was cut off, which is left out\n", 0),
            0u)
      << diagnosed.output;
  EXPECT_NE(diagnosed.output.find("running or crashed after epoch 2"), std::string::npos) << diagnosed.output;
  const Finished replayed = loupe("replay packed --visualizer csv --out out", folder_);
  EXPECT_EQ(replayed.exit_code, 0);
  EXPECT_EQ(replayed.output,
            "wrote out/values.csv\nwrote out/values.findings.csv\n"
            "loupe: warning: 'packed/record.jsonl.gz' ends with an epoch that was cut off, which is left out\n");
}

TEST_F(CompressedRecord, ThatIsDamagedInTheMiddleIsRefusedByTheLineWithWhatIsLost) {
  members_[1][30] ^= 0x55;
  pack(members_);
  const Finished finished = loupe("diagnose packed", folder_);
  EXPECT_EQ(finished.exit_code, 2);
  const auto lines = lines_of(read(folder_ / "plain/record.jsonl"));
  const auto tick = [](const std::string& line) { return line.rfind(R"({"kind":"tick")", 0) == 0; };
  const auto first_lost = std::find_if(lines.begin(), lines.end(), tick) - lines.begin() + 2;
  EXPECT_EQ(finished.output, "packed/record.jsonl.gz:" + std::to_string(first_lost) +
                                 ": error: the compressed data is damaged after byte " +
                                 std::to_string(members_[0].size()) + " of the file, and the rest is lost\n");
}

}  // namespace
}  // namespace loupe::test
