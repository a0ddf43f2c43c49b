#pragma once

#include <loupe/abi.h>
#include <loupe/detail/tag_style.h>
#include <loupe/error.h>
#include <loupe/event.h>
#include <loupe/finding.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

namespace detail {
/// The number of reports on this thread so far; a Rule uses it to detect a missing end_tick().
LOUPE_HIDDEN inline uint64_t& reports_of_thread() {
  thread_local uint64_t count = 0;
  return count;
}
}  // namespace detail

/// Where a lens reports its tags, values and findings. Valid for the call. Every function throws Error if the host
/// refuses the message.
class Report {
  /// The buffers of a Row, whose memory is reused.
  struct Kept {
    std::vector<std::string> value_names, band_names;
    std::vector<double> values, bands;
    std::vector<const char*> pointers;
  };

 public:
  /// Collects numbers of one layer, to report them in one message.
  class Row {
   public:
    explicit Row(Report& report) : report_(report), kept_(std::exchange(report.spare_, {})) {}
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;
    ~Row() {
      for (auto* const names : {&kept_.value_names, &kept_.band_names}) names->clear();
      for (auto* const numbers : {&kept_.values, &kept_.bands}) numbers->clear();
      kept_.pointers.clear();
      report_.spare_ = std::move(kept_);
    }

    void value(std::string line, double number) {
      kept_.value_names.push_back(std::move(line));
      kept_.values.push_back(number);
    }
    void range(std::string low_name, std::string high_name, double low, double high) {
      kept_.band_names.push_back(std::move(low_name));
      kept_.band_names.push_back(std::move(high_name));
      kept_.bands.insert(kept_.bands.end(), {low, high});
    }
    void at_step(uint64_t step) { step_ = step; }  ///< after the previous tick; see LOUPE_MOST_STEP_NUMBERS
    /// Call it once; reports nothing if there are no numbers.
    void tell(const std::string& tag, const std::string& layer, uint64_t events = 0) {
      hand_on(tag, layer.c_str(), events);
    }
    /// The same for a big plot.
    void tell(const std::string& tag) { hand_on(tag, nullptr, 0); }

   private:
    friend Report;
    void hand_on(const std::string& tag, const char* layer, uint64_t events);

    Report& report_;
    Kept kept_;
    uint64_t step_ = 0;
  };

  explicit Report(const loupe_sink* sink, const loupe_tick* tick = nullptr) : sink_(sink), tick_(tick) {
    if (tick != nullptr) ++detail::reports_of_thread();
  }

  /// The moment of the report: epoch, step, time, the optimizers in their current state. Only in Lens::report.
  const loupe_tick& tick() const {
    if (tick_ == nullptr) throw Error("only a report has a tick; step() has none");
    return *tick_;
  }
  double epoch() const { return tick().at.epoch; }

  /// Call it before the tag's first value. A tag with the same id replaces the earlier one; the host drops repetitions,
  /// so a lens may report its tags at each report. A tag that another lens reported first is refused, unless both set
  /// it shared.
  void tag(const std::string& id, const TagStyle& style) {
    const loupe_tag tag = style.c_form(id);
    check([&](loupe_error* error) { return sink_->tag(sink_->context, &tag, error); });
  }
  /// A value of one layer, with its name as shown. `events`: the number of events behind the value, 0 if unknown.
  void value(const std::string& tag, const std::string& layer, const std::string& line, double number,
             uint64_t events = 0) {
    tell_value(tag, layer.c_str(), line, number, events);
  }
  /// A value of a module, shown under its name.
  void value(const std::string& tag, const Module& module, const std::string& line, double number,
             uint64_t events = 0) {
    tell_value(tag, module.name(), line, number, events);
  }
  /// A value of a big plot.
  void value(const std::string& tag, const std::string& line, double number) {
    tell_value(tag, nullptr, line, number, 0);
  }
  void range(const std::string& tag, const std::string& layer, const std::string& low_name,
             const std::string& high_name, double low, double high, uint64_t events = 0) {
    tell_range(tag, layer.c_str(), low_name, high_name, low, high, events);
  }
  void range(const std::string& tag, const std::string& low_name, const std::string& high_name, double low,
             double high) {
    tell_range(tag, nullptr, low_name, high_name, low, high, 0);
  }
  /// Values and bands, in one message.
  void row(const loupe_row& row) {
    check([&](loupe_error* error) { return sink_->row(sink_->context, &row, error); });
  }
  /// `edges` ascend, may be infinite at both ends, and have a count between each two. Throws Error unless there is one
  /// more edge than counts.
  void histogram(const std::string& tag, const std::string& layer, const std::string& line,
                 const std::vector<double>& edges, const std::vector<double>& counts, uint64_t events = 0) {
    if (edges.size() != counts.size() + 1) {
      throw Error("a histogram has " + std::to_string(edges.size()) + " edges and " + std::to_string(counts.size()) +
                      " counts; give it one more edge than counts",
                  LOUPE_INVALID);
    }
    loupe_histogram histogram{};
    histogram.struct_size = sizeof histogram;
    histogram.tag = tag.c_str();
    histogram.layer = layer.c_str();
    histogram.line = line.c_str();
    histogram.edges = edges.data();
    histogram.counts = counts.data();
    histogram.bin_count = counts.size();
    histogram.events = events;
    this->histogram(histogram);
  }
  void histogram(const loupe_histogram& histogram) {
    check([&](loupe_error* error) { return sink_->histogram(sink_->context, &histogram, error); });
  }
  /// Reports a finding: what is wrong, in words. Also in Lens::step.
  void finding(const Finding& finding) {
    loupe_finding told = finding.c_form();
    told.id = told.state = 0;  // the host sets these and the source
    told.source = nullptr;
    check([&](loupe_error* error) { return sink_->finding(sink_->context, &told, error); });
  }

 private:
  void tell_value(const std::string& tag, const char* layer, const std::string& line, double number, uint64_t events) {
    const char* const name = line.c_str();
    loupe_row row = empty_row(tag, layer, events);
    row.value_count = 1;
    row.value_names = &name;
    row.values = &number;
    this->row(row);
  }
  void tell_range(const std::string& tag, const char* layer, const std::string& low_name, const std::string& high_name,
                  double low, double high, uint64_t events) {
    Row row(*this);
    row.range(low_name, high_name, low, high);
    row.hand_on(tag, layer, events);
  }
  static loupe_row empty_row(const std::string& tag, const char* layer, uint64_t events) {
    loupe_row row{};
    row.struct_size = sizeof row;
    row.tag = tag.c_str();
    row.layer = layer;
    row.events = events;
    return row;
  }
  template <class Call>
  static void check(Call&& call) {
    detail::ErrorBuffer error;
    error.check(call(error.get()));
  }

  const loupe_sink* sink_;
  const loupe_tick* tick_;
  Kept spare_;
};

inline void Report::Row::hand_on(const std::string& tag, const char* layer, uint64_t events) {
  loupe_row row = empty_row(tag, layer, events);
  row.value_count = kept_.values.size();
  row.band_count = kept_.bands.size() / 2;
  for (const auto* names : {&kept_.value_names, &kept_.band_names}) {
    for (const std::string& name : *names) kept_.pointers.push_back(name.c_str());
  }
  row.value_names = kept_.pointers.data();
  row.values = kept_.values.data();
  row.band_names = kept_.pointers.data() + row.value_count;
  row.bands = kept_.bands.data();
  row.step = step_;
  if (!kept_.pointers.empty()) report_.row(row);
}

}  // namespace v1_0
}  // namespace loupe
