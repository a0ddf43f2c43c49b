#include <gtest/gtest.h>
#include <loupe/lenses/activation_plots.h>
#include <loupe/lenses/explanation.h>
#include <loupe/lenses/geometry_lens.h>
#include <loupe/lenses/learning_rates.h>

#include <cmath>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "fake.h"

namespace loupe::test {
namespace {

/// Sources with numbers that the test sets, and a report that stores what a lens writes.
class World {
 public:
  World() {
    wiring_.struct_size = sizeof wiring_;
    wiring_.series_count = [](void*, loupe_source* source) { return all(source).size(); };
    wiring_.find = [](void*, loupe_source* source, const char* name, size_t* index, loupe_error*) -> loupe_status {
      const auto found = all(source).find(name);
      *index = static_cast<size_t>(std::distance(all(source).begin(), found));
      return found != all(source).end() ? LOUPE_OK : LOUPE_NOT_FOUND;
    };
    wiring_.read = [](void*, loupe_source* source, size_t i, loupe_series* row, loupe_error*) -> loupe_status {
      *row = at(source, i).second.row(at(source, i).first.c_str());
      return LOUPE_OK;
    };
    sink_.struct_size = sizeof sink_;
    sink_.context = this;
    sink_.tag = [](void* self, const loupe_tag* tag, loupe_error*) -> loupe_status {
      static_cast<World*>(self)->tags.insert(tag->id);
      return LOUPE_OK;
    };
    sink_.row = [](void* self, const loupe_row* row, loupe_error*) -> loupe_status {
      const std::string plot = std::string(row->tag) + " | " + (row->layer != nullptr ? row->layer : row->tag) + " | ";
      for (std::size_t i = 0; i < row->value_count; ++i)
        static_cast<World*>(self)->values[plot + row->value_names[i]] = row->values[i];
      for (std::size_t i = 0; i < row->band_count; ++i) {
        static_cast<World*>(self)->bands[plot + row->band_names[2 * i] + ".." + row->band_names[2 * i + 1]] = {
            row->bands[2 * i], row->bands[2 * i + 1]};
      }
      ++static_cast<World*>(self)->rows;
      return LOUPE_OK;
    };
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Layer layer(const char* name, const std::map<std::string, std::vector<double>>& series) {
    Numbers& numbers = numbers_.emplace_back();
    for (const auto& [key, pushed] : series) {
      for (const double value : pushed) numbers[key].push(value);
    }
    return {FakeModule(name, "Linear").module(), Source(&wiring_, reinterpret_cast<loupe_source*>(&numbers))};
  }
  Report& report() { return report_; }
  loupe_tick& tick() { return tick_; }
  std::set<std::string> tags;
  std::map<std::string, double> values;
  std::map<std::string, std::pair<double, double>> bands;
  int rows = 0;

 private:
  using Numbers = std::map<std::string, Series>;
  static Numbers& all(loupe_source* source) { return *reinterpret_cast<Numbers*>(source); }
  static Numbers::value_type& at(loupe_source* source, size_t i) {
    return *std::next(all(source).begin(), static_cast<std::ptrdiff_t>(i));
  }
  std::list<Numbers> numbers_;
  loupe_wiring wiring_{};
  loupe_sink sink_{};
  loupe_tick tick_{};
  Report report_{&sink_, &tick_};
};

using Values = std::map<std::string, double>;

/// An optimizer with a learning rate for each group and no other settings.
struct FakeOptimizer {
  FakeOptimizer(uint64_t id, const char* type, const std::vector<double>& rates, const char* model = "") {
    for (const double rate : rates) {
      groups.push_back({.struct_size = sizeof(loupe_parameter_group),
                        .flags = LOUPE_GROUP_HAS_LEARNING_RATE,
                        .learning_rate = rate});
    }
    for (const auto& group : groups) pointers.push_back(&group);
    optimizer = {sizeof(loupe_optimizer), 0, id, model, type, pointers.data(), pointers.size()};
  }
  std::list<loupe_parameter_group> groups;
  std::vector<const loupe_parameter_group*> pointers;
  loupe_optimizer optimizer{};
};

TEST(LearningRates, HaveDifferentNamesForGroupsAndOptimizers) {
  const FakeOptimizer groups(1, "SGD", {0.1, 0.2}), first(2, "Adam", {0.3}), second(3, "Adam", {0.4}),
      other(4, "Adam", {0.5}, "critic");
  const loupe_optimizer* all[] = {&groups.optimizer, &first.optimizer, &second.optimizer, &other.optimizer};
  World world;
  world.tick().optimizers = all;
  world.tick().optimizer_count = std::size(all);
  LearningRates().report(world.report(), true, false);
  const std::string plot = "Learning Rate | Learning Rate | ";
  EXPECT_EQ(world.values, (Values{{plot + "SGD group 0", 0.1},
                                  {plot + "SGD group 1", 0.2},
                                  {plot + "Adam", 0.3},
                                  {plot + "Adam 2", 0.4},
                                  {plot + "critic Adam", 0.5}}));
}

TEST(Comparison, DividesFiniteValuesAndLeavesOutTheRest) {
  World world;
  const Layers layers = {world.layer("a", {{"norm", {1}}}), world.layer("b", {{"norm", {3}}}),
                         world.layer("nan", {{"norm", {NAN}}}), world.layer("none", {{"norm", {}}})};
  Comparison::introduce(world.report(), "Shares");
  Comparison::write(world.report(), "Shares", layers, "norm", Aggregate::mean);
  EXPECT_EQ(world.tags, std::set<std::string>{"Shares"});
  EXPECT_EQ(world.values, (Values{{"Shares | Shares | a", 0.25}, {"Shares | Shares | b", 0.75}}));
}

TEST(Comparison, ShowsAZeroSumAsZeros) {
  World world;
  Comparison::write(world.report(), "Shares", {world.layer("a", {{"norm", {0}}})}, "norm", Aggregate::mean);
  EXPECT_EQ(world.values, (Values{{"Shares | Shares | a", 0}}));
}

TEST(NonFinite, CountsValuesThatAreNotAveragedAndAddsNoPlotWithoutThem) {
  World world;
  NonFinite non_finite;
  non_finite.write(world.report(), "Norm", "fine", world.layer("fine", {{"norm", {1}}}).source.read(0));
  EXPECT_TRUE(world.tags.empty() && world.values.empty());
  non_finite.write(world.report(), "Norm", "bad",
                   world.layer("bad", {{"norm", {NAN, 1, INFINITY, NAN}}}).source.read(0));
  EXPECT_EQ(world.values,
            (Values{{"Non-Finite Values | bad | Norm NaN", 2}, {"Non-Finite Values | bad | Norm Inf", 1}}));
  EXPECT_EQ(world.tags.size(), 1u);
}

TEST(Lines, ReportALayersLinesAndBandsInOneRow) {
  World world;
  const Lines lines({"mean", "max"}, {"min-max", "std"});
  const Layer layer = world.layer("a", {{"norm", {1, 3}}});
  lines.write(world.report(), "Norm", "a", layer.source.read(0), "x ");
  EXPECT_EQ(world.rows, 1);
  EXPECT_EQ(world.values, (Values{{"Norm | a | x mean", 2}, {"Norm | a | x max", 3}}));
  EXPECT_EQ(world.bands, (std::map<std::string, std::pair<double, double>>{{"Norm | a | x min..x max", {1, 3}},
                                                                           {"Norm | a | x -σ..x +σ", {1, 3}}}));
}

TEST(ReportRow, ReportsNothingWithoutNumbers) {
  World world;
  Report::Row(world.report()).tell("T");
  EXPECT_EQ(world.rows, 0);
}

TEST(ReportRow, KeepsNothingOfThePreviousRow) {
  World world;
  for (const char* layer : {"a", "b"}) {
    Report::Row row(world.report());
    row.value(layer, 1);
    row.range(layer, "high", 2, 3);
    row.tell("T", layer);
  }
  EXPECT_EQ(world.rows, 2);
  EXPECT_EQ(world.values, (Values{{"T | a | a", 1}, {"T | b | b", 1}}));
  EXPECT_EQ(world.bands.size(), 2u);
}

TEST(ActivationPlots, ShowEachLayersRatesAndTheWorstSinceTheLastReport) {
  World world;
  with_options(
      {{"inplace", true}, {"warning_plot", true}, {"activation_aggregation", "mean"}, {"death_aggregation", "max"}},
      [&](const Options& options) {
        ActivationPlots plots(options, "Worst");
        plots.write(world.report(), "Rates",
                    {world.layer("a", {{"activation", {0.5}}, {"death", {0.1, 0.3}}}),
                     world.layer("b", {{"activation", {0.25}}, {"death", {0.2}}})});
        plots.write_warnings(world.report());
        EXPECT_EQ(world.values.at("Rates | a | death_rate"), 0.3);
        EXPECT_EQ(world.values.at("Worst | Worst | worst activation_rate"), 0.25);
        EXPECT_EQ(world.values.at("Worst | Worst | worst death_rate"), 0.3);
        world.values.clear();
        plots.write_warnings(world.report());
      });
  EXPECT_TRUE(world.values.empty());
}

}  // namespace
}  // namespace loupe::test
