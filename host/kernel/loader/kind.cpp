#include "loader/kind.h"

#include <loupe/abi.h>
#include <loupe/draft/abi/option_names.h>

#include <cstddef>
#include <cstring>

namespace loupe {
namespace {

struct KindId {
  const char* id;
  const char* name;
};
const KindId kind_ids[] = {{LOUPE_GATHERER_ID, "gatherer"},
                           {LOUPE_PREPROCESSOR_ID, "preprocessor"},
                           {LOUPE_LENS_ID, "lens"},
                           {LOUPE_VISUALIZER_ID, "visualizer"}};

/// A function that every table of the kind has.
struct Needed {
  Kind kind;
  std::size_t place;
  const char* name;
};
#define LOUPE_NEEDED(KIND, MEMBER) \
  { Kind::KIND, offsetof(loupe_##KIND, MEMBER), #MEMBER }
constexpr Needed all_needed[] = {LOUPE_NEEDED(gatherer, open),        LOUPE_NEEDED(preprocessor, request),
                                 LOUPE_NEEDED(preprocessor, process), LOUPE_NEEDED(preprocessor, series_count),
                                 LOUPE_NEEDED(preprocessor, read),    LOUPE_NEEDED(preprocessor, reset),
                                 LOUPE_NEEDED(lens, attach),          LOUPE_NEEDED(lens, visit),
                                 LOUPE_NEEDED(lens, report),          LOUPE_NEEDED(visualizer, begin_tick),
                                 LOUPE_NEEDED(visualizer, row)};
#undef LOUPE_NEEDED

}  // namespace

const char* kind_name(Kind kind) {
  return kind_ids[static_cast<int>(kind)].name;
}

std::optional<Kind> kind_of(const std::string& interface_id) {
  for (int i = 0; i < 4; ++i) {
    if (interface_id == kind_ids[i].id) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

std::optional<Kind> kind_named_by(const loupe_option& option) {
  if ((option.flags & LOUPE_DRAFT_OPTION_GATHERER) != 0) return Kind::gatherer;
  if ((option.flags & LOUPE_DRAFT_OPTION_PREPROCESSOR) != 0) return Kind::preprocessor;
  return std::nullopt;
}

std::string lacking_function(Kind kind, const void* table) {
  const auto size = *static_cast<const uint32_t*>(table);
  for (const Needed& each : all_needed) {
    if (each.kind != kind) continue;
    void* function = nullptr;
    if (each.place + sizeof function <= size)
      std::memcpy(&function, static_cast<const char*>(table) + each.place, sizeof function);
    if (function == nullptr) return each.name;
  }
  return "";
}

}  // namespace loupe
