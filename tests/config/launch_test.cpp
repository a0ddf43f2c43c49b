#include "config/launch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace loupe {
namespace {

Launch launched_with(const std::map<std::string, std::string>& variables) {
  for (const char* name : {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
                           "SLURM_PROCID", "SLURM_NTASKS"})
    ::unsetenv(name);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  const Launch launch = Launch::from_environment();
  for (const auto& each : variables) ::unsetenv(each.first.c_str());
  return launch;
}

TEST(Launch, IsReadFromWhatTorchrunMpiAndSlurmSet) {
  for (const auto& [rank, size] : std::map<std::string, std::string>{{"RANK", "WORLD_SIZE"},
                                                                     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                                     {"PMI_RANK", "PMI_SIZE"},
                                                                     {"SLURM_PROCID", "SLURM_NTASKS"}}) {
    const Launch launch = launched_with({{rank, "3"}, {size, "8"}});
    EXPECT_EQ(launch.rank, 3) << rank;
    EXPECT_EQ(launch.world_size, 8) << rank;
  }
}

TEST(Launch, OfTorchrunWithinAJobOfSlurmsIsTorchruns) {
  EXPECT_EQ(launched_with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"RANK", "5"}, {"WORLD_SIZE", "8"}}).rank, 5);
}

TEST(Launch, IsThatOfAProcessAloneWhereNumbersDoNotFitTogether) {
  for (const auto& [rank, size] : std::multimap<std::string, std::string>{{"3", ""},
                                                                          {"", "4"},
                                                                          {"4", "4"},
                                                                          {"-1", "4"},
                                                                          {"one", "4"},
                                                                          {"1x", "4"},
                                                                          {"1", "99999999999999"},
                                                                          {"0", "2147483647"}})
    EXPECT_EQ(launched_with({{"RANK", rank}, {"WORLD_SIZE", size}}).world_size, 1) << rank << " of " << size;
  EXPECT_EQ(launched_with({{"RANK", "3"}}).world_size, 1);
  EXPECT_EQ(launched_with({}).world_size, 1);
}

TEST(Launch, TellsJobsApartByTheirNamesAndAddressesElseByTheSession) {
  const auto job = [](std::map<std::string, std::string> variables) {
    variables.insert({{"RANK", "0"}, {"WORLD_SIZE", "2"}});
    return launched_with(variables);
  };
  const Launch first = job({{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}}),
               second = job({{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29501"}});
  EXPECT_NE(first.job, second.job);
  EXPECT_NE(job({{"TORCHELASTIC_RUN_ID", "a"}}).job, job({{"TORCHELASTIC_RUN_ID", "b"}}).job);
  EXPECT_EQ(job({}).job.rfind("session ", 0), 0u);
  EXPECT_EQ(job({}).job, job({}).job) << "processes that one script starts";
}

TEST(Launch, GivesEachRankButTheFirstAFolderInTheRuns) {
  EXPECT_EQ((Launch{0, 4}.folder_in("/runs/x")), "/runs/x");
  EXPECT_EQ((Launch{3, 4}.folder_in("/runs/x")), "/runs/x/rank-3");
  EXPECT_EQ((Launch{3, 4}.folder_in("")), "rank-3");
}

}  // namespace
}  // namespace loupe
