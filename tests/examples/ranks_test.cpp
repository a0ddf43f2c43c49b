// Processes that average their gradients by hand form one run, in which each rank keeps its record; planted faults
// are found.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "paths.h"
#include "process.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

class RanksExample : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(LOUPE_EXAMPLES + "/rank_trainer"))
      GTEST_SKIP() << "the example is not built: the headers of Gloo are not beside this LibTorch's (Debian: "
                      "libgloo-dev)";
  }

  struct Trained {
    fs::path folder;
    std::vector<std::string> outputs;     ///< of each rank, both streams
    std::vector<std::string> exit_codes;  ///< of each rank, as the shell prints them
  };

  /// Trains with two ranks at the same time, for four epochs.
  static Trained train(const std::string& plant, const std::string& monitor = LOUPE_RANKS_MONITOR) {
    Trained trained{fresh_folder(), {}, {}};
    std::string script;
    for (const char* rank : {"0", "1"}) {
      script += std::string("{ GLOO_SOCKET_IFNAME=lo RANK=") + rank + " WORLD_SIZE=2 timeout 100 " + LOUPE_EXAMPLES +
                "/rank_trainer --config " + monitor + " --store meeting --epochs 4 --plant " + plant + " > out-" +
                rank + " 2>&1; echo $? > code-" + rank + "; } & ";
    }
    run(script + "wait", trained.folder);
    for (const char* rank : {"0", "1"}) {
      trained.outputs.push_back(text_of(trained.folder / (std::string("out-") + rank)));
      trained.exit_codes.push_back(text_of(trained.folder / (std::string("code-") + rank)));
    }
    return trained;
  }
};

using Codes = std::vector<std::string>;

TEST_F(RanksExample, IsOneRunShownByRankZeroWithARecordPerRank) {
  const Trained trained = train("none");

  EXPECT_EQ(trained.exit_codes, (Codes{"0\n", "0\n"})) << trained.outputs[0] << trained.outputs[1];
  EXPECT_NE(trained.outputs[0].find("rank 0 of 2 shows this run"), std::string::npos) << trained.outputs[0];
  EXPECT_NE(trained.outputs[0].find("epoch  4/4"), std::string::npos) << trained.outputs[0];
  EXPECT_EQ(trained.outputs[1], "");
  const fs::path run_folder = trained.folder / "runs/ranks", of_rank_1 = run_folder / "rank-1";
  EXPECT_TRUE(fs::exists(run_folder / "report.html"));
  EXPECT_FALSE(fs::exists(of_rank_1 / "report.html"));
  Recorded first = read_record(run_folder / "record.jsonl"), second = read_record(of_rank_1 / "record.jsonl");
  EXPECT_EQ(first.layers("Weight Gradient Norm"), second.layers("Weight Gradient Norm"));
  for (const char* line : {"train_loss mean", "val_loss mean"}) {
    const auto of_all = first.values["Loss"]["Loss"][line], of_second = second.values["Loss"]["Loss"][line];
    EXPECT_EQ(of_all.size(), 4u) << line;
    EXPECT_EQ(of_second.size(), 4u) << line;
    EXPECT_NE(of_all, of_second) << "each rank has its own data";
  }
}

TEST_F(RanksExample, IsMergedAfterwardsWhereItsRanksReachNoStore) {
  const fs::path monitor = fs::path(LOUPE_TEST_FOLDER) / "without_store.yaml";
  std::ofstream(monitor) << text_of(LOUPE_RANKS_MONITOR) << "ranks: {store: none}\n";
  const Trained trained = train("drift", monitor.string());
  EXPECT_EQ(trained.exit_codes, (Codes{"0\n", "0\n"})) << trained.outputs[0] << trained.outputs[1];
  EXPECT_NE(trained.outputs[0].find("shows this run, with only its own numbers"), std::string::npos);
  const std::string before = run(LOUPE_COMMAND + " diagnose runs/ranks", trained.folder).output;
  EXPECT_EQ(before.find("replica_drift"), std::string::npos) << before;

  const Finished merged = run(LOUPE_COMMAND + " merge runs/ranks", trained.folder);

  EXPECT_EQ(merged.exit_code, 0) << merged.output;
  const fs::path folder = trained.folder / "runs/ranks";
  EXPECT_TRUE(fs::exists(folder / "merged/report.html"));
  Recorded all = read_record(folder / "merged/record.jsonl"), first = read_record(folder / "record.jsonl"),
           second = read_record(folder / "rank-1/record.jsonl");
  const auto losses = [](Recorded& record) { return record.values["Loss"]["Loss"]["train_loss mean"]; };
  ASSERT_EQ(losses(all).size(), 4u);
  for (const auto& [epoch, loss] : losses(all))
    EXPECT_NEAR(loss, (losses(first)[epoch] + losses(second)[epoch]) / 2, 1e-9)
        << "each rank has the same number of batches";
  const std::string text = run(LOUPE_COMMAND + " diagnose --json runs/ranks", trained.folder).output;
  const auto findings = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(findings.is_array()) << text;
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const nlohmann::json& finding) {
    return finding.at("rule") == "replica_drift" && finding.at("layer") == "hidden";
  })) << text;
}

TEST_F(RanksExample, HasAHealthyTwinOfEachFault) {
  const std::string list = run(LOUPE_EXAMPLES + "/rank_trainer --plant list", fresh_folder()).output;

  const std::size_t healthy = list.find("healthy, though");
  ASSERT_NE(healthy, std::string::npos) << list;
  const std::string faults = list.substr(0, healthy), twins = list.substr(healthy);
  int count = 0;
  const std::regex name("\n  ([a-z-]+) ");
  for (std::sregex_iterator each(faults.begin(), faults.end(), name), end; each != end; ++each, ++count) {
    EXPECT_NE(twins.find("(not " + (*each)[1].str() + ")"), std::string::npos) << (*each)[1];
  }
  EXPECT_EQ(count, 16);
}

/// A planted difference, and the finding that must name it.
struct Planted {
  const char* plant;
  const char* rule;   ///< empty: there must be neither an error nor a warning
  const char* layer;  ///< empty: the finding concerns no layer
  const char* said = "";
};

void PrintTo(const Planted& planted, std::ostream* stream) {
  *stream << planted.plant;
}

class RanksExampleWith : public RanksExample, public testing::WithParamInterface<Planted> {};

/// Whether a healthy twin has only infos, except for a straggler: a busy machine truly slows one rank down.
bool are_silent(const nlohmann::json& findings) {
  return std::all_of(findings.begin(), findings.end(), [](const nlohmann::json& finding) {
    return finding.at("severity") == "info" || finding.at("rule") == "straggler";
  });
}

/// Healthy twins in which each rank has its own budget.
class HealthyRanksExampleWith : public RanksExample, public testing::WithParamInterface<const char*> {};

TEST_P(HealthyRanksExampleWith, HasNoFindingsIfEachRankHasABudget) {
  const fs::path monitor = fs::path(LOUPE_TEST_FOLDER) / ("with_budget-" + std::string(GetParam()) + ".yaml");
  std::ofstream(monitor) << text_of(LOUPE_RANKS_MONITOR) << "attach: {budget: 3%}\n";
  const Trained trained = train(GetParam(), monitor.string());
  EXPECT_EQ(trained.exit_codes, (Codes{"0\n", "0\n"})) << trained.outputs[0] << trained.outputs[1];
  const std::string text = run(LOUPE_COMMAND + " diagnose --json runs/ranks", trained.folder).output;
  const auto findings = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(findings.is_array()) << text;
  EXPECT_TRUE(are_silent(findings)) << text;
}

INSTANTIATE_TEST_SUITE_P(Twins, HealthyRanksExampleWith,
                         testing::Values("none", "left-out", "accumulation", "skipped-by-all", "sharded", "schedule",
                                         "scale-all", "eval-all", "bright-all"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(RanksExampleWith, IsDiagnosed) {
  const Trained trained = train(GetParam().plant);
  EXPECT_EQ(trained.exit_codes, (Codes{"0\n", "0\n"})) << trained.outputs[0] << trained.outputs[1];

  const std::string text = run(LOUPE_COMMAND + " diagnose --json runs/ranks", trained.folder).output;
  const auto findings = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(findings.is_array()) << text;
  if (std::string(GetParam().rule).empty()) {
    EXPECT_TRUE(are_silent(findings)) << text;
    return;
  }
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const nlohmann::json& finding) {
    const nlohmann::json& layer = finding.at("layer");
    return finding.at("rule") == GetParam().rule &&
           (layer.is_null() ? "" : layer.get<std::string>()) == GetParam().layer &&
           finding.at("message").get<std::string>().find(GetParam().said) != std::string::npos;
  })) << text;
}

INSTANTIATE_TEST_SUITE_P(Plants, RanksExampleWith,
                         testing::ValuesIn(std::initializer_list<Planted>{
                             {"none", "", ""},
                             {"drift", "replica_drift", "hidden"},
                             {"nan", "rank_non_finite", "features.0"},
                             {"left-out", "", ""},
                             {"same-data", "same_data", ""},
                             {"no-average", "gradients_not_averaged", "features.0"},
                             {"accumulation", "", ""},
                             {"same-dropout", "same_dropout", ""},
                             {"seed", "replica_drift", "features.0"},
                             {"skipped-step", "replica_drift", "features.0"},
                             {"skipped-by-all", "", ""},
                             {"bit-flip", "replica_drift", "hidden", "and their optimizers' states are equal"},
                             {"state-flip", "replica_drift", "hidden",
                              "rank 1 from rank 0, first in 'momentum_buffer' of hidden.weight, while all parameters "
                              "are still equal"},
                             {"sharded", "", ""},
                             {"another-rate", "ranks_differ", ""},
                             {"schedule", "", ""},
                             {"clip-one", "replica_drift", "features.0",
                              "times those of rank 0: they are clipped or scaled only in one of the two"},
                             {"scale-all", "", ""},
                             {"eval-one", "ranks_differ", "dropout",
                              "dropout is in eval mode while rank 1 trains, and not while rank 0 does"},
                             {"eval-all", "", ""},
                             {"bright-one", "rank_imbalance", "rank 1",
                              "the root mean square of the inputs of rank 1 is "},
                             {"bright-all", "", ""},
                         }),
                         [](const auto& test) {
                           std::string name = test.param.plant;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace loupe::test
