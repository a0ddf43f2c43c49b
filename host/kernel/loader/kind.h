#pragma once

#include <loupe/abi/options.h>

#include <optional>
#include <string>

namespace loupe {

/// The four kinds of components.
enum class Kind { gatherer, preprocessor, lens, visualizer };

/// The kind's word for messages.
const char* kind_name(Kind kind);

/// The kind of an interface's id, such as LOUPE_LENS_ID; nullopt if unknown.
std::optional<Kind> kind_of(const std::string& interface_id);

/// The kind of component that the option's value names; see loupe/draft/abi/option_names.h.
std::optional<Kind> kind_named_by(const loupe_option& option);

/// The first required function of that kind that `table` lacks, because it is cut short or null; empty if complete.
std::string lacking_function(Kind kind, const void* table);

}  // namespace loupe
