// A lens that takes most of what looking costs is set apart, and looks less often than the others. No clock runs here.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "pipeline/budget.h"
#include "pipeline/sampling.h"

namespace loupe {
namespace {

using Looked = Budget::Looked;

TEST(Sampling, TheLensSetApartLooksAtOnePairOfSoManyOfThoseThatAreLookedAt) {
  Sampling sampling(2);
  const auto looks = [&](int steps) {
    std::string text;
    for (int i = 0; i < steps; ++i) {
      text += sampling.looking_apart() ? '#' : sampling.looking() ? '+' : '.';
      sampling.step_over();
    }
    return text;
  };
  EXPECT_EQ(looks(5), "##..#");
  sampling.set_apart(3);
  EXPECT_EQ(looks(20), "#..++..++..##..++..+") << "from the next pair on";
  sampling.set_apart(0);
  EXPECT_EQ(looks(9), "+..++..++");
  sampling.look_fully(3);
  EXPECT_EQ(looks(7), ".###..+") << "of what is wrong it sees all";
  sampling.set_apart(1);
  EXPECT_EQ(looks(6), "+..##.");
}

/// A trainer whose steps take a second, and `rest` more where lenses look at them, and `own` more where one of them
/// does too.
struct Trainer {
  explicit Trainer(double share)
      : budget(share, [this] {
          ++asked;
          return charges;
        }) {}
  /// Returns the share of the time that looking took.
  double run(int steps) {
    double looked_for = 0;
    for (int i = 0; i < steps; ++i) {
      const bool all = sampling.looking_apart();
      const double more = (sampling.looking() ? rest : 0) + (all ? own : 0);
      looked_for += more;
      looked += sampling.looking() ? 1 : 0;
      looked_by_all += all ? 1 : 0;
      changes += budget.step((1 + more) * (1 + noise * std::generate_canonical<double, 32>(random)),
                             !sampling.looking() ? Looked::no
                             : all               ? Looked::all
                                                 : Looked::without_one)
                     ? 1
                     : 0;
      sampling.set_every(budget.every());
      sampling.set_apart(budget.multiple());
      sampling.step_over();
    }
    return looked_for / steps;
  }
  double own = 0.48, rest = 0.02;
  double noise = 0;  // what else the machine does, of a step's time
  std::mt19937 random{1};
  std::vector<Budget::Charge> charges = {{"other", 0.02}, {"slow", 0.5}};
  int asked = 0;
  Budget budget;
  Sampling sampling{4};
  int changes = 0, looked = 0, looked_by_all = 0;
};

TEST(LensApart, LooksLessOftenThanTheOthersAndTheShareIsHeld) {
  Trainer trainer(0.01);
  trainer.run(70);
  EXPECT_EQ(trainer.budget.apart(), 1U);
  EXPECT_EQ(trainer.budget.every(), 5U) << "all together could look at one step in 56";
  EXPECT_EQ(trainer.budget.multiple(), 20U);
  EXPECT_LE(trainer.run(20000), 0.01);
  EXPECT_EQ(trainer.changes, 1) << "told once";
  EXPECT_EQ(trainer.budget.words(),
            "looks at one step in 5, with the lens 'slow' at one in 100, from now on: to look at one adds 2 % to its "
            "time, and 50 % with that lens, so that it takes 0.88 % of all; attach.budget is 1 %");
}

TEST(LensApart, TakesNoMoreThanAllElseTogetherAndLooksNoLessThanHalfAsOftenAsItWould) {
  for (const double rest : {0.004, 0.01, 0.05, 0.2}) {
    for (const double times : {2.5, 4.0, 30.0}) {
      Trainer trainer(0.01);
      trainer.rest = rest;
      trainer.own = times * rest;
      trainer.run(20000);
      if (!trainer.budget.apart()) continue;  // where all may look at every second step
      const Budget& budget = trainer.budget;
      const double together = (1 + times) * rest / 0.009;
      const auto every = static_cast<double>(budget.every());
      EXPECT_LE(times / static_cast<double>(budget.multiple()), 0.009 * every / rest - 1 + 1e-9);
      EXPECT_LE(every, std::max(2.0, std::ceil(0.75 * together))) << rest << " " << times;
      EXPECT_LE(every * static_cast<double>(budget.multiple()), 2 * together + every) << rest << " " << times;
    }
  }
}

TEST(LensApart, HoldsTheShareOnABusyMachineToo) {
  for (const double noise : {0.05, 0.15, 0.4}) {
    Trainer trainer(0.01);
    trainer.noise = noise;
    trainer.rest = 0.2;
    trainer.own = 1;
    EXPECT_LE(trainer.run(20000), 0.01) << noise;
    EXPECT_EQ(trainer.budget.apart(), 1U) << noise;
    EXPECT_LE(trainer.budget.every(), 90U) << noise << ": all together could look at one step in 134";
    EXPECT_LE(trainer.changes, 6) << noise;
  }
}

TEST(LensApart, TwoPairsInWhichTheMachineDidSomethingElseChangeNothing) {
  Trainer trainer(0.01);
  trainer.run(32);
  EXPECT_EQ(trainer.budget.multiple(), 0U) << "it is being tried";
  for (int i = 0; i < 2; ++i) {
    trainer.rest = 5;
    trainer.run(2);
    trainer.rest = 0.02;
    trainer.run(6);
  }
  trainer.run(24);
  EXPECT_EQ(trainer.budget.frequency(), "one step in 5, with the lens 'slow' at one in 100");
}

TEST(LensApart, ThereIsNoneWhereItIsChargedWithWhatOthersNeedAsWell) {
  Trainer trainer(0.01);
  trainer.own = 0.01;
  trainer.rest = 0.15;
  trainer.run(100);
  EXPECT_FALSE(trainer.budget.apart());
  EXPECT_EQ(trainer.changes, 1);
  EXPECT_EQ(trainer.budget.every(), 18U);
  EXPECT_EQ(trainer.looked - trainer.looked_by_all, 10) << "five pairs without it showed that";
  trainer.run(36 * 200);
  EXPECT_EQ(trainer.looked - trainer.looked_by_all, 4 * 10) << "tried again after 16, 32 and 64 pairs of 200";
  EXPECT_EQ(trainer.changes, 1);
  trainer.rest = 0.3;
  trainer.run(36 * 200);
  EXPECT_EQ(trainer.looked - trainer.looked_by_all, 7 * 10) << "where looking takes twice as much, more often again";
}

TEST(LensApart, ThereIsNoneWhereNobodyElseWouldLookMoreOften) {
  Trainer trainer(0.01);
  trainer.charges = {{"other", 0}, {"slow", 0.5}};
  trainer.run(1000);
  EXPECT_EQ(trainer.looked, trainer.looked_by_all);
  Trainer cheap(0.5);
  cheap.run(1000);
  EXPECT_EQ(cheap.budget.every(), 2U);
  EXPECT_EQ(cheap.looked, cheap.looked_by_all) << "all may look at every second step";
  EXPECT_EQ(cheap.asked, 0);
}

TEST(LensApart, ThereIsNoneWhereTwoTakeAlike) {
  Trainer trainer(0.01);
  trainer.rest = 0.3;
  trainer.own = 0.25;
  trainer.charges = {{"slow", 0.24}, {"slow too", 0.25}};
  trainer.run(2000);
  EXPECT_FALSE(trainer.budget.apart());
  EXPECT_EQ(trainer.budget.every(), 62U);
}

TEST(LensApart, IsTheNextOneWhereWhoIsChargedWithMostSavesNothing) {
  double shared = 0.3;
  Trainer trainer(0.01);
  trainer.charges = {{"other", 0.1}, {"charged", 0.16}, {"slow", 0.15}};
  trainer.rest = 0.02;
  trainer.own = 0;
  int step = 0;
  for (; step < 2000 && trainer.budget.apart() != 2U; ++step) {
    const bool without_slow = trainer.budget.apart() == 2U;
    trainer.rest = 0.02 + (without_slow ? 0 : shared);
    trainer.run(1);
  }
  ASSERT_LT(step, 2000);
  trainer.rest = 0.02;
  trainer.own = shared;
  trainer.run(1000);
  EXPECT_EQ(trainer.budget.apart(), 2U);
  EXPECT_EQ(trainer.budget.every(), 5U);
}

TEST(LensApart, JoinsTheOthersAgainWhereItIsQuick) {
  Trainer trainer(0.01);
  trainer.run(2000);
  EXPECT_EQ(trainer.budget.apart(), 1U);
  trainer.rest = 0.1;
  trainer.own = 0.02;
  trainer.run(20000);
  EXPECT_FALSE(trainer.budget.apart());
  EXPECT_EQ(trainer.budget.every(), 14U);
  EXPECT_EQ(trainer.budget.words(),
            "looks at one step in 14 from now on: to look at one adds 12 % to its time, so that it takes 0.86 % of "
            "all; attach.budget is 1 %");
}

TEST(LensApart, LooksStillLessOftenWhereItGetsSlower) {
  Trainer trainer(0.01);
  trainer.run(2000);
  trainer.own = 2;
  trainer.run(20000);
  EXPECT_EQ(trainer.budget.every(), 5U);
  EXPECT_GE(trainer.budget.multiple(), 72U);
  EXPECT_LE(trainer.run(20000), 0.01);
}

TEST(LensApart, BecomesSoAlsoWhereItIsSlowFromSomeStepOn) {
  Trainer trainer(0.01);
  trainer.own = 0.02;
  trainer.charges[1].seconds = 0.02;
  trainer.run(5000);
  EXPECT_EQ(trainer.budget.frequency(), "one step in 5");
  trainer.own = 0.5;
  trainer.charges[1].seconds = 0.5;
  trainer.run(30000);
  EXPECT_EQ(trainer.budget.apart(), 1U);
  EXPECT_EQ(trainer.budget.every(), 5U);
}

TEST(LensApart, ThatIsGoneLeavesTheBudgetToTheOthers) {
  Trainer trainer(0.01);
  trainer.rest = 0.04;
  trainer.run(200);
  EXPECT_EQ(trainer.budget.every(), 9U);
  trainer.budget.lose_apart();
  trainer.own = 0;
  trainer.run(500);
  EXPECT_EQ(trainer.budget.every(), 5U);
  EXPECT_EQ(trainer.changes, 2);
}

}  // namespace
}  // namespace loupe
