#include "ranks/job.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace loupe {
namespace {

using Variables = std::map<std::string, std::string>;

/// The job of rank 0 of 2 with these environment variables, which may override the rank and the size.
Job job_with(Variables variables, int session = 7) {
  variables.insert({{"RANK", "0"}, {"WORLD_SIZE", "2"}});
  const auto variable = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second.c_str() : nullptr;
  };
  return Job::from(variable, session);
}

TEST(Job, IsIdentifiedByNameAndAddressOrElseByTheSession) {
  EXPECT_NE(job_with({{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}}).name,
            job_with({{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29501"}}).name);
  EXPECT_NE(job_with({{"TORCHELASTIC_RUN_ID", "a"}}).name, job_with({{"TORCHELASTIC_RUN_ID", "b"}}).name);
  EXPECT_TRUE(job_with({}).is_of_session());
  EXPECT_EQ(job_with({}).name, job_with({}).name) << "processes that one script starts";
  EXPECT_NE(job_with({}, 7).name, job_with({}, 8).name);
}

TEST(Job, OfMpiIsNotIdentifiedByTheSession) {
  const Variables mpi = {
      {"RANK", ""}, {"WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  EXPECT_EQ(job_with(mpi).rank, 1);
  EXPECT_FALSE(job_with(mpi).is_of_session());
}

TEST(Job, IsOfOneHostIfItsLauncherOrAddressShowsIt) {
  EXPECT_TRUE(job_with({}).is_of_one_host());
  EXPECT_TRUE(job_with({{"TORCHELASTIC_RUN_ID", "a"}, {"LOCAL_WORLD_SIZE", "2"}}).is_of_one_host());
  EXPECT_TRUE(job_with({{"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}}).is_of_one_host());
  EXPECT_FALSE(job_with({{"TORCHELASTIC_RUN_ID", "a"}, {"LOCAL_WORLD_SIZE", "3"}}).is_of_one_host());
  EXPECT_FALSE(job_with({{"MASTER_ADDR", "a.b"}, {"MASTER_PORT", "29500"}}).is_of_one_host());
}

TEST(Job, HasAServerIfTheLauncherServesItsStoreAtAnAddress) {
  const Variables torchrun = {
      {"MASTER_ADDR", "a.b"}, {"MASTER_PORT", "29500"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  EXPECT_TRUE(job_with(torchrun).has_server);
  EXPECT_EQ(job_with(torchrun).address, "a.b:29500");
  for (const char* port : {"", "0", "65536", "x"}) {
    Variables other = torchrun;
    other["MASTER_PORT"] = port;
    EXPECT_FALSE(job_with(other).has_server) << port;
  }
}

TEST(Job, OfAProcessThatJoinedByNumberHasNoName) {
  ::setenv("RANK", "0", 1);
  ::setenv("WORLD_SIZE", "2", 1);
  const Job known = Job::of({0, 2}), joined = Job::of({1, 3});
  ::unsetenv("RANK");
  ::unsetenv("WORLD_SIZE");
  EXPECT_TRUE(known.is_of_session());
  EXPECT_EQ(joined.rank, 1);
  EXPECT_EQ(joined.world_size, 3);
  EXPECT_EQ(joined.name, "");
}

}  // namespace
}  // namespace loupe
