#pragma once

#include <loupe/abi.h>

#include <optional>
#include <string>

namespace loupe {
inline namespace v1_0 {

/// The style and the texts of a plot. `big` is one plot for the whole model; otherwise there is one for each layer. The
/// texts are for people: see loupe_tag.
struct TagStyle {
  uint32_t type = LOUPE_SCALE_NUMERICAL;
  bool log_y = false;
  bool big = false;
  bool annotate = false;
  bool shared = false;                                   ///< other lenses that also set it may report it
  std::optional<double> y_minimum = {}, y_maximum = {};  ///< limits of the axis
  std::string title = {}, unit = {}, description = {}, healthy = {}, advice = {};

  /// Valid as long as this object and `id`.
  loupe_tag c_form(const std::string& id) const {
    const auto or_null = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
    loupe_tag tag{};
    tag.struct_size = sizeof tag;
    tag.type = type;
    tag.flags = (log_y ? uint32_t{LOUPE_TAG_LOG_Y} : 0u) | (big ? uint32_t{LOUPE_TAG_BIG} : 0u) |
                (annotate ? uint32_t{LOUPE_TAG_ANNOTATE} : 0u) | (y_minimum ? uint32_t{LOUPE_TAG_HAS_MINIMUM} : 0u) |
                (y_maximum ? uint32_t{LOUPE_TAG_HAS_MAXIMUM} : 0u) | (shared ? uint32_t{LOUPE_TAG_SHARED} : 0u);
    tag.id = id.c_str();
    tag.title = or_null(title);
    tag.unit = or_null(unit);
    tag.description = or_null(description);
    tag.healthy = or_null(healthy);
    tag.advice = or_null(advice);
    tag.y_minimum = y_minimum.value_or(0);
    tag.y_maximum = y_maximum.value_or(0);
    return tag;
  }
};

}  // namespace v1_0
}  // namespace loupe
