#pragma once

#include <loupe/detail/series.h>
#include <loupe/detail/state.h>
#include <loupe/event.h>
#include <loupe/options.h>

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// What a preprocessor requests from its stream. The host measures once for equal requests.
struct Request {
  uint32_t measures = 0;  ///< LOUPE_MEASURE_ bits
  uint32_t passes = LOUPE_PASS_BOTH;
  bool pass_by_grad = false;  ///< evaluation means gradients are off, rather than module.eval()
  bool wants_tensor = false;  ///< events come with tensors, at once
  int unit_dimension = 1;
  double eps = 1e-8;
  uint32_t places = LOUPE_PLACE_BOTH;  ///< the places of tensors
  bool takes_sparse = false;           ///< see LOUPE_REQUEST_SPARSE

  void write(loupe_request& request) const {
    request.flags = (wants_tensor ? uint32_t{LOUPE_REQUEST_TENSORS} : 0u) |
                    (pass_by_grad ? uint32_t{LOUPE_REQUEST_PASS_BY_GRADIENT} : 0u) |
                    (takes_sparse ? uint32_t{LOUPE_REQUEST_SPARSE} : 0u) | uint32_t{LOUPE_REQUEST_UNITS};
    request.measures = measures;
    request.passes = passes;
    request.places = places;
    request.unit_dimension = unit_dimension;
    request.eps = eps;
  }
};

/// Turns the events of one stream into numbers and folds them over an epoch. One instance watches one stream; calls on
/// it never overlap. A subclass has a constructor that takes `const Options&`.
class Preprocessor {
 public:
  virtual ~Preprocessor() = default;
  /// Asked once, before the first event.
  virtual Request request() const = 0;
  /// Called on the model's thread, thousands of times a second: do not allocate or wait. An exception quarantines the
  /// lens.
  virtual void process(const Event& event) = 0;
  /// The epoch is over. The series are emptied automatically; override this for other state of an epoch.
  virtual void reset() {}
  /// Returns an extension of the ABI's table by its id, which has a revision.
  virtual const void* get_extension(const char*) { return nullptr; }
  /// The numbers since the last reset as bytes that another process, on any machine, can merge. The default saves the
  /// series, which is enough for most; a lens whose own preprocessor has no series shows only its own process.
  virtual std::string save_state() const {
    StateWriter state;
    state.number(state_version);
    state.number(series_.size());
    for (const Named& each : series_) {
      state.text(each.name);
      each.series.save(state);
    }
    return state.bytes();
  }
  /// Continues as if the events behind those bytes had come here too. Throws Error, and changes nothing, if it cannot
  /// read the bytes.
  virtual void merge_state(std::string_view bytes) {
    StateReader state(bytes);
    if (state.number() != state_version) throw Error("the state is from another version of Loupe", LOUPE_INVALID);
    std::vector<Named> others;
    for (uint64_t left = state.count(); left > 0; --left) {
      std::string name = state.text();
      others.push_back({Series::read(state), std::move(name)});
    }
    state.finish();
    for (const Named& other : others) {
      const Named* known = find_series(other.name);
      if (known != nullptr && known->series.keep() != other.series.keep()) {
        throw Error("the state keeps '" + other.name + "' differently; give both the same options", LOUPE_INVALID);
      }
    }
    for (const Named& other : others) find_or_add_series(other.name, other.series.keep()).merge(other.series);
  }

  std::size_t series_count() const { return series_.size(); }
  const std::string& series_name(std::size_t i) const { return series_[i].name; }
  const Series& series(std::size_t i) const { return series_[i].series; }
  void reset_all() {
    for (Named& each : series_) each.series.reset();
    reset();
  }

 protected:
  /// Adds a series; the reference stays valid.
  Series& add_series(std::string name, Series::Keep keep = Series::Keep::running) {
    Named& added = series_.emplace_back(Named{Series(keep), std::move(name)});
    if (series_.size() > few) {
      if (by_name_.empty()) {
        for (Named& known : series_) by_name_.emplace(known.name, &known);
      } else {
        by_name_.emplace(added.name, &added);
      }
    }
    return added.series;
  }
  /// The series of that name, added if it is new.
  Series& find_or_add_series(std::string_view name, Series::Keep keep) {
    Named* known = find_series(name);
    return known != nullptr ? known->series : add_series(std::string(name), keep);
  }

 private:
  static constexpr uint64_t state_version = 1;
  struct Named {
    Series series;
    std::string name;
  };
  Named* find_series(std::string_view name) {
    if (series_.size() > few) {
      const auto found = by_name_.find(name);
      return found != by_name_.end() ? found->second : nullptr;
    }
    for (Named& known : series_) {
      if (known.name == name) return &known;
    }
    return nullptr;
  }
  static constexpr std::size_t few = 8;  ///< up to this number, a linear search is as quick
  std::deque<Named> series_;
  std::unordered_map<std::string_view, Named*> by_name_;  // used for more than a few; the keys are views of their names
};

/// The options `inplace` and `quantiles` of the built-in preprocessors.
inline Series::Keep keep_from(const Options& options) {
  if (!options.get<bool>("inplace")) return Series::Keep::values;
  return options.get<bool>("quantiles") ? Series::Keep::quantiles : Series::Keep::running;
}
inline Option inplace_option() {
  return {"inplace", true, "fold the epoch's values as they come; false keeps them all"};
}
inline Option quantiles_option() {
  return {"quantiles", false, "with inplace, also keep a sketch for median, Q1, Q3 and IQR"};
}

}  // namespace v1_0
}  // namespace loupe
