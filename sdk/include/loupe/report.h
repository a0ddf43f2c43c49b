#ifndef LOUPE_REPORT_H
#define LOUPE_REPORT_H

#include <loupe/abi.h>
#include <loupe/error.h>
#include <loupe/finding.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace loupe {

/// How a plot looks, and what its words mean. `big` is one plot for the whole model; otherwise there is one for each
/// layer. The texts are for people: see loupe_tag.
struct TagStyle {
  uint32_t type = LOUPE_TAG_NUMERICAL;
  bool log_y = false;
  bool big = false;
  bool annotate = false;
  double y_minimum = NAN, y_maximum = NAN;
  std::string title = {}, unit = {}, description = {}, healthy = {}, advice = {};
};

/// Where a lens tells its tags, values and findings. Valid for the call. Every function throws Error where the host
/// refuses what it is told.
class Report {
 public:
  explicit Report(const loupe_sink* sink, const loupe_tick* tick = nullptr) : sink_(sink), tick_(tick) {}

  /// The moment that is reported: epoch, step, time, the optimizers as they are. Only in Lens::report.
  const loupe_tick& tick() const {
    if (tick_ == nullptr) throw Error("only a report has a tick; tags and findings between ticks have none");
    return *tick_;
  }
  double epoch() const { return tick_ != nullptr ? tick_->epoch : NAN; }

  /// Must come before the tag's first value. The same id again replaces what was said of it.
  void tag(const std::string& id, const TagStyle& style) {
    const loupe_tag tag{sizeof(loupe_tag),
                        style.type,
                        id.c_str(),
                        or_null(style.title),
                        or_null(style.unit),
                        or_null(style.description),
                        or_null(style.healthy),
                        or_null(style.advice),
                        style.log_y,
                        style.big,
                        style.annotate,
                        0,
                        style.y_minimum,
                        style.y_maximum};
    check([&](loupe_error* error) { return sink_->tag(sink_->context, &tag, error); });
  }
  /// Of one layer, as it is shown. `events`: on how many the value stands, 0 where that says nothing.
  void value(const std::string& tag, const std::string& layer, const std::string& line, double number,
             uint64_t events = 0) {
    tell({sizeof(loupe_value), 0, tag.c_str(), layer.c_str(), line.c_str(), number, nullptr, events});
  }
  /// Of a big plot.
  void value(const std::string& tag, const std::string& line, double number) {
    tell({sizeof(loupe_value), 0, tag.c_str(), nullptr, line.c_str(), number, nullptr, 0});
  }
  void range(const std::string& tag, const std::string& layer, const std::string& low_name,
             const std::string& high_name, double low, double high, uint64_t events = 0) {
    tell({sizeof(loupe_range), 0, tag.c_str(), layer.c_str(), low_name.c_str(), high_name.c_str(), low, high, nullptr,
          events});
  }
  void range(const std::string& tag, const std::string& low_name, const std::string& high_name, double low,
             double high) {
    tell({sizeof(loupe_range), 0, tag.c_str(), nullptr, low_name.c_str(), high_name.c_str(), low, high, nullptr, 0});
  }
  void histogram(const loupe_histogram& histogram) {
    check([&](loupe_error* error) { return sink_->histogram(sink_->context, &histogram, error); });
  }
  /// What is wrong, in words. Also in Lens::step.
  void finding(const Finding& finding) {
    const loupe_finding told = finding.c_form();
    check([&](loupe_error* error) { return sink_->finding(sink_->context, &told, error); });
  }

 private:
  static const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }
  void tell(const loupe_value& value) {
    check([&](loupe_error* error) { return sink_->value(sink_->context, &value, error); });
  }
  void tell(const loupe_range& range) {
    check([&](loupe_error* error) { return sink_->range(sink_->context, &range, error); });
  }
  template <class Call>
  static void check(Call&& call) {
    detail::ErrorBuffer error;
    error.check(call(error.get()));
  }

  const loupe_sink* sink_;
  const loupe_tick* tick_;
};

}  // namespace loupe

#endif
