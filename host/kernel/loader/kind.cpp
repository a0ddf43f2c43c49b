#include "loader/kind.h"

#include <loupe/abi.h>
#include <loupe/draft/abi/option_names.h>

#include <cstddef>

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

#define LOUPE_NEEDS(MEMBER) \
  if (!LOUPE_OFFERS(table, MEMBER)) return #MEMBER

std::string lacking(const loupe_gatherer& table) {
  LOUPE_NEEDS(open);
  return "";
}

std::string lacking(const loupe_preprocessor& table) {
  LOUPE_NEEDS(request);
  LOUPE_NEEDS(process);
  LOUPE_NEEDS(series_count);
  LOUPE_NEEDS(read);
  LOUPE_NEEDS(reset);
  return "";
}

std::string lacking(const loupe_lens& table) {
  LOUPE_NEEDS(attach);
  LOUPE_NEEDS(visit);
  LOUPE_NEEDS(report);
  return "";
}

std::string lacking(const loupe_visualizer& table) {
  LOUPE_NEEDS(begin_tick);
  LOUPE_NEEDS(row);
  return "";
}

#undef LOUPE_NEEDS

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
  switch (kind) {
    case Kind::gatherer:
      return lacking(*static_cast<const loupe_gatherer*>(table));
    case Kind::preprocessor:
      return lacking(*static_cast<const loupe_preprocessor*>(table));
    case Kind::lens:
      return lacking(*static_cast<const loupe_lens*>(table));
    default:
      return lacking(*static_cast<const loupe_visualizer*>(table));
  }
}

}  // namespace loupe
