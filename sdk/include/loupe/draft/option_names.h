#pragma once

// A draft: it may change or go without notice. Options that name other components or files, which the host checks.

#include <loupe/draft/abi/option_names.h>
#include <loupe/options.h>

#include <string>
#include <utility>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// The name of a gatherer.
inline Option gatherer_option(std::string name, const char* value, std::string help) {
  Option option(std::move(name), value, std::move(help));
  option.drafts = LOUPE_DRAFT_OPTION_GATHERER;
  return option;
}

/// The name of a preprocessor.
inline Option preprocessor_option(std::string name, const char* value, std::string help) {
  Option option(std::move(name), value, std::move(help));
  option.drafts = LOUPE_DRAFT_OPTION_PREPROCESSOR;
  return option;
}

/// The options of the component named by the last such option before it, checked by that component's declaration.
inline Option named_options(std::string name, std::string help) {
  Option option = Option::map(std::move(name), std::move(help));
  option.drafts = LOUPE_DRAFT_OPTION_OPTIONS;
  return option;
}

/// A file. A relative path starts at the folder of the configuration, and the component gets the whole path; "" if a
/// record names it, as anybody may have written the record.
inline Option file_option(std::string name, const char* value, std::string help) {
  Option option(std::move(name), value, std::move(help));
  option.drafts = LOUPE_DRAFT_OPTION_FILE;
  return option;
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
