#ifndef LOUPE_HTML_JSON_TEXT_H
#define LOUPE_HTML_JSON_TEXT_H

#include <string>
#include <vector>

namespace loupe::html {

/// A JSON string that may stand inside an HTML script element: ASCII only, '<' escaped, bytes that are no UTF-8
/// replaced.
std::string json_text(const std::string& text);
std::string json_texts(const std::vector<std::string>& texts);
/// A JSON number; null for NaN and infinities.
std::string json_number(double value);
std::string json_numbers(const std::vector<double>& values);
/// JSON documents as an array that may stand inside an HTML script element; one that is no JSON becomes a string.
std::string json_documents(const std::vector<std::string>& documents);

}  // namespace loupe::html

#endif
