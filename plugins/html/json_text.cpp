#include "html/json_text.h"

#include <nlohmann/json.hpp>

namespace loupe::html {

namespace {

// ASCII also keeps the browser's copy of the data at one byte a character. In JSON, '<' occurs in strings only, so that
// escaping every one of them leaves the document's meaning alone and no "</script>" or "<!--" in it.
std::string dump(const nlohmann::ordered_json& json) {
  const std::string plain = json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::string text;
  for (const char c : plain) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string json_text(const std::string& text) {
  return dump(text);
}

std::string json_texts(const std::vector<std::string>& texts) {
  return dump(texts);
}

std::string json_number(double value) {
  return dump(value);
}

std::string json_numbers(const std::vector<double>& values) {
  return dump(values);
}

std::string json_documents(const std::vector<std::string>& documents) {
  auto list = nlohmann::ordered_json::array();
  for (const std::string& document : documents) {
    auto json = nlohmann::ordered_json::parse(document, nullptr, false);
    list.push_back(json.is_discarded() ? nlohmann::ordered_json(document) : std::move(json));
  }
  return dump(list);
}

}  // namespace loupe::html
