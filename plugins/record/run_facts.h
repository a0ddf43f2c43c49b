#pragma once

#include <string>
#include <utility>
#include <vector>

namespace loupe::record {

/// What tells one process from another: its command line, host, user and the Git commit of its program, by name. A fact
/// that cannot be found is left out.
std::vector<std::pair<std::string, std::string>> run_facts();

/// The commit that is checked out in the Git repository around a folder; "" outside of one.
std::string git_commit(const std::string& folder);

/// As a shell would take it: arguments with other characters than those of names and numbers are quoted.
std::string command_line(const std::vector<std::string>& arguments);

}  // namespace loupe::record
