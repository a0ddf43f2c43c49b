#pragma once

#include <loupe/abi.h>

#include <map>
#include <memory>
#include <string>

#include "loader/catalogue.h"
#include "options/option_set.h"

namespace loupe {

/// The options that a lens gave to components, each checked only once: most lenses give the same to every module. One
/// thread.
class KnownOptions {
 public:
  /// `owner` names the component in errors. Throws Error as OptionSet::from_values.
  std::shared_ptr<const OptionSet> of(const CatalogueEntry& entry, const loupe_options* values,
                                      const std::string& owner);

 private:
  std::map<std::string, std::shared_ptr<const OptionSet>> sets_;  // by component and values
};

}  // namespace loupe
