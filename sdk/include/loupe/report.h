#ifndef LOUPE_REPORT_H
#define LOUPE_REPORT_H

#include <loupe/abi.h>
#include <loupe/error.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace loupe {

/// How a plot looks. `big` is one plot for the whole model; otherwise there is one for each layer.
struct TagStyle {
  uint32_t type = LOUPE_TAG_NUMERICAL;
  bool log_y = false;
  bool big = false;
  bool annotate = false;
  double y_minimum = NAN, y_maximum = NAN;
};

/// Where a lens tells its tags and values. Valid for the call.
class Report {
 public:
  Report(const loupe_sink* sink, double epoch) : sink_(sink), epoch_(epoch) {}

  double epoch() const { return epoch_; }
  /// What is watched, and where a lens may write files of its own; null when the host does not say.
  const loupe_run* run() const { return LOUPE_OFFERS(*sink_, run) ? sink_->run : nullptr; }
  /// Must come before the tag's first value; the same again does no harm.
  void tag(const std::string& name, const TagStyle& style) {
    const loupe_tag tag{sizeof(loupe_tag), style.type, name.c_str(),    style.log_y,    style.big,
                        style.annotate,    0,          style.y_minimum, style.y_maximum};
    check([&](loupe_error* error) { return sink_->tag(sink_->context, &tag, error); });
  }
  void value(const std::string& tag, const std::string& layer, const std::string& line, double number) {
    const loupe_value value{sizeof(loupe_value), 0, tag.c_str(), layer.c_str(), line.c_str(), number};
    check([&](loupe_error* error) { return sink_->value(sink_->context, &value, error); });
  }
  void range(const std::string& tag, const std::string& layer, const std::string& low_name,
             const std::string& high_name, double low, double high) {
    const loupe_range range{sizeof(loupe_range), 0,   tag.c_str(), layer.c_str(), low_name.c_str(),
                            high_name.c_str(),   low, high};
    check([&](loupe_error* error) { return sink_->range(sink_->context, &range, error); });
  }
  void histogram(const loupe_histogram& histogram) {
    check([&](loupe_error* error) { return sink_->histogram(sink_->context, &histogram, error); });
  }

 private:
  template <class Call>
  static void check(Call&& call) {
    detail::ErrorBuffer error;
    error.check(call(error.get()));
  }

  const loupe_sink* sink_;
  double epoch_;
};

}  // namespace loupe

#endif
