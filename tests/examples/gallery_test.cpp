// The faults in examples/README.md are found with the quoted remedies, and nothing else is.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "../holds.h"
#include "paths.h"
#include "process.h"

namespace loupe::test {
namespace {

using Rules = std::set<std::string>;

struct Fault {
  Rules rules;         // after "Findings:"
  std::string remedy;  // quoted after "→"
};

/// Figures differ from machine to machine.
std::string without_figures(const std::string& text) {
  static const std::regex figure("[0-9]+(\\.[0-9]+)?(e[+-]?[0-9]+)?");
  return std::regex_replace(text, figure, "#");
}

std::map<std::string, Fault> gallery() {
  std::map<std::string, Fault> faults;
  std::ifstream file(LOUPE_GALLERY);
  std::string fault;
  const std::regex name("`([a-z_]+)`");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("## ", 0) == 0) fault = line.substr(3);
    if (line.rfind("> → ", 0) == 0) {
      faults[fault].remedy = line.substr(2);
    } else if (line.rfind("> ", 0) == 0 && !faults[fault].remedy.empty()) {
      faults[fault].remedy += line.substr(1);
    }
    const std::size_t findings = line.find("Findings: ");
    if (fault.empty() || findings == std::string::npos) continue;
    const std::string listed = line.substr(findings);
    for (std::sregex_iterator each(listed.begin(), listed.end(), name), end; each != end; ++each)
      faults[fault].rules.insert((*each)[1]);
    faults[fault];
  }
  return faults;
}

/// The rules of errors and warnings that were unresolved when the run ended.
Rules standing(const std::string& diagnosis) {
  Rules rules;
  const std::regex finding("^  (error|warning): .*\\(([a-z_]+), epoch");
  std::istringstream lines(diagnosis);
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    if (std::regex_search(line, parts, finding)) rules.insert(parts[2]);
  }
  return rules;
}

TEST(Gallery, ShowsFaultsThatLoupeFindsAndNothingElse) {
  const std::map<std::string, Fault> faults = gallery();

  EXPECT_GE(faults.size(), 19u);
  for (const auto& [fault, about] : faults) {
    const std::filesystem::path folder = fresh_folder();
    // Measure every step, because the default depends on the machine's speed.
    const Finished trained = run(
        LOUPE_COMMAND + " run --every-step --out . --name it -- " + LOUPE_EXAMPLES + "/digits_sick " + fault, folder);
    EXPECT_EQ(trained.exit_code, 0) << fault << ": " << trained.output;
    const std::string diagnosis = run(LOUPE_COMMAND + " diagnose it", folder).output;
    EXPECT_EQ(standing(diagnosis), about.rules) << fault;
    EXPECT_EQ(about.remedy.empty(), fault == "none") << fault;
    EXPECT_TRUE(holds(without_figures(diagnosis), without_figures(about.remedy + "\n"))) << fault;
    const bool was_born_dead = diagnosis.find("silent since the first step") != std::string::npos;
    EXPECT_EQ(was_born_dead, fault == "dead-units") << fault;
  }
}

TEST(Gallery, SavesTheLastStepsBeforeAWarningIfAsked) {
  const std::filesystem::path folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << "loupe: 1\nrun: {dir: it}\non_finding: {warning: dump}\n"
                                         << "lenses: [health]\nvisualizers: [record]\n";
  const Finished trained = run(LOUPE_COMMAND + " run --config monitor.yaml --every-step -- " + LOUPE_EXAMPLES +
                                   "/digits_sick double-softmax 2>&1",
                               folder);
  EXPECT_EQ(trained.output.find("acts as tell"), std::string::npos) << trained.output;
  const std::filesystem::directory_iterator files(folder / "it");
  EXPECT_TRUE(std::any_of(begin(files), end(files), [](const std::filesystem::directory_entry& each) {
    return each.path().filename().string().starts_with("incident-");
  })) << trained.output;
}

}  // namespace
}  // namespace loupe::test
