#pragma once

#include <string>

namespace loupe::test {

/// Returns the message that a Bench gives the author of a lens for one of MistakenLens's mistakes.
std::string told_in_a_bench(const std::string& mistake);
/// Returns the messages about any lens of the plugin, written as in YAML.
std::string told_of_lens(const std::string& lens);

}  // namespace loupe::test
