#pragma once

#include <string_view>

namespace loupe::html {

// The page around the data, put together when Loupe is built (see embed.cmake): report.html with the styles, dygraphs
// and the scripts inlined, split where the runs' data belongs.
extern const std::string_view PAGE_BEFORE_DATA;
extern const std::string_view PAGE_AFTER_DATA;

}  // namespace loupe::html
