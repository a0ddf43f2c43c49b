#pragma once

#include <string>
#include <utility>
#include <vector>

namespace loupe::record {

/// Facts that identify a process, by name: its command line, host, user and the Git commit of its program. Leaves out
/// facts that cannot be found.
std::vector<std::pair<std::string, std::string>> run_facts();

/// The checked-out commit of the Git repository that contains a folder; "" if there is none.
std::string git_commit(const std::string& folder);

/// A command line for a shell: arguments with special characters are quoted.
std::string command_line(const std::vector<std::string>& arguments);

}  // namespace loupe::record
