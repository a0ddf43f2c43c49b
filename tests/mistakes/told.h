#pragma once

#include <string>

namespace loupe::test {

/// Returns the message that a Bench gives the author of a lens for one of MistakenLens's mistakes.
std::string told_in_a_bench(const std::string& mistake);
/// The same of any lens of the plugin, written as in YAML.
std::string told_of_lens(const std::string& lens);
/// What `loupe check` says is broken in a plugin of tests/check, a line a rule: "rule: detail".
std::string told_by_check(const std::string& plugin);
/// What `loupe validate` says of a configuration.
std::string told_by_validate(const std::string& yaml);
/// What the command says, with those arguments, in an empty folder.
std::string told_by_command(const std::string& arguments);

}  // namespace loupe::test
