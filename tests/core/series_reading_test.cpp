// The series of a lens's own preprocessor, which the host returns to that lens, and saves for other processes of the
// run.

#include <gtest/gtest.h>
#include <loupe/plugin.h>

#include <string>

#include "monitored.h"
#include "paths.h"
#include "ranks/lens_states.h"

namespace loupe {
namespace {

/// Fails at a sum of 13. Writes its state byte by byte; save_half writes only half of it.
class Sums : public Preprocessor {
 public:
  Request request() const override {
    Request request;
    request.measures = LOUPE_MEASURE_SUMS;
    return request;
  }
  void process(const Event& event) override {
    if (event.measurement().sum == 13) throw Error("a sum of 13");
    sum_.push(event.measurement().sum);
    largest_.push(event.measurement().sum);
  }

  static loupe_status save_bytes(void* self, loupe_write write, void* writer, loupe_error* error) {
    const std::string state = static_cast<Preprocessor*>(self)->save_state();
    for (const char& byte : state) {
      if (const loupe_status status = write(writer, &byte, 1, error); status != LOUPE_OK) return status;
    }
    return write(writer, nullptr, 0, error);
  }
  static loupe_status save_half(void* self, loupe_write write, void* writer, loupe_error* error) {
    const std::string state = static_cast<Preprocessor*>(self)->save_state();
    write(writer, state.data(), state.size() / 2, error);
    detail::write_error(error, "the other half is lost");
    return LOUPE_FAILED;
  }

 private:
  Series &sum_ = add_series("sum"), &largest_ = add_series("largest");
};

class SumsLens : public Lens {
 public:
  static constexpr const char *name = "sums", *help = "has its own preprocessor";
  static std::vector<Option> options() { return {{"whole", true, "save the whole state"}}; }
  explicit SumsLens(const Options& options) {
    table_.save_state = options.get<bool>("whole") ? &Sums::save_bytes : &Sums::save_half;
  }
  void visit(const Module& module) override {
    loupe_watch watched{};
    watched.struct_size = sizeof watched;
    watched.module = module.raw();
    watched.gatherer = "forward";
    watched.own_interface = &table_;
    watched.own_preprocessor = static_cast<Preprocessor*>(&sums_);
    detail::ErrorBuffer error;
    loupe_source* source = nullptr;
    error.check(wiring()->watch(wiring()->context, &watched, &source, error.get()));
    source_ = Source(wiring(), source);
  }
  void report(Report& report) override {
    report.tag("Sums", {});
    const auto sums = source_.find("sum");
    report.value("Sums", "Sums", "count", static_cast<double>(sums->count()));
    if (const auto mean = sums->get(Aggregate::mean)) report.value("Sums", "Sums", "mean", *mean);
    detail::ErrorBuffer error;
    std::size_t index = 0;
    not_found = wiring()->find(wiring()->context, source_.raw(), "larges", &index, error.get());
    told = error.text();
    has_unknown = source_.find("larges").has_value();
    loupe_series row{};  // another build may know a shorter struct
    row.struct_size = offsetof(loupe_series, sum);
    row.mean = 7;
    error.check(wiring()->read(wiring()->context, source_.raw(), 1, &row, error.get()));
    keeps_beyond = row.mean == 7 && row.name == std::string("largest");
  }

  static inline loupe_status not_found;
  static inline std::string told;
  static inline bool has_unknown, keeps_beyond;

 private:
  loupe_preprocessor table_ = *detail::preprocessor_table();
  Sums sums_;
  Source source_;
};
LOUPE_STATIC_PLUGIN(sums_plugin, "sums", "1.0", SumsLens);

/// A run with the lens `sums`.
struct WithSums : Monitored {
  explicit WithSums(const std::string& lens = "sums") : Monitored(config_of(lens)), module(add("layer")) {}
  void forward(std::vector<float> values) const { Monitored::forward(*module, std::move(values)); }
  std::optional<double> tick(const std::string& line) {
    Monitored::tick();
    return shown("Sums", line, "Sums");
  }
  LensNode& lens() { return *monitor.lenses()[0]; }

  std::shared_ptr<ModuleNode> module;

 private:
  static Config config_of(const std::string& lens) {
    Catalogue catalogue;
    static const PluginLibrary plugin = read_entry(sums_plugin, "linked into this program");
    catalogue.add_plugin(plugin);
    return Config::from_text("plugins: {path: [" + LOUPE_BUILT_PLUGINS + "]}\nlenses: [" + lens + "]\n", "a.yaml", "/",
                             std::move(catalogue));
  }
};

TEST(SeriesOfALens, AreReadAsRowsAndEmptyWithoutEvents) {
  WithSums run;
  EXPECT_EQ(run.tick("count"), 0);
  EXPECT_EQ(run.shown("Sums", "mean", "Sums"), std::nullopt);
  run.forward({1, 2});
  run.forward({4, 5});
  EXPECT_EQ(run.tick("count"), 2);
  EXPECT_EQ(run.shown("Sums", "mean", "Sums"), 6);
  EXPECT_FALSE(run.lens().quarantined());
}

TEST(SeriesOfALens, WhoseOwnPreprocessorFailsAreReportedWithoutAName) {
  const WithSums run;
  run.forward({6, 7});
  EXPECT_SAYS(only(run.stage.take_messages()), "failed at its own preprocessor at forward of 'layer': a sum of 13");
}

TEST(SeriesOfALens, ThatDoNotExistAreReportedWithThoseThatDo) {
  WithSums run;
  run.tick("count");
  EXPECT_EQ(SumsLens::not_found, LOUPE_NOT_FOUND);
  EXPECT_EQ(SumsLens::told, "there is no series 'larges', did you mean 'largest'? There are: sum, largest");
  EXPECT_FALSE(SumsLens::has_unknown);
}

TEST(SeriesOfALens, AreWrittenOnlyUpToTheEndOfTheCallersStruct) {
  WithSums run;
  run.tick("count");
  EXPECT_TRUE(SumsLens::keeps_beyond);
}

TEST(SeriesOfALens, AreSavedInAnyNumberOfPieces) {
  WithSums one, other;
  one.forward({1});
  other.forward({2, 3});
  const LensStates states = LensStatesOf(other.lens()).take();
  EXPECT_EQ(states.unable, "");
  ASSERT_EQ(states.sources.size(), 1u);
  EXPECT_TRUE(LensStatesOf(one.lens()).merge(states, false));
  EXPECT_EQ(one.tick("mean"), 3);
}

TEST(SeriesOfALens, ThatCannotBeSavedAreReportedWithTheReason) {
  WithSums run("sums: {whole: false}");
  run.forward({1});
  const LensStates states = LensStatesOf(run.lens()).take();
  EXPECT_EQ(states.unable, "saving its state failed: the other half is lost");
  EXPECT_TRUE(states.sources.empty());
}

}  // namespace
}  // namespace loupe
