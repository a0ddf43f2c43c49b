// A lens that makes the mistake named by its option.

#include <loupe/plugin.h>
#include <loupe/testing.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "mistakes/told.h"
#include "paths.h"

namespace loupe::test {
namespace {

loupe::Watch sums(const char* gatherer) {
  return loupe::Watch(gatherer).measure(LOUPE_MEASURE_SUMS);
}

class MistakenLens : public loupe::Lens {
 public:
  static constexpr const char *name = "mistaken", *help = "makes a mistake";
  static std::vector<loupe::Option> options() { return {{"mistake", "none", "which"}, {"scale", 1.0, "a number"}}; }
  explicit MistakenLens(const loupe::Options& options) : mistake_(options.get<std::string>("mistake")) {
    if (is("option")) options.get<double>("scal");
    if (is("option_type")) options.get<bool>("scale");
    if (is("create")) throw std::invalid_argument("scale and mistake do not go together");
  }

  void visit(const loupe::Module& module) override {
    if (is("visit")) throw std::runtime_error("it knows no Linear");
    if (is("gatherer")) return void(watch(module, loupe::Watch("forwrad").preprocessor("output_norm")));
    if (is("preprocessor")) return void(watch(module, loupe::Watch("forward").preprocessor("output_nrm")));
    if (is("label"))
      return void(watch(module, loupe::Watch("step_gradient").label("wieght").preprocessor("output_norm")));
    if (is("no_label")) return void(watch(module, loupe::Watch("step_gradient").preprocessor("output_norm")));
    const bool reads = is("indices") || is("index") || is("size");
    const loupe::Watch forward = reads ? loupe::Watch("forward") : sums("forward");
    source_ =
        watch(module, forward,
              loupe::preprocessor_of(forward.request(), [this](const loupe::Event& event, loupe::Numbers& numbers) {
                if (is("process")) throw std::runtime_error("it divides by zero");
                if (is("indices")) loupe::Elements(event.tensor())(0, 0, 0);
                if (is("index")) loupe::Elements(event.tensor())(1'000'000);
                if (is("size")) (void)loupe::Elements(event.tensor()).size(7);
                numbers.push("sum", event.measurement().sum);
                numbers.push("squares", event.measurement().sum_squares);
              }));
  }
  void report(loupe::Report& report) override {
    if (is("report")) throw std::runtime_error("it has no layers");
    report.tag("Sums", {});
    if (is("stolen_tag")) report.tag("Output Norm", {});
    if (is("stolen_value")) report.value("Output Norm", "fc1", "mean", 1);
    if (is("twice")) report.value("Sums", "fc1", "mean", 1);
    if (is("tag")) report.value("Sum", "fc1", "mean", 1);
    if (is("range")) report.range("Sum", "fc1", "min", "max", 1, 2);
    if (is("row")) {
      loupe_row row{};
      row.struct_size = sizeof row;
      row.tag = "Sums";
      row.value_count = 1;
      report.row(row);
    }
    if (is("rule")) rule_.see({nullptr, 2, 1, "it is too much"});
    if (is("finding")) report.finding({});
    if (is("quantile")) source_.get("sum", loupe::Aggregate::median);
    if (is("values")) source_.values("sqares");
    if (is("values_folded")) source_.values("sum");
    const auto sum = source_.get(is("series") ? "smu" : "sum");
    if (sum) report.value("Sums", "fc1", "mean", *sum);
  }
  void step(const loupe::Step&, loupe::Report& report) override {
    if (is("late")) report.value("Sums", "fc1", "mean", 1);
  }

 private:
  bool is(const char* mistake) const { return mistake_ == mistake; }

  std::string mistake_;
  loupe::Source source_;
  loupe::Rule rule_{"too_much"};
};

/// A lens without step().
struct Blind : loupe::Lens {
  static constexpr const char *name = "blind", *help = "watches nothing";
  explicit Blind(const loupe::Options&) {}
  void visit(const loupe::Module&) override {}
  void report(loupe::Report&) override {}
};

LOUPE_STATIC_PLUGIN(mistaken_plugin, "mistaken", "1.0", MistakenLens, Blind);

}  // namespace

std::string told_of_lens(const std::string& lens) try {
  testing::Bench bench("lenses: [" + lens + "]", {LOUPE_BUILT_PLUGINS}, {&mistaken_plugin});
  const auto layer = bench.module("fc1", "Linear", {{"weight", {1}}});
  bench.forward(layer, testing::tensor({1, 2}));
  bench.step();
  bench.tick();
  bench.tick();
  std::string told;
  for (const std::string& line : bench.log()) told += line + "\n";
  return told;
} catch (const std::exception& refused) {  // the lens was refused when created
  return refused.what();
}

std::string told_in_a_bench(const std::string& mistake) {
  return told_of_lens("mistaken: {mistake: " + mistake + "}");
}

}  // namespace loupe::test
