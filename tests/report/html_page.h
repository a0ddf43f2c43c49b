#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace loupe::test {

/// A report as its own scripts read it: reads the data from the script elements.
class HtmlPage {
 public:
  /// Throws std::runtime_error if the file is not a complete page.
  explicit HtmlPage(const std::string& file);

  const std::string& text() const { return text_; }
  std::size_t run_count() const;
  nlohmann::json run(std::size_t index) const { return embedded("run-" + std::to_string(index)); }
  std::vector<double> epochs(std::size_t run_index = 0) const { return run(run_index).at("epochs"); }
  /// The layer's object; throws if the run has no such tag or layer.
  nlohmann::json layer(const std::string& tag, const std::string& layer, std::size_t run_index = 0) const;
  /// The unpacked numbers of a line; MISSING for epochs without a number.
  std::vector<double> line(const std::string& tag, const std::string& layer, const std::string& line,
                           std::size_t run_index = 0) const;

  /// A line's numbers for single steps, and their positions between epochs.
  struct Steps {
    std::size_t stride;
    std::vector<double> epochs, values;
  };
  Steps steps(const std::string& tag, const std::string& layer, const std::string& line) const;

  static std::vector<double> unpacked(const std::string& packed);
  static constexpr double MISSING = -12345;

 private:
  nlohmann::json embedded(const std::string& id) const;

  std::string text_;
};

}  // namespace loupe::test
