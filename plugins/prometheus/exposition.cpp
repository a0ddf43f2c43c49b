#include "prometheus/exposition.h"

#include <loupe/text/number_text.h>
#include <utf8.h>

#include <cmath>
#include <string_view>

namespace loupe::prometheus {
namespace {

std::string escaped(const std::string& value) {
  std::string text;
  for (const char character : utf8::replace_invalid(value)) {
    if (character == '\n') {
      text += "\\n";
      continue;
    }
    if (character == '\\' || character == '"') text += '\\';
    text += character;
  }
  return text;
}

std::string sample_value(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return number_text(value);
}

}  // namespace

void Metric::set(std::initializer_list<Label> labels, double value) {
  std::string text;
  for (const auto& [name, label] : labels) {
    text += (text.empty() ? "" : ",") + std::string(name) + "=\"" + escaped(label) + '"';
  }
  samples_[text] = value;
}

std::string Metric::text() const {
  if (samples_.empty()) return "";
  std::string text = "# HELP " + name_ + ' ' + help_ + "\n# TYPE " + name_ + ' ' + type_ + '\n';
  for (const auto& [labels, value] : samples_) text += name_ + '{' + labels + "} " + sample_value(value) + '\n';
  return text;
}

}  // namespace loupe::prometheus
