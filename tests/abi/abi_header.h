#pragma once

#include <string>
#include <vector>

namespace loupe {

/// The faults of abi.h's text against its own rules, one sentence each.
std::vector<std::string> faults_of_header(const std::string& text);

/// The members of messages in abi.h's text without an entry in the text of detail/messages.h, one sentence each.
std::vector<std::string> members_without_entry(const std::string& header, const std::string& table);

/// The number of function pointers and of structs in the text: shows that a check without faults did read something.
std::size_t count_functions(const std::string& text);
std::size_t count_structs(const std::string& text);

}  // namespace loupe
