#pragma once

#include <string>
#include <vector>

namespace loupe {

/// What in the text of abi.h breaks the rules that it states: a sentence each.
std::vector<std::string> faults_of_header(const std::string& text);

/// Which members of the messages in the text of abi.h have no entry in the text of detail/messages.h: a sentence each.
std::vector<std::string> members_without_entry(const std::string& header, const std::string& table);

/// How many function pointers and structs the text has: for telling a check that found nothing from one that looked at
/// nothing.
std::size_t count_functions(const std::string& text);
std::size_t count_structs(const std::string& text);

}  // namespace loupe
