// How `loupe view` describes a run while its record grows.

#include "view/followed_record.h"

#include <gtest/gtest.h>
#include <loupe/abi.h>
#include <loupe/files/gzip.h>

#include <cmath>

#include "examples/process.h"
#include "made_records.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t everything = std::size_t{1} << 30;

TEST(FollowedRecord, HasNameLastTickLossesAndFindings) {
  const fs::path file =
      put(fresh_folder() / "record.jsonl",
          two_epochs("digits", 1234) + finding_line("warning", "raised", "dead_units", "half") +
              finding_line("error", "raised", "nan_loss", "NaN") + loss_line(3, "val_loss mean", "\"NaN\"") +
              loss_line(3, "val_loss median", "7") + tick_line(3) + end_line("failed", "out of memory"));
  view::FollowedRecord record(file);
  const replay::RunSummary& run = record.summary();
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(record.damage(), "");
  EXPECT_FALSE(record.is_behind());
  EXPECT_EQ(run.run().name, "digits");
  EXPECT_EQ(run.run().start_time, 1234);
  ASSERT_TRUE(run.tick());
  EXPECT_EQ(run.tick()->epoch, 3);
  EXPECT_EQ(run.tick()->step, 30u);
  EXPECT_EQ(run.tick()->timestamp, 2003);
  ASSERT_EQ(run.losses().size(), 2u);
  EXPECT_EQ(run.losses()[0].name, "train_loss");
  EXPECT_EQ(run.losses()[0].last, 0.25);
  EXPECT_EQ(run.losses()[1].name, "val_loss");
  EXPECT_TRUE(std::isnan(run.losses()[1].last));
  EXPECT_EQ(run.findings().counts(), "1 error, 1 warning");
  ASSERT_TRUE(run.ending());
  EXPECT_EQ(run.ending()->how, uint32_t{LOUPE_END_FAILED});
  EXPECT_EQ(run.ending()->message, "out of memory");
}

TEST(FollowedRecord, IgnoresIncompleteEpochsForTheBest) {
  std::string cut = epoch_of(3, "0.125");
  cut.replace(cut.find(R"("incomplete":false)"), 18, R"("incomplete":true)");
  const fs::path file = put(fresh_folder() / "record.jsonl", two_epochs("digits") + cut);
  view::FollowedRecord record(file);
  const replay::RunSummary& run = record.summary();
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(run.losses()[0].last, 0.125);
  EXPECT_EQ(run.losses()[0].lowest, std::pair(0.25, 2.0));
}

TEST(FollowedRecord, CountsOtherLinesInALossPlotAsMetrics) {
  std::string run = run_line("digits");
  run.insert(run.size() - 2, R"(,"train_loss":"objective","val_loss":"held_out")");
  std::string lines = run;
  for (const char* name : {"objective", "held_out", "accuracy", "style_loss"})
    lines += R"({"kind":"value","epoch":1,"tag":"Loss & Metrics","layer":"Loss","line":")" + std::string(name) +
             R"( mean","value":0.5})" + "\n";
  view::FollowedRecord record(put(fresh_folder() / "record.jsonl", lines + tick_line(1)));
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(record.damage(), "");
  for (const char* name : {"objective", "held_out", "style_loss"})
    EXPECT_NE(record.summary().loss(name), nullptr) << name;
  EXPECT_EQ(record.summary().loss("accuracy"), nullptr);
}

TEST(FollowedRecord, ReadsOnWhereTheRecordGrewAndNotBefore) {
  const fs::path file = put(fresh_folder() / "record.jsonl", two_epochs("digits"));
  view::FollowedRecord record(file);
  const replay::RunSummary& run = record.summary();
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_FALSE(record.read_on(everything));
  // A line that is still being written is read once it is complete.
  const std::string epoch = epoch_of(3, "0.125");
  append(file, epoch.substr(0, 40));
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(run.tick()->epoch, 2);
  EXPECT_EQ(record.damage(), "");
  append(file, epoch.substr(40));
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(run.tick()->epoch, 3);
  EXPECT_EQ(run.losses()[0].last, 0.125);
}

TEST(FollowedRecord, ReadsALongRecordInParts) {
  std::string text = run_line("digits") + loss_tag;
  for (int epoch = 1; epoch <= 30000; ++epoch) text += epoch_of(epoch, "0.5");
  const fs::path file = put(fresh_folder() / "record.jsonl", text);
  view::FollowedRecord record(file);
  const replay::RunSummary& run = record.summary();
  EXPECT_TRUE(record.read_on(1));
  EXPECT_TRUE(record.is_behind());
  const double first = run.tick()->epoch;
  EXPECT_LT(first, 30000);
  int parts = 1;
  for (; record.is_behind() && parts < 100; ++parts) EXPECT_TRUE(record.read_on(1));
  EXPECT_GT(parts, 2);
  EXPECT_EQ(run.tick()->epoch, 30000);
  EXPECT_EQ(record.damage(), "");
}

TEST(FollowedRecord, StartsAgainWhenTheRecordIsReplaced) {
  const fs::path folder = fresh_folder();
  const fs::path file =
      put(folder / "record.jsonl", two_epochs("old") + finding_line("error", "raised", "nan_loss", "NaN"));
  view::FollowedRecord record(file);
  const replay::RunSummary& run = record.summary();
  record.read_on(everything);
  // The record is replaced, as by a resumed run.
  put(folder / "other", two_epochs("new") + epoch_of(3, "1") + epoch_of(4, "1") + epoch_of(5, "1"));
  fs::rename(folder / "other", file);
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(run.run().name, "new");
  EXPECT_EQ(run.tick()->epoch, 5);
  EXPECT_TRUE(run.findings().empty());
  // The record is overwritten in place: first with fewer bytes, then with more bytes than were read.
  put(file, two_epochs("third"));
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(run.run().name, "third");
  put(file, two_epochs("a fourth one with a long name") + epoch_of(3, "1") + epoch_of(4, "1"));
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(run.run().name, "a fourth one with a long name");
  EXPECT_EQ(run.tick()->epoch, 4);
}

TEST(FollowedRecord, FollowsARecordThatIsCompressedMeanwhile) {
  const fs::path file = put(fresh_folder() / "record.jsonl", two_epochs("digits"));
  const fs::path compressed = file.string() + ".gz";
  view::FollowedRecord record(file);
  const replay::RunSummary& run = record.summary();
  record.read_on(everything);
  put(compressed, gzip_member(two_epochs("digits")));
  EXPECT_TRUE(record.read_on(everything)) << "both files exist for a moment";
  fs::remove(file);
  EXPECT_FALSE(record.read_on(everything));
  EXPECT_EQ(run.tick()->epoch, 2);
  // A gzip member that is still being written is read once it is complete.
  const std::string epoch = gzip_member(epoch_of(3, "0.125"));
  append(compressed, epoch.substr(0, 40));
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(record.damage(), "");
  EXPECT_EQ(run.tick()->epoch, 2);
  append(compressed, epoch.substr(40));
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(run.tick()->epoch, 3);
  EXPECT_EQ(run.losses()[0].last, 0.125);
  append(compressed, "no member");
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(record.damage().substr(0, 42), "the compressed data is damaged after byte ");
  EXPECT_EQ(run.tick()->epoch, 3);
  // A later run uses the same folder.
  fs::remove(compressed);
  put(file, two_epochs("another"));
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(run.run().name, "another");
  EXPECT_EQ(record.damage(), "");
}

TEST(FollowedRecord, KeepsTheLowestFiniteLossWithItsEpoch) {
  std::string text = run_line("digits") + loss_tag;
  int epoch = 0;
  for (const char* loss : {"\"NaN\"", "3", "1", "2", "1", "\"Infinity\""}) text += epoch_of(++epoch, loss);
  view::FollowedRecord record(put(fresh_folder() / "record.jsonl", text));
  const replay::RunSummary& run = record.summary();
  record.read_on(everything);
  ASSERT_EQ(run.losses().size(), 1u);
  EXPECT_TRUE(std::isinf(run.losses()[0].last));
  EXPECT_EQ(run.losses()[0].lowest, std::make_pair(1.0, 3.0));
  EXPECT_EQ(run.losses()[0].curve.values().size(), 6u);
}

TEST(FollowedRecord, KeepsALimitedNumberOfSettingsAndLosses) {
  std::string text = run_line("digits") + loss_tag;
  for (std::size_t i = 0; i <= replay::RunSummary::most_settings; ++i) {
    text += setting_line("setting " + std::to_string(i), "integer", "1");
    text += loss_line(1, "loss " + std::to_string(i) + " mean", "1");
  }
  view::FollowedRecord record(put(fresh_folder() / "record.jsonl", text));
  const replay::RunSummary& run = record.summary();
  record.read_on(everything);
  EXPECT_EQ(record.damage(), "");
  EXPECT_EQ(run.hyperparameters().size(), replay::RunSummary::most_settings);
  EXPECT_EQ(run.losses().size(), replay::RunSummary::most_losses);
}

TEST(FollowedRecord, ForgetsEndAndFindingsOfAResumedRun) {
  const fs::path file = put(fresh_folder() / "record.jsonl",
                            two_epochs("digits") + finding_line("error", "raised", "nan_loss", "NaN") +
                                end_line("interrupted") + run_line("digits", 5000, true) + epoch_of(3, "0.1"));
  view::FollowedRecord record(file);
  const replay::RunSummary& run = record.summary();
  record.read_on(everything);
  EXPECT_EQ(record.damage(), "");
  EXPECT_FALSE(run.ending());
  EXPECT_EQ(run.findings().counts(), "1 error (1 resolved)");
  EXPECT_EQ(run.run().start_time, 5000);
}

TEST(FollowedRecord, ReportsTheDamageOfARecordAndItsReadableBeginning) {
  const fs::path folder = fresh_folder();
  const auto damage_of = [&](const std::string& text) {
    view::FollowedRecord record(put(folder / "record.jsonl", text));
    record.read_on(everything);
    return record.damage();
  };
  EXPECT_EQ(damage_of(""), "the record is empty");
  EXPECT_EQ(damage_of("{\"kind\":\"run\""), "the record's first line is not whole yet");
  EXPECT_EQ(damage_of(tick_line(1)), "line 1: a record begins with a line of the kind 'run'");
  EXPECT_EQ(damage_of("{\"kind\":\"run\",\"format\":99}\n").substr(0, 38), "line 1: this record has format 99, and");
  EXPECT_EQ(damage_of(run_line("a") + run_line("b")),
            "line 2: another run begins here; give each run's record its own file");
  EXPECT_EQ(damage_of(run_line("a") + std::string(100, '[') + "\n").substr(0, 8), "line 2: ");

  view::FollowedRecord record(put(folder / "record.jsonl", two_epochs("digits") + "garbage\n"));
  const replay::RunSummary& run = record.summary();
  record.read_on(everything);
  EXPECT_EQ(record.damage().substr(0, 22), "line 7: this line is n");
  EXPECT_EQ(run.run().name, "digits");
  EXPECT_EQ(run.tick()->epoch, 2);
  append(folder / "record.jsonl", epoch_of(3, "1"));
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(record.damage().substr(0, 7), "line 7:");
}

TEST(FollowedRecord, SaysThatAMissingOrLinkedRecordCannotBeRead) {
  const fs::path folder = fresh_folder();
  const fs::path file = put(folder / "record.jsonl", two_epochs("digits"));
  view::FollowedRecord record(file);
  record.read_on(everything);
  fs::rename(file, folder / "elsewhere");
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(record.damage(), "the record cannot be read: No such file or directory");
  fs::create_symlink(folder / "elsewhere", file);
  EXPECT_TRUE(record.read_on(everything));
  EXPECT_EQ(record.damage().substr(0, 26), "the record cannot be read:");
}

}  // namespace
}  // namespace loupe::test
