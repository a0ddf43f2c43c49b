#include "html/page_text.h"

namespace loupe::html {

std::string page_json(const Json& json) {
  // ASCII also keeps the browser's copy of the data at one byte a character. In JSON, '<' occurs in strings only, so
  // escaping every one of them leaves the document's meaning alone and no "</script>" or "<!--" in it.
  std::string text;
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string page_document(const std::string& document) {
  const Json json = Json::parse(document, nullptr, false);
  return page_json(json.is_discarded() ? Json(document) : json);
}

char base64_digit(std::uint32_t six_bits) {
  return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[six_bits & 63];
}

}  // namespace loupe::html
