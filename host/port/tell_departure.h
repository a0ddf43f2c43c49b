#pragma once

#include <iosfwd>
#include <string>

namespace loupe::port {

/// Says where two records of fingerprints first depart, and why, or that they agree. Returns the command's exit code: 0
/// where they agree, 1 where they depart, 2 where they agree as far as they can be compared, which is not to the end.
/// @param map a file that says which modules are the same; empty for none
/// Throws UsageError and ConfigError for what cannot be read.
int tell_departure(const std::string& first, const std::string& second, const std::string& map, std::ostream& out);

}  // namespace loupe::port
