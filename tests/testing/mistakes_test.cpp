// Mistakes of a lens's author that are let pass in training, and refused in a Bench.

#include <gtest/gtest.h>
#include <loupe/plugin.h>
#include <loupe/testing.h>

#include <optional>
#include <string>

namespace {

namespace lt = loupe::testing;
using lt::Bench;
using lt::tensor;

/// Makes the mistake that it is told to.
class Mistaken : public loupe::Lens {
 public:
  static constexpr const char *name = "mistaken", *help = "makes a mistake";
  static std::vector<loupe::Option> options() { return {{"mistake", "none", "which"}}; }
  explicit Mistaken(const loupe::Options& options) : mistake_(options.get<std::string>("mistake")) {}

  void visit(const loupe::Module& module) override {
    if (mistake_ == "blind") return;
    const char* gatherer = mistake_ == "label" ? "step_gradient" : "forward";
    source_ = watch(module,
                    loupe::Watch(gatherer).label(mistake_ == "label" ? "wieght" : nullptr).measure(LOUPE_MEASURE_SUMS),
                    loupe::preprocessor_of(loupe::Watch("forward").measure(LOUPE_MEASURE_SUMS).request(),
                                           [](const loupe::Event& event, loupe::Numbers& numbers) {
                                             numbers.push("sum", event.measurement().sum);
                                             numbers.push("squares", event.measurement().sum_squares);
                                           }));
  }
  void report(loupe::Report& report) override {
    if (mistake_ == "blind") return;
    report.tag("Sums", {});
    if (mistake_ == "tag") report.value("Sum", "fc1", "mean", 1);
    if (mistake_ == "range") report.range("Sum", "fc1", "min", "max", 1, 2);
    const auto sum = source_.get(mistake_ == "series" ? "smu" : "sum");
    if (sum) report.value("Sums", "fc1", "mean", *sum);
    if (mistake_ == "values") source_.values("sqares");
  }
  std::optional<double> query(std::string_view) override { return std::nullopt; }
  void step(const loupe::Step&, loupe::Report& report) override {
    if (mistake_ == "late") report.value("Sums", "fc1", "mean", 1);
  }

 private:
  std::string mistake_;
  loupe::Source source_;
};

/// One that takes no steps.
struct Blind : loupe::Lens {
  static constexpr const char *name = "blind", *help = "watches nothing";
  static std::vector<loupe::Option> options() { return {}; }
  explicit Blind(const loupe::Options&) {}
  void visit(const loupe::Module&) override {}
  void report(loupe::Report&) override {}
};

LOUPE_STATIC_PLUGIN(mistaken_plugin, "mistaken", "1.0", Mistaken, Blind);

/// All that an epoch with that mistake tells the user.
std::string told_of(const std::string& lens) {
  Bench bench("lenses: [" + lens + "]", {LOUPE_BUILT_PLUGINS}, {&mistaken_plugin});
  const auto layer = bench.module("fc1", "Linear", {{"weight", {1}}});
  bench.forward(layer, tensor({1, 2}));
  bench.step();
  bench.tick();
  std::string told;
  for (const std::string& line : bench.log()) told += line + "\n";
  return told;
}
std::string told(const std::string& mistake) {
  return told_of("mistaken: {mistake: " + mistake + "}");
}

#define EXPECT_TOLD(TEXT, PART) EXPECT_NE((TEXT).find(PART), std::string::npos) << (TEXT)

TEST(Mistakes, NoneIsNothingToTell) {
  EXPECT_EQ(told("none").find("mistaken"), std::string::npos) << told("none");
}

TEST(Mistakes, ASeriesThatThereIsNotIsRefusedWithThoseThatThereAre) {
  EXPECT_TOLD(told("series"), "there is no series 'smu', did you mean 'sum'? There are: sum, squares");
  EXPECT_TOLD(told("values"), "there is no series 'sqares', did you mean 'squares'?");
}

TEST(Mistakes, AValueOfATagThatWasNotToldIsRefusedWithThoseThatWere) {
  const std::string expected = "a value of the tag 'Sum' is told before the tag";
  for (const char* mistake : {"tag", "range"}) EXPECT_TOLD(told(mistake), expected);
  EXPECT_TOLD(told("tag"), "told were 'Sums'");
}

TEST(Mistakes, AValueOutsideOfTheReportIsRefusedWithWhereItBelongs) {
  EXPECT_TOLD(told("late"), "is called in step of the lens, where its contract does not allow it; call it in report");
}

TEST(Mistakes, AParameterThatTheModuleLacksIsRefused) {
  EXPECT_TOLD(told("label"), "wieght");
}

TEST(Mistakes, ALensThatWatchesNothingIsToldWithWhatThereWas) {
  EXPECT_TOLD(told_of("blind"),
              "the lens 'blind' watches none of the modules that it was shown, and told nothing; they "
              "are of the types Linear");
}

}  // namespace
