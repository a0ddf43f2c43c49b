#pragma once

#include <gtest/gtest.h>

#include <string>

namespace loupe::test {

/// Whether a text contains a part; a failed expectation shows both.
inline testing::AssertionResult holds(const std::string& text, const std::string& part) {
  if (text.find(part) == std::string::npos)
    return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
  return testing::AssertionSuccess() << "'" << part << "' is in: " << text;
}

}  // namespace loupe::test
