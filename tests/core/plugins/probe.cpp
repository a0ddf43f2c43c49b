// Components of all four kinds, whose behavior a test chooses.

#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/loss_input.h>
#include <loupe/draft/incidents.h>
#include <loupe/draft/lens_query.h>
#include <loupe/draft/measured.h>
#include <loupe/draft/rows.h>
#include <loupe/internal/tally.h>
#include <loupe/plugin.h>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/actor.h"
#include "plugins/probe_visualizer.h"

namespace loupe {

/// Passes its events on.
template <class Self, uint32_t tap>
class ProbeGatherer : public Gatherer {
 public:
  static constexpr const char* help = "passes the events of one tap on";
  static std::vector<Option> options() {
    return {{"kinds", Strings{}, "nothing but a way to differ"}, {"scale", 1.0, "the same", 0.0}};
  }
  ProbeGatherer(const Options&, const Host& host) : actor_(host, Self::name) {}
  void open(const std::optional<Module>& module, const char* label) override {
    actor_.act(std::string("open ") + (module ? module->name() : "pushes"));
    subscribe(tap, label);
  }
  void event(const Event& event) override {
    actor_.act("event " + std::to_string(event.number()));
    emit(*event.raw());
  }

 private:
  Actor actor_;
};

class ProbeForward : public ProbeGatherer<ProbeForward, LOUPE_TAP_FORWARD> {
 public:
  static constexpr const char* name = "probe_forward";
  using ProbeGatherer::ProbeGatherer;
};
class ProbeGradient : public ProbeGatherer<ProbeGradient, LOUPE_TAP_PARAMETER_GRADIENT> {
 public:
  static constexpr const char* name = "probe_gradient";
  static std::vector<const char*> aliases() { return {"probe_parameter_gradient"}; }
  using ProbeGatherer::ProbeGatherer;
};
class ProbePush : public ProbeGatherer<ProbePush, LOUPE_TAP_PUSH> {
 public:
  static constexpr const char* name = "probe_push";
  using ProbeGatherer::ProbeGatherer;
};

class ProbeLossInput : public ProbeGatherer<ProbeLossInput, LOUPE_DRAFT_TAP_LOSS_INPUT> {
 public:
  static constexpr const char* name = "probe_loss_input";
  using ProbeGatherer::ProbeGatherer;
};

/// Only subscribes, so that the host passes its events on.
class ProbePlain : public Gatherer {
 public:
  static constexpr const char* name = "probe_plain";
  static constexpr const char* help = "only subscribes to its events";
  static std::vector<Option> options() { return {{"kinds", Strings{}, "nothing but a way to differ"}}; }
  explicit ProbePlain(const Options&) {}
  void open(const std::optional<Module>&, const char* label) override { subscribe(LOUPE_TAP_FORWARD, label); }
};

/// Keeps the measurements of each event.
class ProbeNumbers : public Preprocessor {
 public:
  static constexpr const char* name = "probe_numbers";
  static constexpr const char* help = "keeps a series for each measured number";
  static std::vector<Option> options() {
    return {{"id", "numbers", "its name in the test's notes"},
            {"measures", Strings{"sums"}, "what to ask for", {"sums", "previous", "change", "activity", "none"}},
            {"passes", "both", "which passes", {"both", "training", "evaluation"}},
            {"places", "both", "tensors of which places", {"both", "cpu", "device", "unsaid"}},
            {"tensor", false, "ask for tensors"},
            {"sparse", false, "ask for sparse ones, too"}};
  }
  ProbeNumbers(const Options& options, const Host& host) : actor_(host, options.get<std::string>("id")) {
    for (const std::string& measure : options.get<Strings>("measures")) {
      if (measure == "sums") request_.measures |= LOUPE_MEASURE_SUMS;
      if (measure == "previous") request_.measures |= LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_SUMS;
      if (measure == "change") request_.measures |= LOUPE_MEASURE_CHANGE;
      if (measure == "activity") request_.measures |= LOUPE_MEASURE_ACTIVITY;
    }
    const std::string passes = options.get<std::string>("passes");
    request_.passes = passes == "both"       ? LOUPE_PASS_BOTH
                      : passes == "training" ? LOUPE_PASS_TRAINING
                                             : LOUPE_PASS_EVALUATION;
    const std::string places = options.get<std::string>("places");
    const std::map<std::string, uint32_t> named = {
        {"both", LOUPE_PLACE_BOTH}, {"cpu", LOUPE_PLACE_CPU}, {"device", LOUPE_PLACE_DEVICE}, {"unsaid", 0}};
    request_.places = named.at(places);
    request_.wants_tensor = options.get<bool>("tensor");
    request_.takes_sparse = options.get<bool>("sparse");
  }

  Request request() const override {
    actor_.act("request");
    return request_;
  }
  void process(const Event& event) override {
    actor_.act("process " + std::to_string(event.number()));
    if (event.tap() == LOUPE_TAP_PUSH) return keep(event.label(), event.scalar());
    keep("tap", event.tap());
    const bool is_deferred = (event.raw()->flags & LOUPE_EVENT_DEFERRED) != 0;
    keep("deferred", is_deferred ? 1 : 0);
    if (is_deferred) keep("deferred step", static_cast<double>(event.step()));
    if (event.is_sparse()) keep("sparse", 1);
    keep("tensor", event.tensor() ? 1 : 0);
    if (!event.has_measurement()) return;
    const Measurement& measured = event.measurement();
    actor_.note("measurement " + std::to_string(reinterpret_cast<uintptr_t>(&measured)));
    if ((measured.measures & LOUPE_MEASURE_SUMS) != 0) keep("sum", measured.sum);
    if ((measured.measures & LOUPE_MEASURE_PREVIOUS) != 0) keep("dot_previous", measured.dot_previous);
    if ((measured.measures & LOUPE_MEASURE_CHANGE) != 0) keep("change", measured.change_sum_squares);
  }
  void reset() override { actor_.note("reset"); }

 private:
  void keep(const std::string& series, double number) { find_or_add_series(series, Series::Keep::values).push(number); }

  Actor actor_;
  Request request_;
};

/// Watches every leaf with one preprocessor, and reports the last values of all its series.
class ProbeLens : public Lens {
 public:
  static constexpr const char* name = "probe_lens";
  static constexpr const char* help = "reports what it is told to watch";
  static std::vector<const char*> aliases() { return {"probe"}; }
  static std::vector<Option> options() {
    return {{"id", "lens", "its name in the test's notes"},
            {"gatherer", "probe_forward", "what to watch"},
            {"preprocessor", "probe_numbers", "how to process it"},
            {"label", "", "the parameter to watch"},
            {"kinds", Strings{}, "options of the gatherer"},
            {"measures", Strings{"sums"}, "options of the preprocessor"},
            {"passes", "both", "option of the preprocessor", {"both", "training", "evaluation"}},
            {"places", "both", "option of the preprocessor", {"both", "cpu", "device", "unsaid"}},
            {"tensor", false, "option of the preprocessor"},
            {"sparse", false, "option of the preprocessor"},
            {"pushes", false, "also watch pushed values"},
            {"twice", false, "watch every stream twice"},
            {"ratio", 0.5, "nothing but a bounded number", 0.0, 1.0},
            {"small", 1, "an integer without effect"},
            {"tables", Strings{}, "the formats of tables, without effect", {"wide", "narrow"}},
            {"rests",
             Strings{},
             "what its sources stop receiving after each report",
             {"nothing", "measures", "events", "tensors", "usual", "more"}},
            {"wrong",
             "nothing",
             "which forbidden call it makes",
             {"nothing", "rest_too_late", "tally_too_late", "foreign_tally", "other_build"}},
            Option::map("extra", "any further options")};
  }
  ProbeLens(const Options& options, const Host& host)
      : actor_(host, options.get<std::string>("id")),
        gatherer_(options.get<std::string>("gatherer")),
        preprocessor_(options.get<std::string>("preprocessor")),
        label_(options.get<std::string>("label")),
        pushes_(options.get<bool>("pushes")),
        twice_(options.get<bool>("twice")),
        rests_(options.get<Strings>("rests")),
        wrong_(options.get<std::string>("wrong")),
        gatherer_options_{{"kinds", options.get<Strings>("kinds")}},
        preprocessor_options_{{"id", options.get<std::string>("id") + ".numbers"},
                              {"measures", options.get<Strings>("measures")},
                              {"passes", options.get<std::string>("passes")},
                              {"places", options.get<std::string>("places")},
                              {"tensor", options.get<bool>("tensor")},
                              {"sparse", options.get<bool>("sparse")}} {
    options.get<int>("small");
  }

  void attach() override {
    actor_.act("attach");
    if (pushes_) pushed_ = watch_pushes(Watch("probe_push").preprocessor("probe_numbers", preprocessor_options_));
  }
  void visit(const Module& module) override {
    actor_.act(std::string("visit ") + module.name());
    if (!module.is_leaf()) return;
    const Watch watched = Watch(gatherer_.c_str(), gatherer_options_)
                              .label(label_.empty() ? nullptr : label_.c_str())
                              .preprocessor(preprocessor_.c_str(), preprocessor_options_);
    sources_[module.name()] = watch(module, watched);
    if (twice_) watch(module, watched);
  }
  void forget(const Module& module) override {
    actor_.note(std::string("forget ") + module.name());
    try {
      if (wrong_ == "rest_too_late") rest("events");
      if (wrong_ == "tally_too_late") internal::make_tally(*this);
    } catch (const Error& error) {
      actor_.note(std::string("is refused: ") + error.what());
    }
    sources_.erase(module.name());
  }
  void report(Report& report) override {
    actor_.act("report " + text_of(report.epoch()));
    report.tag("Probe", TagStyle());
    if (wrong_ == "foreign_tally")
      internal::use(sources_.begin()->second, internal::Tally(nullptr, nullptr, reinterpret_cast<loupe_tally*>(this)));
    if (wrong_ == "other_build") {
      const void* table = wiring()->get_extension(wiring()->context, LOUPE_INTERNAL_TALLY_ID "0");
      actor_.note(table == nullptr ? "gets no table" : "gets a table");
    }
    if (tally_) write(report, tally_.take());
    if (reports_ < static_cast<int>(rests_.size())) rest(rests_[static_cast<std::size_t>(reports_)]);
    ++reports_;
    for (const auto& [layer, source] : sources_) write(report, layer, source);
    if (pushed_) write(report, "pushes", *pushed_);
  }
  std::optional<double> query(std::string_view key) {
    return key == "reports" ? std::optional<double>(reports_) : std::nullopt;
  }
  const void* get_extension(const char* id) override { return draft::query_extension<ProbeLens>(id); }

 private:
  static uint32_t named_rest(const std::string& name) {
    const std::map<std::string, uint32_t> named = {{"nothing", 0},
                                                   {"measures", LOUPE_DRAFT_REST_MEASURES},
                                                   {"events", LOUPE_REST_EVENTS},
                                                   {"tensors", LOUPE_DRAFT_REST_TENSORS},
                                                   {"more", 1U << 7}};
    return named.at(name);
  }
  void rest(const std::string& what) {
    if (what == "usual" && !tally_) tally_ = internal::make_tally(*this);
    for (const auto& [layer, source] : sources_) {
      const uint32_t bits = what == "usual" ? 0 : named_rest(what);
      bits == 0 ? source.wake() : source.rest(bits);
      internal::use(source, what == "usual" ? tally_ : internal::Tally());
    }
  }
  void write(Report& report, const internal::Tally::Sums& sums) {
    report.value("Probe", "tally", "events", static_cast<double>(sums.events));
    report.value("Probe", "tally", "nonzero_events", static_cast<double>(sums.nonzero_events));
    report.value("Probe", "tally", "changed_events", static_cast<double>(sums.changed_events));
    report.value("Probe", "tally", "sum_squares", sums.sum_squares);
    for (const auto& [layer, source] : sources_) {
      if (source.raw() == sums.largest) report.value("Probe", "tally", "largest is " + layer, sums.largest_sum_squares);
      if (source.raw() == sums.last) report.value("Probe", "tally", "last is " + layer, sums.last_sum_squares);
    }
  }
  static void write(Report& report, const std::string& layer, const Source& source) {
    for (std::size_t i = 0; i < source.series_count(); ++i) {
      const SeriesNumbers numbers = source.read(i);
      const std::string series = numbers.name();
      if (const auto count = numbers.get(Aggregate::count)) report.value("Probe", layer, series + " count", *count);
      if (const auto last = numbers.get(Aggregate::last)) report.value("Probe", layer, series, *last);
    }
  }

  Actor actor_;
  std::string gatherer_, preprocessor_, label_;
  bool pushes_, twice_;
  Strings rests_;
  std::string wrong_;
  OptionValues gatherer_options_, preprocessor_options_;
  std::map<std::string, Source> sources_;
  internal::Tally tally_;
  std::optional<Source> pushed_;
  int reports_ = 0;
};

/// Reports at each tick the sums that all lenses have reported.
class ProbeJudge : public Lens {
 public:
  static constexpr const char* name = "probe_judge";
  static constexpr const char* help = "repeats the sums that other lenses report";
  static std::vector<Option> options() { return {{"fails", false, "it throws at the first number"}}; }
  explicit ProbeJudge(const Options& options) : fails_(options.get<bool>("fails")) {}
  void visit(const Module&) override {}
  void report(Report&) override {}
  const void* get_extension(const char* id) override {
    return std::strcmp(id, LOUPE_DRAFT_ROWS_ID) == 0 ? draft::rows_extension<ProbeJudge>() : nullptr;
  }
  void number(const char* tag, const char* layer, const char* line, double value) {
    if (fails_) throw Error("it fails");
    if (std::strcmp(line, "sum") == 0)
      heard_ += std::string(tag) + "/" + layer + "/" + line + "=" + text_of(value) + " ";
  }
  void end_tick(Report& report) {
    report.finding({.rule = "heard", .severity = LOUPE_SEVERITY_INFO, .message = std::exchange(heard_, "it heard ")});
  }

 private:
  bool fails_;
  std::string heard_ = "it heard ";
};

/// Notes the measurements of other lenses, and each incident that it has to write.
class ProbeHearer : public Lens {
 public:
  static constexpr const char* name = "probe_hearer";
  static constexpr const char* help = "notes the measurements of other lenses";
  static std::vector<Option> options() { return {{"id", "hearer", "its name in the test's notes"}}; }
  ProbeHearer(const Options& options, const Host& host) : actor_(host, options.get<std::string>("id")) {}

  struct Stream {
    std::string name;
    const Actor* actor;
    void event(const Event& event) const noexcept {
      const std::string late = (event.raw()->flags & LOUPE_EVENT_DEFERRED) != 0 ? " late" : "";
      const std::string sum = event.has_measurement() ? text_of(event.measurement().sum) : "waits";
      actor->note("hears " + name + " " + std::to_string(event.number()) + ": " + sum + late);
    }
  };

  void visit(const Module&) override { actor_.act("visit"); }
  void report(Report&) override {}
  const void* get_extension(const char* id) override {
    if (std::strcmp(id, LOUPE_DRAFT_MEASURED_ID) == 0) return draft::measured_extension<ProbeHearer>();
    return std::strcmp(id, LOUPE_DRAFT_INCIDENTS_ID) == 0 ? draft::incidents_extension<ProbeHearer>() : nullptr;
  }
  Stream* begin_stream(const Module& module, const char* stream) {
    if (module.name() == std::string("deaf")) return nullptr;
    return &streams_.emplace_back(Stream{stream, &actor_});
  }
  bool writes_at(const loupe_finding& finding) { return finding.rule == std::string("fault"); }
  std::string write(const loupe_draft_incident& incident) {
    actor_.act(std::string("writes at ") + incident.how);
    bool is_held = false;
    draft::hold(incident, nullptr, [&] { is_held = true; });
    return std::to_string(incident.finding_count) + (is_held ? " held" : " not held");
  }

 private:
  Actor actor_;
  std::deque<Stream> streams_;
};

}  // namespace loupe

LOUPE_PLUGIN("probe", "1.2.3", loupe::ProbeForward, loupe::ProbeGradient, loupe::ProbePush, loupe::ProbeLossInput,
             loupe::ProbePlain, loupe::ProbeNumbers, loupe::ProbeLens, loupe::ProbeJudge, loupe::ProbeHearer,
             loupe::ProbeVisualizer);
