// A component of each kind by the C++ layer, which together use all of ABI 1.0 that the layer has words for: each
// function of the host's but get_extension of taps and sinks, every tap, measure and type of option, and every gatherer
// and preprocessor that comes with Loupe. The layer saves and merges the states.
#include <loupe/plugin.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

class Tap : public loupe::Gatherer {
 public:
  static constexpr const char* name = "cpp_tap";
  static constexpr const char* help = "one tap";
  static std::vector<loupe::Option> options() {
    return {{"tap", 2, "LOUPE_TAP_"}, {"index", 0, "which of the outputs or inputs"}};
  }
  explicit Tap(const loupe::Options& options) : tap_(options.get<int>("tap")), index_(options.get<int>("index")) {}
  void open(const std::optional<loupe::Module>&, const char* label) override {
    subscribe(static_cast<uint32_t>(tap_), label, static_cast<uint32_t>(index_));
  }
  void event(const loupe::Event& event) override { emit(*event.raw()); }

 private:
  int tap_, index_;
};

class Measures : public loupe::Preprocessor {
 public:
  static constexpr const char* name = "cpp_measures";
  static constexpr const char* help = "all measures";
  Measures(const loupe::Options&, const loupe::Host& host) : host_(host) {}
  loupe::Request request() const override {
    loupe::Request request;
    request.measures = LOUPE_MEASURE_SUMS | LOUPE_MEASURE_EXTREMES | LOUPE_MEASURE_ACTIVITY | LOUPE_MEASURE_SAMPLES |
                       LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS |
                       LOUPE_MEASURE_HISTOGRAM;
    request.wants_tensor = true;
    request.eps = 0.5;
    return request;
  }
  void process(const loupe::Event& event) override {
    if (event.tap() == LOUPE_TAP_PUSH) sum_.push(event.scalar());
    if (event.has_measurement()) fold(event.measurement());
    const loupe::TensorView tensor = event.tensor();
    if (!tensor) return;
    const loupe_tensor_service& tensors = host_.tensors();
    copied_.push(sum_of(*tensor.raw()));
    loupe_retained* kept = nullptr;
    if (tensors.retain(host_.context(), tensor.raw(), &kept, nullptr) == LOUPE_OK) fold(retained_, kept);
    if (tensors.clone(host_.context(), tensor.raw(), &kept, nullptr) == LOUPE_OK) fold(cloned_, kept);
  }

 private:
  void fold(const loupe::Measurement& found) {
    if ((found.measures & LOUPE_MEASURE_SUMS) != 0) sum_.push(found.sum), squares_.push(found.sum_squares);
    if ((found.measures & LOUPE_MEASURE_EXTREMES) != 0) least_.push(found.minimum), most_.push(found.maximum);
    if ((found.measures & LOUPE_MEASURE_ACTIVITY) != 0) {
      active_.push(static_cast<double>(found.active_count));
      dead_.push(static_cast<double>(found.dead_unit_count));
    }
    if ((found.measures & LOUPE_MEASURE_SAMPLES) != 0) norms_.push(found.sample_norm_sum);
    if (loupe::has_previous(found)) dot_.push(found.dot_previous);
    if (loupe::has_change(found)) change_.push(found.change_sum_squares), dot_change_.push(found.dot_change);
    if ((found.measures & LOUPE_MEASURE_HISTOGRAM) != 0) {
      uint64_t binned = 0;
      for (std::size_t i = 0; i < found.bin_count; ++i) binned += found.bins[i];
      binned_.push(static_cast<double>(binned));
    }
  }
  void fold(loupe::Series& series, loupe_retained* kept) {
    series.push(sum_of(*host_.tensors().view(host_.context(), kept)));
    host_.tensors().release(host_.context(), kept);
  }
  double sum_of(const loupe_tensor& tensor) const {
    double sum = 0;
    for (const double element : host_.copy(tensor)) sum += element;
    return sum;
  }

  loupe::Host host_;
  loupe::Series &sum_ = add_series("sum"), &squares_ = add_series("squares"), &least_ = add_series("least"),
                &most_ = add_series("most"), &active_ = add_series("active"), &dead_ = add_series("dead"),
                &norms_ = add_series("norms"), &dot_ = add_series("dot"), &change_ = add_series("change"),
                &dot_change_ = add_series("dot_change"), &binned_ = add_series("binned"),
                &copied_ = add_series("copied"), &retained_ = add_series("retained"), &cloned_ = add_series("cloned");
};

class Whole : public loupe::Lens {
 public:
  static constexpr const char* name = "cpp_whole";
  static constexpr const char* help = "all that there is";
  static constexpr const char* example = "cpp_whole: {count: 3}";
  static std::vector<const char*> aliases() { return {"cpp_everything"}; }
  static std::vector<const char*> gives() { return {"C++ Whole: all that ABI 1.0 has"}; }
  static std::vector<loupe::Option> options() {
    return {{"flag", false, "either"},
            {"count", 2, "some", 0, 255},
            {"share", 0.5, "any"},
            {"word", "yes", "one", {"yes", "maybe"}},
            {"names", loupe::Strings(), "several"},
            loupe::Option::map("map", "named values")};
  }
  Whole(const loupe::Options& options, const loupe::Host& host) : host_(host) {
    const loupe::Options map = options.map("map");
    options_ = {{"flag", options.get<bool>("flag") ? 1 : 0},
                {"count", options.get<int>("count")},
                {"share", options.get<double>("share")},
                {"word", static_cast<double>(options.get<std::string>("word").size())},
                {"names", static_cast<double>(options.get<loupe::Strings>("names").size())},
                {"map", map.has("two") ? map.get<double>("two") : 0}};
    host_.info("cpp_whole of ABI 1.0 is made");
  }

  void attach() override {
    if (wiring()->get_extension(wiring()->context, "loupe.nothing/1") != nullptr)
      throw loupe::Error("the wiring offers what nobody knows");
    pushed_.push_back({"tap 9", watch_pushes(tap(LOUPE_TAP_PUSH))});
    pushed_.push_back({"push", watch_pushes(loupe::Watch(LOUPE_GATHER_PUSH).preprocessor("cpp_measures"))});
    pushed_.push_back(
        {"explicit_call", watch_pushes(loupe::Watch(LOUPE_GATHER_PUSH).preprocessor(LOUPE_PREPROCESS_EXPLICIT_CALL))});
  }
  void visit(const loupe::Module& module) override {
    if (std::string(module.name()) != "watched") return;
    module_ = module;
    for (const auto number :
         {LOUPE_TAP_FORWARD_BEFORE, LOUPE_TAP_FORWARD, LOUPE_TAP_OUTPUT_GRADIENT, LOUPE_TAP_INPUT_GRADIENT})
      add("tap " + std::to_string(number), tap(number));
    for (const auto number :
         {LOUPE_TAP_PARAMETER_GRADIENT, LOUPE_TAP_STEP_GRADIENT, LOUPE_TAP_OPTIMIZER_STEP, LOUPE_TAP_TICK})
      add("tap " + std::to_string(number), tap(number).label("weight"));
    for (const auto number : {LOUPE_TAP_ATTRIBUTE_BEFORE, LOUPE_TAP_ATTRIBUTE})
      add("tap " + std::to_string(number), tap(number).label("state"));
    for (const char* gatherer :
         {LOUPE_GATHER_FORWARD_INPUT, LOUPE_GATHER_FORWARD, LOUPE_GATHER_OUTPUT_GRADIENT, LOUPE_GATHER_INPUT_GRADIENT})
      add(gatherer, loupe::Watch(gatherer).preprocessor("cpp_measures"));
    for (const char* gatherer : {LOUPE_GATHER_PARAMETER_GRADIENT, LOUPE_GATHER_STEP_GRADIENT,
                                 LOUPE_GATHER_CALL_PARAMETER, LOUPE_GATHER_OPTIMIZER_STEP, LOUPE_GATHER_TICK})
      add(gatherer, loupe::Watch(gatherer).label("weight").preprocessor("cpp_measures"));
    add("attribute", loupe::Watch(LOUPE_GATHER_ATTRIBUTE).label("state").preprocessor("cpp_measures"));
    add_built_in(LOUPE_PREPROCESS_OUTPUT_NORM, LOUPE_GATHER_FORWARD, nullptr,
                 {{LOUPE_PREPROCESS_OPTION_INPLACE, false}});
    add_built_in(LOUPE_PREPROCESS_PARAMETER_NORM, LOUPE_GATHER_TICK, "weight");
    add_built_in(LOUPE_PREPROCESS_OUTPUT_ACTIVATION, LOUPE_GATHER_FORWARD, nullptr,
                 {{LOUPE_PREPROCESS_OPTION_QUANTILES, true}});
    add_built_in(LOUPE_PREPROCESS_GRADIENT_ACTIVATION, LOUPE_GATHER_OUTPUT_GRADIENT);
    add_built_in(LOUPE_PREPROCESS_GRADIENT_GEOMETRY, LOUPE_GATHER_STEP_GRADIENT, "weight");
    add_built_in(LOUPE_PREPROCESS_OUTPUT_GRADIENT_GEOMETRY, LOUPE_GATHER_OUTPUT_GRADIENT);
    add_built_in(LOUPE_PREPROCESS_PARAMETER_DIFFERENCE_GEOMETRY, LOUPE_GATHER_OPTIMIZER_STEP, "weight");
    add_built_in(LOUPE_PREPROCESS_PARAMETER_CONDITION, LOUPE_GATHER_TICK, "weight");
    add(LOUPE_PREPROCESS_LOSS_MODULE, loupe::Watch(LOUPE_GATHER_FORWARD, {{LOUPE_GATHER_OPTION_OUTPUT, 1}})
                                          .preprocessor(LOUPE_PREPROCESS_LOSS_MODULE));
    const auto largest = [](const loupe::Event& event) { return event.measurement(LOUPE_MEASURE_EXTREMES).maximum; };
    const auto first = [](const loupe::Event& event) { return loupe::Elements(event.tensor()).at(0); };
    const loupe::Watch measured = loupe::Watch("forward").measure(LOUPE_MEASURE_EXTREMES), whole("forward");
    watched_.push_back({"own", watch(module, measured, loupe::preprocessor_of(measured.request(), largest))});
    watched_.push_back({"first", watch(module, whole, loupe::preprocessor_of(whole.request(), first))});
    rested_ = watch(module, loupe::Watch("forward").preprocessor("cpp_measures"));
    watched_.push_back({"rested", rested_});
  }
  void forget(const loupe::Module& module) override {
    if (!module_ || module.id() != module_->id()) return;
    module_.reset();
    watched_.clear();
  }
  auto sum_into(double& sum) const {
    return [this, &sum](const loupe_tensor& tensor) {
      for (const double element : host_.copy(tensor)) sum += element;
    };
  }
  void step(const loupe::Step& step, loupe::Report& report) override {
    measured_steps_ += loupe::is_measured(step) ? 1 : 0;
    if (steps_++ > 0) return;
    loupe::Finding finding;
    finding.severity = LOUPE_SEVERITY_INFO;
    finding.rule = "cpp_first_step";
    finding.message = "the first step was taken";
    report.finding(finding);
  }
  void report(loupe::Report& report) override {
    report.tag(tag_, style());
    tell(report, "options", 0, options_);
    const loupe_tick& tick = report.tick();
    tell(report, "steps", LOUPE_REACHES(tick, steps) ? tick.steps : 0,
         {{"taken", steps_}, {"measured", measured_steps_}});
    tell_services(report);
    for (const auto& [shown, source] : watched_) tell(report, shown, source);
    for (const auto& [shown, source] : pushed_) tell(report, shown, source);
    report.range(tag_, "bands", "min", "max", -1, 1);
    report.histogram(tag_, "histogram", "bins", {0, 1, 2}, {3, 1}, 4);
    if (!module_) return;
    ticks_++ % 2 == 0 ? rested_.rest() : rested_.wake();  // it rests in the second of each two ticks
  }

 private:
  using Numbers = std::vector<std::pair<std::string, double>>;

  static loupe::Watch tap(int number) {
    return loupe::Watch("cpp_tap", {{"tap", number}}).preprocessor("cpp_measures");
  }
  static loupe::TagStyle style() {
    loupe::TagStyle style;
    style.annotate = true;
    style.y_minimum = 0;
    style.unit = "1";
    style.description = "All that ABI 1.0 has.";
    return style;
  }
  void add(const std::string& shown, const loupe::Watch& watched) {
    watched_.push_back({shown, watch(*module_, watched)});
  }
  void add_built_in(const char* preprocessor, const char* gatherer, const char* label = nullptr,
                    const loupe::OptionValues& options = {}) {
    add(preprocessor, loupe::Watch(gatherer).label(label).preprocessor(preprocessor, options));
  }
  void tell(loupe::Report& report, const std::string& shown, uint64_t events, const Numbers& numbers) const {
    loupe::Report::Row row(report);
    for (const auto& [line, number] : numbers) row.value(line, number);
    row.tell(tag_, shown, events);
  }
  /// All series of a source, also by the functions for values and quantiles, where the source has them.
  void tell(loupe::Report& report, const std::string& shown, const loupe::Source& source) const {
    Numbers numbers;
    uint64_t events = 0;
    for (std::size_t i = 0; i < source.series_count(); ++i) {
      const loupe::SeriesNumbers read = source.read(i);
      if (read.count() == 0) continue;
      events = read.count();
      numbers.push_back({read.name(), source.get(read.name()).value()});
    }
    if (numbers.empty()) return;
    if (shown == LOUPE_PREPROCESS_OUTPUT_NORM)
      numbers.push_back({"kept values", static_cast<double>(source.values(source.read(0).name()).size())});
    if (shown == LOUPE_PREPROCESS_OUTPUT_NORM || shown == LOUPE_PREPROCESS_OUTPUT_ACTIVATION) {
      const std::vector<double> quantiles = source.read(0).quantiles({0, 1});
      numbers.push_back({"least", quantiles[0]});
      numbers.push_back({"greatest", quantiles[1]});
    }
    tell(report, shown, events, numbers);
  }
  void tell_services(loupe::Report& report) const {
    if (host_.get_extension("loupe.nothing/1") != nullptr) throw loupe::Error("the host offers what nobody knows");
    const loupe_run* run = host_.run();
    double flags = 0, parameter = 0, gradient = 0;
    if (module_) {
      flags = host_.parameter_flags(*module_, 0) & ~LOUPE_PARAMETER_DRAFTS;
      host_.lend_parameter(*module_, "weight", false, sum_into(parameter));
      host_.lend_parameter(*module_, "weight", true, sum_into(gradient));
    }
    tell(report, "services", 0,
         {{"processes", run != nullptr ? run->world_size : 0},
          {"has lenses", run != nullptr && run->lens_count > 0 ? 1 : 0},
          {"flags", flags},
          {"sum", parameter},
          {"sum of gradient", gradient}});
  }

  const std::string tag_ = "C++ Whole";
  loupe::Host host_;
  Numbers options_;
  std::optional<loupe::Module> module_;
  std::vector<std::pair<std::string, loupe::Source>> watched_, pushed_;
  loupe::Source rested_;
  double steps_ = 0, measured_steps_ = 0;
  int ticks_ = 0;
};

class Text : public loupe::Visualizer {
 public:
  static constexpr const char* name = "cpp_text";
  static constexpr const char* help = "a line for each message";
  static std::vector<loupe::Option> options() { return {loupe::Option("path", "", "the file").required()}; }
  explicit Text(const loupe::Options& options) : path_(options.get<std::string>("path")) {}

  void begin(const loupe::Run& run) override {
    file_.open(path_);
    file_ << "begin, process " << run.rank << " of " << run.world_size << '\n';
  }
  void model(const loupe::Model& model) override { file_ << "model of " << model.module_count << " modules\n"; }
  void tag(const loupe::Tag& tag) override {
    file_ << "tag " << shown(tag.id) << " in " << shown(tag.unit) << ": " << shown(tag.description) << '\n';
  }
  void begin_tick(const loupe::Tick& tick) override {
    file_ << "tick " << tick.at.epoch << " after " << tick.at.step << " steps\n";
  }
  void row(const loupe::Row& row) override {
    file_ << "row " << shown(row.layer) << ", of " << row.events << ':';
    loupe::each_value(
        row, [&](const loupe::RowValue& number) { file_ << ' ' << shown(number.line) << '=' << number.value; });
    for (std::size_t i = 0; i < row.band_count; ++i)
      file_ << ' ' << shown(row.band_names[2 * i]) << ".." << shown(row.band_names[2 * i + 1]) << '='
            << row.bands[2 * i] << ".." << row.bands[2 * i + 1];
    file_ << '\n';
  }
  void histogram(const loupe::Histogram& histogram) override {
    file_ << "histogram " << shown(histogram.layer) << ", " << shown(histogram.line) << ':';
    for (std::size_t i = 0; i < histogram.bin_count; ++i)
      file_ << ' ' << histogram.edges[i] << ".." << histogram.edges[i + 1] << '=' << histogram.counts[i];
    file_ << '\n';
  }
  void end_tick() override { file_ << "end of tick\n"; }
  void finding(const loupe_finding& finding) override {
    file_ << "finding " << shown(finding.rule) << ", state " << finding.state << ", severity " << finding.severity
          << ": " << shown(finding.message) << '\n';
  }
  void note(const loupe::Note& note) override { file_ << "note " << shown(note.text) << '\n'; }
  void hyperparameter(const loupe::Hyperparameter& setting) override {  // of one alone: a later host may tell more
    if (std::string(shown(setting.name)) == "optimizer")
      file_ << "setting optimizer: " << shown(setting.string) << '\n';
  }
  void progress(const loupe::Progress&) override { ++progress_; }  // it comes by the clock, and so is not written
  void flush() override { file_.flush(); }
  void end(const loupe::Ending& ending) override { file_ << "end, " << ending.how << std::endl; }

 private:
  static const char* shown(const char* text) { return text != nullptr ? text : "-"; }

  std::string path_;
  std::ofstream file_;
  int progress_ = 0;
};

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"cpp_whole", "1.0", "all that ABI 1.0 has", nullptr, "MIT"}), Tap, Measures, Whole,
                  Text);
