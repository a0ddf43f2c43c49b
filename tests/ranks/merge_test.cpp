// `loupe merge`, which combines the folders of a run's ranks afterwards.

#include <loupe/detail/state.h>

#include <loupe/files/gzip.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <limits>

#include "examples/process.h"
#include "paths.h"
#include "run_of_ranks.h"
#include "says.h"

namespace loupe {
namespace {

const std::string few_lenses = apart + "lenses: [output_norm, loss_metrics]\nvisualizers: [record]\n";

class MergeOfRanks : public testing::Test {
 protected:
  void SetUp() override {
    folder = folder_of_test();
    fs::remove_all(folder);
  }

  /// Trains without a store. Each rank makes its number of ticks.
  void train(const std::vector<int>& ticks, const std::string& yaml = few_lenses) {
    const int world_size = static_cast<int>(ticks.size());
    for (int rank = 0; rank < world_size; ++rank) {
      Rank trained(yaml, rank, world_size, nullptr, milliseconds(1000));
      for (int tick = 1; tick <= ticks[static_cast<std::size_t>(rank)]; ++tick) {
        trained.forward(0, {static_cast<float>(10 * rank + tick)});
        trained.monitor.tick(std::nullopt);
      }
      trained.monitor.end(LOUPE_END_COMPLETED, nullptr);
    }
  }
  std::string states_of(int rank) const {
    return folder + (rank == 0 ? "" : "/rank-" + std::to_string(rank)) + "/record.states.gz";
  }
  static void write(const std::string& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  }
  /// The output of `loupe merge`, which must end with this exit code.
  std::string merge(int exit_code, const std::string& arguments = "") const {
    const test::Finished finished =
        test::run(LOUPE_COMMAND + " merge " + (arguments.empty() ? folder : arguments), fs::temp_directory_path());
    EXPECT_EQ(finished.exit_code, exit_code) << finished.output;
    return finished.output;
  }
  double mean(const std::string& epoch, const std::string& merged = "/merged") const {
    const auto numbers = numbers_of(folder + merged);
    const auto found = numbers.find(epoch + ".000000 Output Norm/one/mean");
    return found != numbers.end() ? found->second.numbers[0] : std::numeric_limits<double>::quiet_NaN();
  }
  struct Frame {
    char kind;
    std::string payload;
  };
  /// Changes a rank's file frame by frame, like an attacker.
  template <class Change>
  void change(int rank, Change&& change) const {
    TextInput input(states_of(rank));
    const std::string bytes{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
    std::string changed;
    for (std::size_t at = 0; at + 9 <= bytes.size();) {
      const auto size = static_cast<std::size_t>(StateReader(std::string_view(bytes).substr(at + 1)).number());
      Frame frame{bytes[at], bytes.substr(at + 9, size)};
      at += 9 + size;
      change(frame);
      StateWriter length;
      length.number(frame.payload.size());
      changed += frame.kind + length.bytes() + frame.payload;
    }
    write(states_of(rank), gzip_member(changed));
  }
  void change_header(int rank, const std::function<void(RankHeader&)>& edit) const {
    RankHeader header = header_of(rank);
    edit(header);
    change(rank, [&](Frame& frame) {
      if (frame.kind == 'h') frame.payload = header.frame().substr(9);
    });
  }
  RankHeader header_of(int rank) const { return StatesReader(states_of(rank)).header(); }

  Stage stage;
  std::string folder;
};

TEST_F(MergeOfRanks, WritesARecordAndAReportAndPrintsTheirPlace) {
  train({2, 2, 2});
  const std::string said = merge(0);
  EXPECT_SAYS(said, "wrote " + folder + "/merged/record.jsonl");
  EXPECT_SAYS(said, "wrote " + folder + "/merged/report.html");
  EXPECT_EQ(said.find("warning"), std::string::npos) << said;
  EXPECT_DOUBLE_EQ(mean("1"), (1 + 11 + 21) / 3.0);
  EXPECT_DOUBLE_EQ(mean("2"), (2 + 12 + 22) / 3.0);
  EXPECT_DOUBLE_EQ(mean("2", ""), 2) << "the record of rank 0 does not change";
}

TEST_F(MergeOfRanks, FindsAllRanksFromAnyOfTheirFolders) {
  train({1, 1, 1});
  merge(0, folder + "/rank-1 --out " + folder + "/a");
  merge(0, folder + "/rank-* -o " + folder + "/b");
  merge(0, folder + "/record.jsonl -o " + folder + "/c");
  for (const char* merged : {"/a", "/b", "/c"}) EXPECT_DOUBLE_EQ(mean("1", merged), 11);
}

TEST_F(MergeOfRanks, NamesRanksThatLackATick) {
  train({2, 2, 1});
  fs::remove_all(folder + "/rank-1");
  const std::string said = merge(0);
  EXPECT_SAYS(said, "warning: from epoch 1 on numbers come from 2 of 3 ranks: rank 1 has no record here");
  EXPECT_SAYS(said,
              "from epoch 2 on numbers come from 1 of 3 ranks: rank 1 has no record here; rank 2 has no numbers of it");
  EXPECT_SAYS(notes_of(folder + "/merged"), "from epoch 1 on numbers come from 2 of 3 ranks");
  EXPECT_DOUBLE_EQ(mean("1"), 11);
  EXPECT_DOUBLE_EQ(mean("2"), 2);
}

TEST_F(MergeOfRanks, ContinuesWithTheOthersIfRankZeroEnded) {
  train({1, 3, 3});
  EXPECT_SAYS(merge(0), "from epoch 2 on numbers come from 2 of 3 ranks: rank 0 has no numbers of it");
  EXPECT_DOUBLE_EQ(mean("1"), 11);
  EXPECT_DOUBLE_EQ(mean("3"), (13 + 23) / 2.0);
}

TEST_F(MergeOfRanks, UsesAnIncompleteFileUpToItsLastCompleteTick) {
  train({3, 3});
  const std::string whole = test::text_of(states_of(1));
  std::vector<std::size_t> members;
  for (std::size_t at = whole.find("\x1f\x8b\x08"); at != std::string::npos; at = whole.find("\x1f\x8b\x08", at + 1))
    members.push_back(at);
  ASSERT_EQ(members.size(), 3u) << "one member for each tick";
  write(states_of(1), whole.substr(0, members[1]));
  EXPECT_SAYS(merge(0, folder + " -o " + folder + "/a"),
              "from epoch 2 on numbers come from 1 of 2 ranks: rank 1 has no");
  EXPECT_DOUBLE_EQ(mean("1", "/a"), 6);
  write(states_of(1), whole.substr(0, members[2] + 7));
  EXPECT_SAYS(merge(0, folder + " -o " + folder + "/b"), "ends within a tick that was cut off, which is left out");
  EXPECT_DOUBLE_EQ(mean("2", "/b"), 7);
  EXPECT_DOUBLE_EQ(mean("3", "/b"), 3);
  write(states_of(1), whole.substr(0, members[1] - 7));
  EXPECT_SAYS(merge(2), "it was cut off before its first tick; the run is merged without this rank once its folder is");
}

TEST_F(MergeOfRanks, LeavesOutTicksAfterADamage) {
  train({3, 3});
  std::string bytes = test::text_of(states_of(1));
  const std::size_t second = bytes.find("\x1f\x8b\x08", 1), third = bytes.find("\x1f\x8b\x08", second + 1);
  ASSERT_NE(third, std::string::npos);
  bytes[third - 8] = static_cast<char>(bytes[third - 8] ^ 1);  // a byte of the checksum
  write(states_of(1), bytes);
  EXPECT_SAYS(merge(0), "is damaged, and the data after epoch 1 is left out: the compressed data is damaged");
  EXPECT_DOUBLE_EQ(mean("1"), 6);
  EXPECT_DOUBLE_EQ(mean("2"), 2);
}

TEST_F(MergeOfRanks, RefusesAnInvalidFileOrAnotherVersion) {
  train({1, 1});
  write(states_of(1), "hello, world");
  EXPECT_SAYS(merge(2), "rank-1/record.states.gz' cannot be read: it is not a file of a rank's states");
  write(states_of(1), "");
  EXPECT_SAYS(merge(2), "cannot be read: it is not a file of a rank's states");
  StateWriter payload, size;
  payload.text("states of a rank");
  payload.number(1);
  size.number(payload.bytes().size());
  write(states_of(1), gzip_member("h" + size.bytes() + payload.bytes()));
  EXPECT_SAYS(merge(2), "it has version 1, and this Loupe reads version 2; merge with the Loupe that watched the run");
  fs::remove(states_of(1));
  EXPECT_SAYS(merge(2), "rank 1 in '" + folder + "/rank-1' has no '" + states_of(1) + "'");
  EXPECT_FALSE(fs::exists(folder + "/merged")) << "no file was created";
}

TEST_F(MergeOfRanks, RefusesFoldersOfDifferentRuns) {
  train({1, 1});
  const auto with = [&](auto&& change) {
    RankHeader header = header_of(1);
    change(header);
    write(states_of(1), gzip_member(header.frame()));
    return merge(2);
  };
  EXPECT_SAYS(with([](RankHeader& header) { header.run = "another"; }),
              "rank 1 in '" + folder + "/rank-1' belongs to a different run than rank 0 in '" + folder +
                  "': its name is 'another' and that of rank 0 'r'; name the ranks of one run");
  EXPECT_SAYS(with([](RankHeader& header) { header.run = "r", header.job = "12"; }), "its job is '12'");
  EXPECT_SAYS(with([](RankHeader& header) { header.job = "", header.start_time += 1000; }),
              "it began after the first tick of rank 0");
  EXPECT_SAYS(with([](RankHeader& header) {
                header.start_time -= 1000, header.lenses = {"output_norm", "x"};
              }),
              "ran with other lenses (output_norm, x) than rank 0 (output_norm, loss_metrics, ranks)");
  EXPECT_SAYS(with([](RankHeader& header) { header.world_size = 3; }),
              "belongs to rank 1 of 3, but the record beside it to");
}

TEST_F(MergeOfRanks, RefusesRanksWithoutRankZeroAndFoldersWithoutARank) {
  train({1, 1});
  const std::string copy = folder + "/copy";
  fs::create_directories(copy + "/rank-1");
  for (const char* file : {"record.jsonl", "record.states.gz"})
    fs::copy(folder + "/rank-1/" + file, copy + "/rank-1/" + file);
  EXPECT_SAYS(merge(2, copy + "/rank-1"),
              "rank 0 of 2 is missing beside rank 1 in '" + copy + "/rank-1'; name its folder");
  EXPECT_SAYS(merge(2, folder + "/rank-1 " + copy + "/rank-1"),
              "there are two of rank 1, in '" + folder + "/rank-1' and");
  EXPECT_SAYS(merge(2, copy), "the folder '" + copy + "' has no record.jsonl");
  EXPECT_SAYS(merge(2, folder + "/nowhere"), "there is no '" + folder + "/nowhere'");
  {
    Rank alone(few_lenses, 0, 1, nullptr, milliseconds(1));
    alone.monitor.set_directory(folder + "/alone");
    alone.monitor.tick(std::nullopt);
  }
  EXPECT_SAYS(merge(2, folder + "/alone"), "is the record of a run of one process, which has nothing to merge");
}

TEST_F(MergeOfRanks, WritesIntoNoFolderWithFiles) {
  train({1, 1});
  merge(0);
  EXPECT_SAYS(merge(2), "'" + folder + "/merged' is there already, maybe of an earlier 'loupe merge'; remove it, or");
  fs::create_directories(folder + "/empty");
  merge(0, folder + " -o " + folder + "/empty");
}

TEST_F(MergeOfRanks, RefusesRanksThatStillRun) {
  RunOfRanks run(2, milliseconds(1000), few_lenses);
  run.tick();
  EXPECT_SAYS(merge(2), "rank 0 in '" + folder + "' is still running; merge the run once all of its ranks have ended");
  run[0].monitor.end(LOUPE_END_COMPLETED, nullptr);
  run.ranks[0].reset();
  EXPECT_SAYS(merge(2), "rank 1 in '" + folder + "/rank-1' is still running");
  run[1].monitor.end(LOUPE_END_COMPLETED, nullptr);
  run.ranks[1].reset();
  merge(0);
}

TEST_F(MergeOfRanks, IsASingleRunForOtherCommands) {
  train({2, 2});
  merge(0);
  const std::string diagnosed = test::run(LOUPE_COMMAND + " diagnose " + folder, "/").output;
  EXPECT_SAYS(diagnosed, "r, all of 2 ranks (" + folder + "/merged/record.jsonl): completed after epoch 2");
  EXPECT_SAYS(diagnosed, "r, rank 1 of 2 (" + folder + "/rank-1/record.jsonl): completed after epoch 2");
  EXPECT_EQ(diagnosed.find("warning"), std::string::npos) << diagnosed;
  fs::remove_all(folder + "-2");
  fs::copy(folder, folder + "-2", fs::copy_options::recursive);
  const std::string compared =
      test::run(LOUPE_COMMAND + " compare " + folder + " " + folder + "-2 --out " + folder + "-c --force", "/").output;
  EXPECT_SAYS(compared, "wrote " + folder + "-c/report.html");
  EXPECT_EQ(compared.find("merged"), std::string::npos) << compared;
}

TEST_F(MergeOfRanks, IsMovedAwayWhenTheRunContinues) {
  train({2, 2});
  merge(0);
  MadeHost host;
  Config config = config_of(folder, few_lenses, 0, 2);
  config.resume = true;
  {
    Monitor monitor(std::move(config), &host);
    monitor.keep_ticks(keep_states(monitor, nullptr));
    monitor.begin_epochs_at(2);
    for (int tick = 0; tick < 2; ++tick) monitor.tick(std::nullopt);
    monitor.end(LOUPE_END_COMPLETED, nullptr);
  }
  EXPECT_FALSE(fs::exists(folder + "/merged"));
  EXPECT_TRUE(fs::exists(folder + "/older-1/merged/record.jsonl"));
  std::vector<double> epochs;
  for (StatesReader reader(states_of(0)); reader.tick() != nullptr; reader.next())
    epochs.push_back(reader.tick()->tick.at.epoch);
  EXPECT_EQ(epochs, (std::vector<double>{1, 2, 3})) << "each epoch once, as in the record";
}

TEST_F(MergeOfRanks, ShowsTheRankThatDiffersMostIfConfigured) {
  train({1, 1, 1}, "ranks: {store: none, show: each}\nlenses: [output_norm]\nvisualizers: [record]\n");
  merge(0);
  const auto numbers = numbers_of(folder + "/merged");
  const auto furthest = numbers.find("1.000000 Output Norm/one/mean (rank 2)");
  ASSERT_NE(furthest, numbers.end());
  EXPECT_DOUBLE_EQ(furthest->second.numbers[0], 21);
}

TEST(StatesFile, OfARunWithoutARecordIsNotWritten) {
  const std::string folder = folder_of_test();
  fs::remove_all(folder);
  const Stage stage;
  Rank rank(apart + "lenses: [output_norm]\nvisualizers: []\n", 0, 2, nullptr, milliseconds(1000));
  rank.monitor.tick(std::nullopt);
  rank.monitor.end(LOUPE_END_COMPLETED, nullptr);
  EXPECT_FALSE(fs::exists(folder + "/record.states.gz"));
}

TEST_F(MergeOfRanks, LeavesOutTicksOfEpochsThatNoRunHas) {
  for (const double epoch :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e308}) {
    train({3, 3});
    int ticks = 0;
    change(1, [&](Frame& frame) {
      StateWriter bytes;
      bytes.real(epoch);
      if (frame.kind == 't' && ++ticks >= 2) frame.payload.replace(0, 8, bytes.bytes());
    });
    EXPECT_SAYS(merge(0), "is damaged, and the rest is left out: a tick has the invalid epoch ");
    EXPECT_DOUBLE_EQ(mean("1"), 6) << epoch;
    EXPECT_DOUBLE_EQ(mean("3"), 3) << epoch;
    fs::remove_all(folder);
  }
}

TEST_F(MergeOfRanks, RefusesAnImpossibleNumberOfRanks) {
  train({1, 1});
  change_header(0, [](RankHeader& header) { header.world_size = 2147483647; });
  EXPECT_SAYS(merge(2), "cannot be read: the number of ranks cannot be 2147483647");
  const std::string record = test::text_of(folder + "/record.jsonl");
  const std::size_t size = record.find("\"world_size\":2");
  ASSERT_NE(size, std::string::npos);
  write(folder + "/record.jsonl", std::string(record).replace(size, 14, "\"world_size\":2147483647"));
  EXPECT_SAYS(merge(2), "this record cannot be of rank 0 of 2147483647");
}

TEST_F(MergeOfRanks, NamesOnlyAFewOfManyMissingRanks) {
  train({2, 1});
  for (const int rank : {0, 1}) {
    change_header(rank, [](RankHeader& header) { header.world_size = 1000000; });
    const std::string file = folder + (rank == 0 ? "" : "/rank-1") + "/record.jsonl";
    const std::string record = test::text_of(file);
    const std::size_t size = record.find("\"world_size\":2");
    ASSERT_NE(size, std::string::npos);
    write(file, std::string(record).replace(size, 14, "\"world_size\":1000000"));
  }
  const std::string said = merge(0);
  EXPECT_SAYS(said,
              "from epoch 1 on numbers come from 2 of 1000000 ranks: ranks 2, 3, 4, 5 and 999994 more have no record");
  EXPECT_SAYS(said, " more have no record here; rank 1 has no numbers of it");
}

TEST_F(MergeOfRanks, OpensNoPluginThatTheRanksFilesName) {
  train({1, 1});
  for (const int rank : {0, 1})
    change_header(rank, [&](RankHeader& header) {
      header.config = "plugins: {path: " + folder + "/rank-1/theirs.so}\n" + few_lenses;
    });
  write(folder + "/rank-1/theirs.so", "code of anybody's");
  const std::string said = merge(0);
  EXPECT_SAYS(said,
              "plugins.path of the run's configuration names '" + folder + "/rank-1/theirs.so', which is not opened");
  EXPECT_SAYS(said, "give it by --plugins");
  EXPECT_DOUBLE_EQ(mean("1"), 6);
}

TEST_F(MergeOfRanks, WritesNoFileThatARanksFileNames) {
  train({1, 1});
  for (const int rank : {0, 1})
    change_header(rank, [&](RankHeader& header) {
      header.config = "lenses: [output_norm, loss_metrics, recorder: {what: forward_output, path: " + folder +
                      "/elsewhere}]\nvisualizers: [record]\n";
    });
  EXPECT_SAYS(merge(0), "'recorder': lenses that write files: only rank 0's numbers are shown");
  EXPECT_FALSE(fs::exists(folder + "/elsewhere"));
  EXPECT_DOUBLE_EQ(mean("1"), 6);
}

TEST_F(MergeOfRanks, DoesNotWaitForAPipe) {
  train({1, 1, 1});
  fs::remove(states_of(1));
  ASSERT_EQ(::mkfifo(states_of(1).c_str(), 0600), 0);
  EXPECT_SAYS(merge(2), "rank-1/record.states.gz' cannot be read: it is a pipe or a device, not a file");
  fs::remove_all(folder + "/rank-1");
  fs::remove(folder + "/rank-2/record.jsonl");
  ASSERT_EQ(::mkfifo((folder + "/rank-2/record.jsonl").c_str(), 0600), 0);
  EXPECT_SAYS(merge(0), "numbers come from 1 of 3 ranks: ranks 1 and 2 have no record here");
}

TEST_F(MergeOfRanks, WritesThroughNoLinkInTheRunsFolder) {
  train({1, 1});
  fs::create_directories(folder + "/elsewhere");
  fs::create_directory_symlink(folder + "/elsewhere", folder + "/merged");
  EXPECT_SAYS(merge(2), "/merged' is there already");
  EXPECT_TRUE(fs::is_empty(folder + "/elsewhere"));
}

TEST_F(MergeOfRanks, PrintsNoControlSequencesOfTerminals) {
  train({1, 1});
  change_header(1, [](RankHeader& header) {
    header.run =
        "\x1b]0;title\x07\xc2\x9b"
        "31m";
  });
  const std::string said = merge(2);
  EXPECT_SAYS(said, "its name is '?]0;title??31m'");
  EXPECT_EQ(said.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace loupe
