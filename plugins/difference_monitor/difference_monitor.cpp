#include <loupe/layers.h>
#include <loupe/lenses/explanation.h>
#include <loupe/lenses/kind_filter.h>
#include <loupe/lenses/non_finite.h>
#include <loupe/parameters.h>
#include <loupe/plugin.h>

#include <cmath>
#include <deque>
#include <utility>

#include "difference_monitor/difference.h"
#include "difference_monitor/named_reducer.h"

namespace loupe {
namespace {

/// One module's attribute, before and after each forward. Its own preprocessor: no tensor is measured, but compared.
class AttributeDifference : public Preprocessor {
 public:
  AttributeDifference(const Host& host, const Difference& difference, const NamedReducer& reducer, uint32_t passes,
                      Series::Keep keep)
      : host_(host),
        difference_(difference),
        reducer_(reducer),
        passes_(passes),
        differences_(add_series("difference", keep)),
        reduced_(add_series("reduced")) {}

  Request request() const override {
    Request request;
    request.passes = passes_;
    request.wants_tensor = true;
    return request;
  }

  void process(const Event& event) override {
    Difference::Values values;
    // A copy, for most attributes are changed in place.
    if (event.tensor()) values = host_.copy(*event.tensor().raw());
    if (event.tap() == LOUPE_TAP_ATTRIBUTE_BEFORE) {
      before_ = std::move(values);
      entered_ = true;
      return;
    }
    if (!std::exchange(entered_, false)) return;
    const auto number = difference_.between(values, before_);
    if (!number) return;
    if (!std::isfinite(*number)) {
      differences_.push(*number);
      return;
    }
    reduced_.push(reducer_.push(*number));
    if (reducer_.keeps_history()) {
      differences_.reset();
      for (const double each : reducer_.history()) differences_.push(each);
    } else {
      differences_.push(*number);
    }
  }

 private:
  Host host_;
  Difference difference_;
  NamedReducer reducer_;
  uint32_t passes_;
  Series& differences_;
  Series& reduced_;
  Difference::Values before_;
  bool entered_ = false;
};

}  // namespace

class DifferenceMonitorLens : public Lens {
 public:
  static constexpr const char* name = "difference_monitor";
  static constexpr const char* help = "by how much an attribute of a module changes in each forward";
  static std::vector<const char*> gives() {
    return {"{attribute} Difference: by how much a forward changes it, such as Running Mean Difference",
            "Non-Finite Values: how many events had NaN or Inf, told once there were any"};
  }
  static constexpr const char* example = "difference_monitor: {attribute: running_mean, types: [BatchNorm2d]}";
  static std::vector<Option> options() {
    std::vector<Option> options = {
        {"attribute", "", "a parameter, a buffer such as running_mean, one of a child (a.b), or what was exposed"}};
    for (auto more : {KindFilter::options(), NamedReducer::options(), Difference::options()}) {
      for (Option& option : more) options.push_back(std::move(option));
    }
    options.emplace_back("train_update", true, "look while the module is in training mode");
    options.emplace_back("eval_update", true, "look while it is in evaluation mode");
    options.push_back(inplace_option());
    options.emplace_back("log_scale", false, "show differences on a logarithmic axis");
    options.push_back(line_option());
    options.push_back(range_option());
    return options;
  }

  DifferenceMonitorLens(const Options& options, const Host& host)
      : host_(host),
        attribute_(options.get<std::string>("attribute")),
        filter_(options),
        difference_(options),
        reducer_(options),
        lines_(options.get<Strings>("line"), options.get<Strings>("range")),
        keep_(!options.get<bool>("inplace") ? Series::Keep::values
              : lines_.need_quantiles()     ? Series::Keep::quantiles
                                            : Series::Keep::running) {
    if (attribute_.empty()) {
      throw Error("it watches nothing; give it an attribute, such as 'attribute: running_mean'", LOUPE_INVALID);
    }
    passes_ = (options.get<bool>("train_update") ? uint32_t{LOUPE_PASS_TRAINING} : 0U) |
              (options.get<bool>("eval_update") ? uint32_t{LOUPE_PASS_EVALUATION} : 0U);
    tag_ = title_of(attribute_) + " Difference";
    style_.log_y = options.get<bool>("log_scale");
    style_.annotate = true;
    style_ = explained(
        style_, {"By how much a forward changes " + attribute_ +
                     ": its elements after and before are compared (op), and the results become one number (map).",
                 "Falling as training settles, as running statistics do.",
                 "What should be fixed and changes is updated in the wrong mode: see model.eval(). What jumps follows "
                 "batches that differ much: enlarge them, or lower the momentum of the statistics."});
  }

  void visit(const Module& module) override {
    if (!filter_.takes(module)) return;
    auto& own = own_.emplace_back(host_, difference_, reducer_, passes_, keep_);
    try {
      const Watch watched = Watch("attribute", {{"when", "both"}, {"missing", true}}).label(attribute_.c_str());
      layers_.emplace_back(module, watch(module, watched, own));
    } catch (const Error& reason) {
      own_.pop_back();
      if (reason.status() != LOUPE_NOT_FOUND) throw;
      if (lacking_.empty()) lacking_ = reason.what();
    }
  }
  void forget(const Module& module) override { loupe::forget(layers_, module); }

  void report(Report& report) override {
    report.tag(tag_, style_);
    warn();
    for (const Layer& layer : layers_) {
      const auto difference = layer.source.find("difference");
      if (reducer_.is_passthrough()) {
        if (difference) lines_.write(report, tag_, layer.name, *difference);
      } else if (const auto state = layer.source.get("reduced", Aggregate::last); state && !std::isnan(*state)) {
        report.value(tag_, layer.name, reducer_.kind(), *state);
      }
      if (difference) non_finite_.write(report, tag_, layer.name, *difference);
    }
  }

 private:
  void warn() {
    filter_.warn(host_, filter_.has_taken());
    if (layers_.empty() && !lacking_.empty()) {
      host_.warn("no module that it looks at has '" + attribute_ + "': " + lacking_);
    }
    lacking_.clear();
  }

  Host host_;
  std::string attribute_;
  KindFilter filter_;
  Difference difference_;
  NamedReducer reducer_;
  Lines lines_;
  Series::Keep keep_;
  uint32_t passes_ = 0;
  std::string tag_, lacking_;
  TagStyle style_;
  std::deque<AttributeDifference> own_;  // kept after a module is forgotten: its source ends after that call
  Layers layers_;
  NonFinite non_finite_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"difference_monitor", "0.1.0", "By how much attributes of modules change.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::DifferenceMonitorLens);
