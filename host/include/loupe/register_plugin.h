#pragma once

#include "loupe/version.h"

struct loupe_entry;  // loupe/abi.h

namespace loupe {

/// Makes the components of a plugin that is linked into this program available under their names in YAML, as from a
/// plugin folder:
///
///     LOUPE_STATIC_PLUGIN(my_lenses, "my_lenses", "1.0", WeightSum);  // loupe/plugin.h
///
///     loupe::register_plugin(my_lenses);
///     loupe::Inspector inspector("monitor.yaml");  // may say: lenses: [weight_sum]
///
/// For the whole process, from the next configuration that is read; it takes precedence over plugin files. If two have
/// a component of the same name, the first registered one is used, with a warning. A repeated entry has no effect.
/// `entry` and the data behind it must never be freed. Any thread. Throws std::runtime_error for an entry that no
/// plugin of this ABI has.
LOUPE_API void register_plugin(const loupe_entry& entry);

}  // namespace loupe
