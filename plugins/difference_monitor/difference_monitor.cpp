#include <loupe/layers.h>
#include <loupe/lenses/explanation.h>
#include <loupe/lenses/kind_filter.h>
#include <loupe/lenses/non_finite.h>
#include <loupe/options.h>
#include <loupe/parameters.h>
#include <loupe/plugin.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// Reduces a value before and after a forward to one number.
class Difference {
 public:
  using Values = std::optional<std::vector<double>>;  ///< nullopt if the module had no such value

  static std::vector<Option> options() {
    return {{"filter",
             "any",
             "which forwards count: with a value before or after, with both, or with a change",
             {"any", "both", "changed"}},
            {"op",
             "subtract",
             "how after and before are compared, element by element",
             {"subtract", "ratio", "absolute", "squared"}},
            {"map", "norm", "how the elements become one number", {"norm", "mean", "max"}}};
  }

  explicit Difference(const Options& options)
      : filter_(options.get<std::string>("filter")),
        op_(options.get<std::string>("op")),
        map_(options.get<std::string>("map")) {}

  /// Returns nullopt if the forward does not count, or there are no elements. A missing side counts as zeros; values of
  /// different lengths have no difference. 0 / 0 counts as the ratio 1, since nothing changed.
  std::optional<double> between(const Values& after, const Values& before) const {
    if (!after && !before) return std::nullopt;
    if (filter_ == "both" && (!after || !before)) return std::nullopt;
    const std::size_t size = after ? after->size() : before->size();
    if (size == 0 || (after && before && after->size() != before->size())) return std::nullopt;
    double sum = 0, most = -INFINITY;
    bool changed = false;
    for (std::size_t i = 0; i < size; ++i) {
      const double a = after ? (*after)[i] : 0, b = before ? (*before)[i] : 0;
      changed = changed || a != b;
      const double element = compare(a, b);
      sum += map_ == "norm" ? element * element : element;
      // NaN counts as the maximum, so that it is not ignored.
      if (element > most || std::isnan(element)) most = std::isnan(most) ? most : element;
    }
    if (filter_ == "changed" && !changed) return std::nullopt;
    if (map_ == "max") return most;
    return map_ == "norm" ? std::sqrt(sum) : sum / static_cast<double>(size);
  }

 private:
  double compare(double after, double before) const {
    if (op_ == "ratio") return after == before ? 1 : after / before;
    if (op_ == "absolute") return std::abs(after - before);
    if (op_ == "squared") return (after - before) * (after - before);
    return after - before;
  }

  std::string filter_, op_, map_;
};

/// Folds the differences of the forwards of one module, across epochs.
class NamedReducer {
 public:
  static std::vector<Option> options() {
    return {{"reducer",
             "passthrough",
             "how differences become one number",
             {"passthrough", "event", "exponential", "cumulative", "sum", "minimum", "maximum"}},
            {"duration", 0.0, "passthrough: how far back differences are shown; 0 is the epoch", 0.0},
            {"step_time", 1.0, "passthrough, event: the time from one forward to the next", 1e-12},
            {"alpha", 0.1, "exponential: the weight of a new value", 1e-12, 1.0},
            {"threshold", 0.0, "event: the time is that since a difference was above it", 0.0}};
  }

  explicit NamedReducer(const Options& options)
      : kind_(options.get<std::string>("reducer")),
        step_time_(options.get<double>("step_time")),
        alpha_(options.get<double>("alpha")),
        threshold_(options.get<double>("threshold")) {
    const double duration = options.get<double>("duration");
    // The quotient may be slightly above a whole number, because decimal fractions are not exact.
    if (duration > 0) capacity_ = static_cast<std::size_t>(std::ceil(duration / step_time_ - 1e-9)) + 1;
    if (capacity_ > most_kept) {
      throw Error("difference_monitor would keep " + std::to_string(capacity_) + " differences of each module; a " +
                      "'duration' of at most " + std::to_string(most_kept) + " steps is kept",
                  LOUPE_INVALID);
    }
  }

  const std::string& kind() const { return kind_; }
  bool is_passthrough() const { return kind_ == "passthrough"; }
  /// Whether it shows differences of earlier epochs too.
  bool keeps_history() const { return capacity_ > 0 && is_passthrough(); }
  const std::deque<double>& history() const { return history_; }

  /// Returns the state after a difference. The caller must leave out NaN and infinities.
  double push(double difference) {
    ++count_;
    if (is_passthrough()) {
      if (keeps_history()) history_.push_back(difference);
      if (history_.size() > capacity_) history_.pop_front();
      return difference;
    }
    if (kind_ == "event") {
      state_ = difference > threshold_ ? 0
               : count_ == 1           ? std::numeric_limits<double>::infinity()
                                       : state_ + step_time_;
    } else if (count_ == 1) {
      state_ = difference;
    } else if (kind_ == "exponential") {
      state_ = alpha_ * difference + (1 - alpha_) * state_;
    } else if (kind_ == "cumulative") {
      state_ += (difference - state_) / static_cast<double>(count_);
    } else if (kind_ == "sum") {
      state_ += difference;
    } else {
      state_ = kind_ == "minimum" ? std::min(state_, difference) : std::max(state_, difference);
    }
    return state_;
  }

 private:
  static constexpr std::size_t most_kept = 100000;

  std::string kind_;
  double step_time_, alpha_, threshold_;
  std::size_t capacity_ = 0;
  std::deque<double> history_;
  double state_ = 0;
  uint64_t count_ = 0;
};

namespace {

/// One attribute of a module, before and after each forward. It has its own preprocessor, because it compares tensors.
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
    // Copy the tensor, because most attributes are changed in place.
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
            "Non-Finite Values: how many events had NaN or Inf, shown only if there were any"};
  }
  static constexpr const char* example = "difference_monitor: {attribute: running_mean, types: [BatchNorm2d]}";
  static std::vector<Option> options() {
    return joined_options(
        {{{"attribute", "", "a parameter, a buffer such as running_mean, one of a child (a.b), or an exposed value"}},
         KindFilter::options(),
         NamedReducer::options(),
         Difference::options(),
         {{"train_update", true, "measure while the module is in training mode"},
          {"eval_update", true, "measure while it is in evaluation mode"},
          {"prepend", false, "makes no difference: lenses never see each other's work in a forward"},
          inplace_option(),
          {"log_scale", false, "show differences on a logarithmic axis"},
          line_option(),
          range_option()}});
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
      host_.warn("no watched module has '" + attribute_ + "': " + lacking_);
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
  std::deque<AttributeDifference> own_;  // kept after forget(): sources may use them until it returns
  Layers layers_;
  NonFinite non_finite_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"difference_monitor", LOUPE_VERSION, "By how much attributes of modules change.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::DifferenceMonitorLens);
