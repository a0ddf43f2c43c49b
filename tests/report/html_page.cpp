#include "report/html_page.h"

#include "visualizers/driver.h"

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace loupe::test {

namespace {

std::string opening(const std::string& id) {
  return "<script type=\"application/json\" id=\"" + id + "\">";
}

}  // namespace

HtmlPage::HtmlPage(const std::string& file) : text_(read(file)) {
  if (text_.rfind("<!DOCTYPE html>", 0) != 0 || text_.find("</html>\n") != text_.size() - 8) {
    throw std::runtime_error(file + " is no whole page");
  }
}

std::size_t HtmlPage::run_count() const {
  std::size_t count = 0;
  while (text_.find(opening("run-" + std::to_string(count))) != std::string::npos) ++count;
  return count;
}

nlohmann::json HtmlPage::embedded(const std::string& id) const {
  const std::size_t found = text_.find(opening(id));
  if (found == std::string::npos) throw std::runtime_error("the page has no " + id);
  const std::size_t begin = found + opening(id).size();
  return nlohmann::json::parse(text_.substr(begin, text_.find("</script>", begin) - begin));
}

nlohmann::json HtmlPage::layer(const std::string& tag, const std::string& layer, std::size_t run_index) const {
  const nlohmann::json told = run(run_index);
  for (std::size_t i = 0; i < told.at("tags").size(); ++i) {
    if (told["tags"][i].at("name") != tag) continue;
    const nlohmann::json layers = embedded("run-" + std::to_string(run_index) + "-tag-" + std::to_string(i));
    for (const auto& each : layers) {
      if (each.at("name") == layer) return each;
    }
  }
  throw std::runtime_error("the page has no " + tag + " of " + layer);
}

std::vector<double> HtmlPage::line(const std::string& tag, const std::string& layer_name, const std::string& line,
                                   std::size_t run_index) const {
  const nlohmann::json told = layer(tag, layer_name, run_index);
  for (const auto& each : told.at("lines")) {
    if (each.at(0) == line) return unpacked(each.at(1));
  }
  throw std::runtime_error("the page has no line " + line);
}

HtmlPage::Steps HtmlPage::steps(const std::string& tag, const std::string& layer_name, const std::string& line) const {
  const nlohmann::json told = layer(tag, layer_name);
  for (const auto& each : told.at("steps")) {
    if (each.at(0) == line) return {each.at(1), each.at(2), unpacked(each.at(3))};
  }
  throw std::runtime_error("the page has no steps of " + line);
}

std::vector<double> HtmlPage::unpacked(const std::string& packed) {
  static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  // "N:" stands for N epochs without a number.
  const std::size_t mark = packed.find(':'), begin = mark == std::string::npos ? 0 : mark + 1;
  std::vector<double> values(begin == 0 ? 0 : std::stoul(packed), MISSING);
  for (std::size_t i = begin; i < packed.size(); i += 4) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 4; ++j) bits = bits << 6 | static_cast<std::uint32_t>(digits.find(packed.at(i + j)));
    bits <<= 8;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(bits == 0x7fffff00 ? MISSING : static_cast<double>(value));
  }
  return values;
}

}  // namespace loupe::test
