#pragma once

#include <loupe/detail/numbers.h>
#include <loupe/detail/parameter_group.h>
#include <loupe/detail/preprocessor_table.h>
#include <loupe/detail/series_reading.h>
#include <loupe/detail/together.h>
#include <loupe/detail/watch.h>
#include <loupe/event.h>
#include <loupe/report.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

using Step = loupe_step;

/// Whether the taps reported everything in the step. For other steps only pushed values came (attach.every,
/// attach.budget).
inline bool is_measured(const Step& step) {
  return (step.flags & LOUPE_STEP_MEASURED) != 0;
}

/// The numbers of one stream that a lens watches. A small value; valid until forget().
class Source {
 public:
  Source() = default;
  Source(const loupe_wiring* wiring, loupe_source* source) : wiring_(wiring), source_(source) {}

  std::size_t series_count() const { return wiring_->series_count(wiring_->context, source_); }
  /// All numbers of a series by its index. Throws Error if there is no such series.
  SeriesNumbers read(std::size_t index) const { return {wiring_, source_, index}; }
  /// The same by its name; nullopt if it was never made.
  std::optional<SeriesNumbers> find(std::string_view series) const { return numbers(place_of(series, Lack::allowed)); }
  /// One number of a series. Nullopt if that is empty or was never made. Throws Error for a quantile that the
  /// preprocessor was not asked to keep. In a Bench, which is strict, it also throws for an unknown series: use find()
  /// for one that may be missing.
  std::optional<double> get(std::string_view series, Aggregate aggregate = Aggregate::mean) const {
    const auto found = numbers(place_of(series, Lack::refused));
    return found ? found->get(aggregate) : std::nullopt;
  }
  /// Pauses this source: from the next event on, no events come, until wake(). Call it in step() or report(), for
  /// example to measure one step in ten; not in forget().
  /// @param what  LOUPE_REST_ bits; 0: everything comes
  void rest(uint32_t what = LOUPE_REST_EVENTS) const {
    detail::ErrorBuffer error;
    error.check(wiring_->rest(wiring_->context, source_, what, error.get()));
  }
  /// From the next event on, all events come again; comparisons start again, unless another lens
  /// had the same measured meanwhile. Not in forget().
  void wake() const { rest(0); }
  loupe_source* raw() const { return source_; }
  const loupe_wiring* wiring() const { return wiring_; }
  /// Every value of this epoch, if the preprocessor keeps them; empty if the series was never made. Throws Error if
  /// they are only folded.
  std::vector<double> values(std::string_view series) const {
    const auto found = place_of(series, Lack::refused);
    if (!found) return {};
    return detail::read_series_values(
        [&](double* values, std::size_t capacity, std::size_t* count, loupe_error* error) {
          return wiring_->values(wiring_->context, source_, *found, values, capacity, count, error);
        });
  }

 private:
  enum class Lack { allowed, refused };

  /// @param lack  whether a series may be missing while there are others; in a strict run, a missing one is an error
  std::optional<std::size_t> place_of(std::string_view series, Lack lack) const {
    detail::ErrorBuffer error;
    std::size_t place = 0;
    const loupe_status status =
        wiring_->find(wiring_->context, source_, std::string(series).c_str(), &place, error.get());
    if (status == LOUPE_OK) return place;
    if (status != LOUPE_NOT_FOUND) error.check(status);
    if (lack == Lack::refused && (wiring_->flags & LOUPE_WIRING_STRICT) != 0 && series_count() > 0)
      throw Error(std::string(error.text()) + "; use find() for one that may be missing", LOUPE_INVALID);
    return std::nullopt;
  }
  std::optional<SeriesNumbers> numbers(std::optional<std::size_t> place) const {
    return place ? std::optional<SeriesNumbers>(std::in_place, wiring_, source_, *place) : std::nullopt;
  }

  const loupe_wiring* wiring_ = nullptr;
  loupe_source* source_ = nullptr;
};

/// Decides which modules to watch, and turns an epoch into tagged values. A subclass has a constructor that takes
/// `const Options&` (or `const Options&, const Host&`). Calls never overlap; they come on the thread that ticks, except
/// visits of functions and steps, which come on the thread that runs the model. Where ranks exchange numbers, each also
/// has a second instance, which is called on a thread of Loupe's.
class Lens {
 public:
  virtual ~Lens() = default;
  /// Called once, before the first module; watch pushed values here.
  virtual void attach() {}
  /// Called for each module, parents before children; for functions such as torch::relu when they first run.
  virtual void visit(const Module& module) = 0;
  /// The module is detached: its sources end with this call.
  virtual void forget(const Module&) {}
  /// The epoch, or interval of steps, is over: report its numbers, after the tags that they belong to. The sources are
  /// reset afterwards.
  virtual void report(Report& report) = 0;
  /// Called after each step of an optimizer, measured or not, for each attached model that it concerns: be quick,
  /// training waits. Count steps by `step.at.step`. `report` takes only findings.
  virtual void step(const Step&, Report&) {}
  /// Returns an extension of the ABI's table by its id, which has a revision.
  virtual const void* get_extension(const char*) { return nullptr; }

  void bind(const loupe_wiring* wiring) { wiring_ = wiring; }
  bool is_bound() const { return wiring_ != nullptr; }
  const loupe_wiring* wiring() const { return wiring_; }
  /// The preprocessors kept for the module may be freed at the next call: their sources end with this one.
  void let_go(const Module& module) {
    const auto kept = kept_.find(module.id());
    if (kept == kept_.end()) return;
    std::move(kept->second.begin(), kept->second.end(), std::back_inserter(forgotten_));
    kept_.erase(kept);
  }
  void drop_forgotten() { forgotten_.clear(); }

 protected:
  /// Puts a preprocessor behind a gatherer on a module.
  Source watch(const Module& module, const Watch& watched) { return watch(module.raw(), watched, nullptr); }
  /// The same with the lens's own preprocessor, which must outlive the lens's attachment.
  Source watch(const Module& module, const Watch& watched, Preprocessor& own) {
    return watch(module.raw(), watched, &own);
  }
  /// The same with one that the lens keeps as long as needed, for example from preprocessor_of().
  Source watch(const Module& module, const Watch& watched, std::unique_ptr<Preprocessor> own) {
    Preprocessor* const kept = kept_[module.id()].emplace_back(std::move(own)).get();
    return watch(module.raw(), watched, kept);
  }
  /// Calls `function` with the tensors of two modules together, for example of a layer in a student and in its teacher.
  /// It takes `(const TensorView& first, const TensorView& second)` and returns a number or an optional one, which goes
  /// into the series "value"; or it also takes Numbers. Each tensor of `second` is paired once with the last tensor of
  /// `first` before it in the same step; others are skipped. Copies the first's tensor at each event.
  template <class Function>
  Source watch_together(const Host& host, const Module& first, const Module& second, const Watch& watched,
                        Function function) {
    auto [of_first, of_second] = detail::together(host, watched.request(), std::move(function));
    watch(first, watched, std::move(of_first));
    return watch(second, watched, std::move(of_second));
  }
  /// Watches the values that the trainer pushes.
  Source watch_pushes(const Watch& watched) { return watch(nullptr, watched, nullptr); }
  Source watch_pushes(const Watch& watched, Preprocessor& own) { return watch(nullptr, watched, &own); }

 private:
  using Kept = std::vector<std::unique_ptr<Preprocessor>>;

  Source watch(const loupe_module* module, const Watch& watched, Preprocessor* own) {
    return watched.preprocessor_options().lend([&](const loupe_options* preprocessor_options) {
      return watched.gatherer_options().lend([&](const loupe_options* gatherer_options) {
        loupe_watch request{};
        request.struct_size = sizeof request;
        request.module = module;
        request.gatherer = watched.gatherer();
        request.gatherer_options = gatherer_options;
        request.label = watched.label();
        request.preprocessor = own != nullptr ? nullptr : watched.preprocessor();
        request.preprocessor_options = preprocessor_options;
        request.own_interface = own != nullptr ? detail::preprocessor_table() : nullptr;
        request.own_preprocessor = own;
        detail::ErrorBuffer error;
        loupe_source* source = nullptr;
        error.check(wiring_->watch(wiring_->context, &request, &source, error.get()));
        return Source(wiring_, source);
      });
    });
  }

  std::unordered_map<uint64_t, Kept> kept_;  // by module id
  Kept forgotten_;
  const loupe_wiring* wiring_ = nullptr;
};

}  // namespace v1_0
}  // namespace loupe
