#include <loupe/draft/option_names.h>
#include <loupe/error.h>
#include <loupe/lenses/explanation.h>
#include <loupe/lenses/kind_filter.h>
#include <loupe/lenses/non_finite.h>
#include <loupe/parameters.h>
#include <loupe/plugin.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// The text with each {name} replaced by its value; spaces around an empty value are removed. Throws Error for an
/// unknown name.
inline std::string tag_text(const std::string& text, const std::vector<std::pair<std::string, std::string>>& values) {
  std::string filled;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '{' ? text.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      filled += text[i];
      continue;
    }
    const std::string name = text.substr(i + 1, end - i - 1);
    bool known = false;
    for (const auto& [key, value] : values) {
      if (key != name) continue;
      filled += value;
      known = true;
    }
    if (!known) {
      throw Error("the tag '" + text + "' has '{" + name + "}'; only {gather}, {preprocess}, {parameter} and " +
                      "{series} are known",
                  LOUPE_INVALID);
    }
    i = end;
  }
  std::string tidy;
  for (const char letter : filled) {
    if (letter != ' ' || (!tidy.empty() && tidy.back() != ' ')) tidy += letter;
  }
  if (!tidy.empty() && tidy.back() == ' ') tidy.pop_back();
  return tidy;
}

/// A lens defined by YAML only: it names the gatherer, preprocessor and modules.
class Pipeline : public Lens {
 public:
  static constexpr const char* name = "pipeline";
  static constexpr const char* help = "a lens without code: any gatherer and preprocessor, on any modules";
  static std::vector<const char*> gives() {
    return {"{gather} {parameter} {series}: what `tag` says, a plot for each series and parameter",
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example =
      "pipeline: {gather: step_gradient, parameters: weight, preprocess: gradient_geometry, series: norm}";
  static std::vector<Option> options() {
    return joined_options(
        {{draft::gatherer_option("gather", "forward", "the gatherer that the values come from"),
          draft::named_options("gatherer_options", "its options"),
          {"parameters", Strings{},
           "the parameters, also as globs, or attributes to watch, for a gatherer that needs one"},
          draft::preprocessor_option("preprocess", "output_norm", "the preprocessor that makes numbers of them"),
          draft::named_options("preprocessor_options", "its options"),
          {"series", Strings{}, "which of its series to show; none given is all"}},
         KindFilter::options(),
         {line_option(),
          range_option(),
          {"tag", "{gather} {parameter} {series}",
           "the plot's title; the words in braces are replaced by the shown names, capitalised"},
          {"type", "numerical", "how the plot looks; a relation shows each layer's share of their sum",
           Strings{"numerical", "probability", "relation"}},
          {"log_scale", false, "show values on a logarithmic axis"},
          {"big", false, "one plot for all layers rather than one for each; a relation always is"}}});
  }

  Pipeline(const Options& options, const Host& host)
      : host_(host),
        gatherer_(options.get<std::string>("gather")),
        preprocessor_(options.get<std::string>("preprocess")),
        preprocessor_options_(options.map("preprocessor_options")),
        gatherer_options_(options.map("gatherer_options")),
        series_(options.get<Strings>("series")),
        wanted_series_("series", "series", series_),
        filter_(options),
        lines_(options.get<Strings>("line"), options.get<Strings>("range")),
        tag_(options.get<std::string>("tag")) {
    const auto type = options.get<std::string>("type");
    relation_ = type == "relation";
    style_.type = relation_               ? LOUPE_SCALE_RELATION
                  : type == "probability" ? LOUPE_SCALE_PROBABILITY
                                          : LOUPE_SCALE_NUMERICAL;
    style_.log_y = options.get<bool>("log_scale");
    style_.big = relation_ || options.get<bool>("big");
    style_.annotate = !relation_;
    line_names_ = Lines::named_once(options.get<Strings>("line"));
    if (relation_ && line_names_.size() != 1) {
      throw Error("a relation shows one line of each layer; give 'line' one aggregation", LOUPE_INVALID);
    }
    if (lines_.need_quantiles() && !preprocessor_options_.has("quantiles"))
      preprocessor_options_.add({"quantiles", true});
    const auto parameters = options.get<Strings>("parameters");
    Strings globs;
    for (const std::string& parameter : parameters) {
      if (parameter.find_first_of("*?[") == std::string::npos) {
        if (!has_stream(parameter)) streams_.push_back({parameter, {}, ""});
      } else {
        globs.push_back(parameter);
      }
    }
    globs_ = WantedNames("parameters", "parameter", globs);
    has_globs_ = !globs.empty();
    if (parameters.empty()) streams_.push_back({"", {}, ""});
    title("", "", false);  // throws for an invalid tag now, before training
  }

  void visit(const Module& module) override {
    if (!filter_.takes(module)) return;
    add_streams(module);
    for (WatchedSeries& stream : streams_) {
      if (stream.of_a_glob && !module.has_parameter(stream.parameter)) continue;
      const char* label = stream.parameter.empty() ? nullptr : stream.parameter.c_str();
      try {
        stream.layers.emplace_back(module,
                                   watch(module, Watch(gatherer_.c_str(), gatherer_options_)
                                                     .label(label)
                                                     .preprocessor(preprocessor_.c_str(), preprocessor_options_)));
      } catch (const Error& reason) {
        // Some modules may lack the parameter, and exposed values are in no list that could be checked before.
        if (label == nullptr || reason.status() != LOUPE_NOT_FOUND) throw;
        if (stream.lacking.empty()) stream.lacking = reason.what();
      }
    }
  }
  void forget(const Module& module) override {
    for (WatchedSeries& stream : streams_) loupe::forget(stream.layers, module);
  }

  void report(Report& report) override {
    warn();
    for (const WatchedSeries& stream : streams_) {
      for_each_series(stream, [&](const std::string& series, const std::string& tag) {
        report.tag(tag, explained(style_, words(series)));
        write(report, stream, series, tag);
      });
    }
  }

 private:
  struct WatchedSeries {
    std::string parameter;
    Layers layers;
    std::string lacking;  ///< why a module without it was left out; reported if no module has it
    bool of_a_glob = false;
  };

  bool has_stream(const std::string& parameter) const {
    return std::any_of(streams_.begin(), streams_.end(),
                       [&](const WatchedSeries& stream) { return stream.parameter == parameter; });
  }
  void add_streams(const Module& module) {
    for (std::size_t i = 0; i < module.parameter_count(); ++i) {
      const Parameter& parameter = module.parameter(i);
      globs_.offer(parameter.name);
      if (!globs_.match([&](const std::string& glob) { return fits_glob(glob, parameter.name); })) continue;
      if (has_stream(parameter.name)) continue;
      streams_.push_back({parameter.name, {}, "", true});
    }
  }

  void warn() {
    bool watches = globs_.warn(host_);
    for (const WatchedSeries& stream : streams_) watches = watches || !stream.layers.empty() || !stream.lacking.empty();
    filter_.warn(host_, watches);
    bool any_series = false;
    for (const WatchedSeries& stream : streams_) {
      for (const Layer& layer : stream.layers) {
        for (std::size_t i = 0; i < layer.source.series_count(); ++i) {
          const std::string series = layer.source.read(i).name();
          any_series = true;
          wanted_series_.offer(series);
          wanted_series_.match([&](const std::string& wanted) { return wanted == series; });
        }
      }
    }
    if (any_series) wanted_series_.warn(host_);
    for (WatchedSeries& stream : streams_) {
      if (stream.layers.empty() && !stream.lacking.empty()) {
        host_.warn("nothing is shown for '" + stream.parameter + "': " + stream.lacking);
      }
      stream.lacking.clear();
    }
  }

  /// Appends the names of several parameters or series to a title that lacks them.
  std::string title(const std::string& parameter, const std::string& series, bool several) const {
    std::string tag = tag_;
    const auto tell_apart = [&](const char* word) {
      if (tag.find(word) == std::string::npos) (tag += ' ') += word;
    };
    if (has_globs_ || streams_.size() > 1) tell_apart("{parameter}");
    if (several) tell_apart("{series}");
    return tag_text(tag, {{"gather", title_of(gatherer_)},
                          {"preprocess", title_of(preprocessor_)},
                          {"parameter", title_of(parameter)},
                          {"series", title_of(series)}});
  }
  /// "weight_a" and "weight a" give the same title: the second one gets its unmodified names added.
  std::string distinct(const std::string& title, const std::string& parameter, const std::string& series) {
    const auto [known, is_new] = titles_.try_emplace(title, parameter, series);
    if (is_new || known->second == std::pair(parameter, series)) return title;
    return title + " (" + parameter + (parameter.empty() || series.empty() ? "" : " ") + series + ")";
  }
  Explanation words(const std::string& series) const {
    return {"The series " + series + " that the preprocessor " + preprocessor_ + " computes from the gatherer " +
                gatherer_ + "; 'loupe describe' explains both.",
            "That depends on the quantity: compare layers with each other, and epochs with earlier ones.",
            "A layer or an epoch that stands apart is where to look next."};
  }
  bool shows(const std::string& series) const {
    return series_.empty() || std::find(series_.begin(), series_.end(), series) != series_.end();
  }
  template <class Use>
  void for_each_series(const WatchedSeries& stream, Use&& use) {
    Strings all;
    for (const Layer& layer : stream.layers) {
      for (std::size_t i = 0; i < layer.source.series_count(); ++i) {
        const std::string series = layer.source.read(i).name();
        if (shows(series) && std::find(all.begin(), all.end(), series) == all.end()) all.push_back(series);
      }
    }
    for (const std::string& series : all)
      use(series, distinct(title(stream.parameter, series, all.size() > 1), stream.parameter, series));
  }

  void write(Report& report, const WatchedSeries& stream, const std::string& series, const std::string& tag) {
    if (relation_) Comparison::write(report, tag, stream.layers, series, aggregation_from(line_names_.front()));
    for (const Layer& layer : stream.layers) {
      const auto numbers = layer.source.find(series);
      if (!numbers) continue;
      if (style_.big && !relation_) write_in_big_plot(report, tag, layer.name, *numbers);
      if (!style_.big) lines_.write(report, tag, layer.name, *numbers);
      non_finite_.write(report, tag, layer.name, *numbers);
    }
  }
  /// Each layer is one line of the plot, or one line per aggregation.
  void write_in_big_plot(Report& report, const std::string& tag, const std::string& layer,
                         const SeriesNumbers& numbers) {
    Report::Row row(report);
    for (const std::string& aggregation : line_names_) {
      const auto value = numbers.get(aggregation_from(aggregation));
      if (value) row.value(layer + (line_names_.size() > 1 ? " " + aggregation : ""), *value);
    }
    row.tell(tag);
  }

  Host host_;
  std::string gatherer_, preprocessor_;
  OptionValues preprocessor_options_, gatherer_options_;
  Strings series_;
  WantedNames wanted_series_, globs_{"parameters", "parameter", {}};
  KindFilter filter_;
  Lines lines_;
  Strings line_names_;
  std::string tag_;
  TagStyle style_;
  bool relation_ = false;
  std::vector<WatchedSeries> streams_;
  bool has_globs_ = false;
  std::map<std::string, std::pair<std::string, std::string>> titles_;  // by title, the parameter and series that use it
  NonFinite non_finite_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"pipeline", LOUPE_VERSION, "A lens that is put together in YAML.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::Pipeline);
