#pragma once

#include "loupe/version.h"

struct loupe_entry;  // loupe/abi.h

namespace loupe {

/// Makes the components of a plugin that is linked into this program known under their names in YAML, as if it lay in
/// a plugin folder:
///
///     LOUPE_STATIC_PLUGIN(my_lenses, "my_lenses", "1.0", WeightSum);  // loupe/plugin.h
///
///     loupe::register_plugin(my_lenses);
///     loupe::Inspector inspector("monitor.yaml");  // may say: lenses: [weight_sum]
///
/// For the whole process, from the next configuration that is read; it goes before every plugin file. Where two bring a
/// component of one name, the first that was registered is taken, and a warning says so. The same entry again does
/// nothing. `entry` and what it leads to must live for good. Any thread.
/// Throws std::runtime_error for an entry that no plugin of this ABI has.
LOUPE_API void register_plugin(const loupe_entry& entry);

}  // namespace loupe
