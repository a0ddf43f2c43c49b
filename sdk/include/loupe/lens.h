#ifndef LOUPE_LENS_H
#define LOUPE_LENS_H

#include <loupe/detail/numbers.h>
#include <loupe/detail/preprocessor_table.h>
#include <loupe/detail/series_reading.h>
#include <loupe/detail/watch.h>
#include <loupe/draft/abi/mistakes.h>
#include <loupe/draft/abi/tally.h>
#include <loupe/event.h>
#include <loupe/report.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace loupe {

using Step = loupe_step;

/// The numbers of one stream that a lens watches. A small value; good until the module is forgotten.
class Source {
 public:
  Source() = default;
  Source(const loupe_wiring* wiring, loupe_source* source) : wiring_(wiring), source_(source) {}

  std::size_t series_count() const { return wiring_->series_count(wiring_->context, source_); }
  /// Throws Error where there is no such series.
  std::string series_name(std::size_t i) const {
    return detail::read_series_name([&](char* name, std::size_t capacity, std::size_t* length, loupe_error* error) {
      return wiring_->series_name(wiring_->context, source_, i, name, capacity, length, error);
    });
  }
  /// This epoch's number: `aggregation` is a LOUPE_AGGREGATE_MEAN, …. Nullopt when the series is empty or was never
  /// made. Throws Error for a quantile that the preprocessor was not asked to keep; and for a series that there is not,
  /// where mistakes are refused, such as in a Bench: ask index_of() for one that may be missing.
  std::optional<double> get(std::string_view series, uint32_t aggregation = LOUPE_AGGREGATE_MEAN) const {
    const auto found = index_of(series);
    if (!found) refuse_unknown(series);
    return found ? get(*found, aggregation) : std::nullopt;
  }
  /// Where a series stands, looked for from the first on; nullopt when it was never made. Good until the tick ends.
  std::optional<std::size_t> index_of(std::string_view series) const {
    const std::size_t count = series_count();
    for (std::size_t i = 0; i < count; ++i) {
      char name[64];
      std::size_t length = 0;
      read_name(i, name, sizeof name, length);
      if (length != series.size()) continue;
      if (length < sizeof name ? series == name : series == series_name(i)) return i;
    }
    return std::nullopt;
  }
  std::optional<double> get(std::size_t series, uint32_t aggregation) const {
    detail::ErrorBuffer error;
    double value = 0;
    const loupe_status status = wiring_->aggregate(wiring_->context, source_, series, aggregation, &value, error.get());
    if (status == LOUPE_NOT_FOUND) return std::nullopt;
    error.check(status);
    return value;
  }
  /// How many values of this epoch its numbers are made of, for Report::value; 0 where the preprocessor does not count.
  uint64_t count(std::size_t series) const {
    double count = 0;
    const loupe_status status = wiring_->aggregate(wiring_->context, source_, series, LOUPE_AGGREGATE_COUNT, &count,
                                                   detail::ErrorBuffer().get());
    return status == LOUPE_OK && count > 0 ? static_cast<uint64_t>(count) : 0;
  }
  loupe_source* raw() const { return source_; }
  const loupe_wiring* wiring() const { return wiring_; }
  /// Every value of this epoch, where the preprocessor keeps them; empty when the series was never made. Throws Error
  /// where they are only folded.
  std::vector<double> values(std::string_view series) const {
    const auto found = index_of(series);
    if (!found) refuse_unknown(series);
    if (!found) return {};
    return detail::read_series_values(
        [&](double* values, std::size_t capacity, std::size_t* count, loupe_error* error) {
          return wiring_->values(wiring_->context, source_, *found, values, capacity, count, error);
        });
  }

 private:
  void refuse_unknown(std::string_view series) const {
    if (!LOUPE_OFFERS(*wiring_, get_extension)) return;
    const auto* table =
        static_cast<const loupe_draft_mistakes*>(wiring_->get_extension(wiring_->context, LOUPE_DRAFT_MISTAKES_ID));
    if (table == nullptr) return;
    detail::ErrorBuffer error;
    error.check(table->unknown_series(wiring_->context, source_, std::string(series).c_str(), error.get()));
  }
  void read_name(std::size_t i, char* name, std::size_t capacity, std::size_t& length) const {
    detail::ErrorBuffer error;
    error.check(wiring_->series_name(wiring_->context, source_, i, name, capacity, &length, error.get()));
  }

  const loupe_wiring* wiring_ = nullptr;
  loupe_source* source_ = nullptr;
};

/// Decides which modules to look at, and turns an epoch into tagged values. A subclass is made by a constructor that
/// takes `const Options&` (or `const Options&, const Host&`). Calls never overlap; they come on the thread that ticks,
/// but for visits of functions and for steps, which come on the one that runs the model.
class Lens {
 public:
  virtual ~Lens() = default;
  /// Once, before the first module; watch pushed values here.
  virtual void attach() {}
  /// Every module, parents before children; functions such as torch::relu as they are first seen.
  virtual void visit(const Module& module) = 0;
  /// The module is detached: its sources end with this call.
  virtual void forget(const Module&) {}
  /// The epoch, or stretch of steps, is over: report its numbers, after the tags that they belong to. The sources are
  /// reset afterwards.
  virtual void report(Report& report) = 0;
  /// After each step of an optimizer: quick, for training waits. `report` takes findings alone.
  virtual void step(const Step&, Report&) {}
  /// What this lens offers beyond the ABI's table, by an id with a revision.
  virtual const void* get_extension(const char*) { return nullptr; }

  void bind(const loupe_wiring* wiring) { wiring_ = wiring; }
  bool is_bound() const { return wiring_ != nullptr; }
  const loupe_wiring* wiring() const { return wiring_; }
  /// The preprocessors kept for the module may go at the next call: their sources end with this one.
  void let_go(const Module& module) {
    for (Kept& kept : kept_) kept.is_forgotten = kept.is_forgotten || kept.module == module.id();
  }
  void drop_forgotten() {
    kept_.erase(std::remove_if(kept_.begin(), kept_.end(), [](const Kept& kept) { return kept.is_forgotten; }),
                kept_.end());
  }

 protected:
  /// Puts a preprocessor behind a gatherer on a module.
  Source watch(const Module& module, const Watch& watched) { return watch(module.raw(), watched, nullptr); }
  /// The same with a preprocessor of the lens's own, which must outlive the lens's attachment.
  Source watch(const Module& module, const Watch& watched, Preprocessor& own) {
    return watch(module.raw(), watched, &own);
  }
  /// The same with one that the lens keeps as long as it is needed, such as preprocessor_of() makes of a function.
  Source watch(const Module& module, const Watch& watched, std::unique_ptr<Preprocessor> own) {
    kept_.push_back({module.id(), std::move(own), false});
    return watch(module.raw(), watched, kept_.back().preprocessor.get());
  }
  /// Of what the trainer pushes.
  Source watch_pushes(const Watch& watched) { return watch(nullptr, watched, nullptr); }
  Source watch_pushes(const Watch& watched, Preprocessor& own) { return watch(nullptr, watched, &own); }

 private:
  struct Kept {
    uint64_t module;
    std::unique_ptr<Preprocessor> preprocessor;
    bool is_forgotten;
  };

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

  std::vector<Kept> kept_;
  const loupe_wiring* wiring_ = nullptr;
};

}  // namespace loupe

#endif
