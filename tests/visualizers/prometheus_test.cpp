#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "driver.h"

namespace loupe::test {
namespace {

using Labels = std::map<std::string, std::string>;

/// Reads the text format strictly, and knows what of it is written here: HELP, TYPE, and samples with labels and no
/// timestamp, all those of a metric together, no two alike.
class Exposition {
 public:
  explicit Exposition(const std::string& text) {
    if (text.empty() || text.back() != '\n') throw std::runtime_error("the last line has no end");
    for (const std::string& line : lines_of(text)) read_line(line);
  }
  /// The value as written. Throws std::out_of_range where there is no such sample.
  const std::string& at(const std::string& name, const Labels& labels) const { return samples_.at({name, labels}); }
  std::size_t size() const { return samples_.size(); }

 private:
  void read_line(const std::string& line) {
    static const std::regex help("# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) [^\\\\]+"), type("# TYPE (\\S+) gauge"),
        sample("([a-zA-Z_:][a-zA-Z0-9_:]*)\\{(.*)\\} (\\S+)"),
        number("[+-]?Inf|NaN|[+-]?[0-9]+(\\.[0-9]+)?(e[+-]?[0-9]+)?");
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      if (!known_.insert(match[1]).second) throw std::runtime_error("helped twice: " + line);
      current_ = match[1];
    } else if (std::regex_match(line, match, type)) {
      if (match[1] != current_ || !typed_.insert(match[1]).second) throw std::runtime_error("misplaced: " + line);
    } else if (std::regex_match(line, match, sample)) {
      if (match[1] != current_ || typed_.count(match[1]) == 0) throw std::runtime_error("not grouped: " + line);
      const std::string value = match[3];
      if (!std::regex_match(value, number)) throw std::runtime_error("no number: " + line);
      if (!samples_.emplace(std::make_pair(match[1], labels_of(match[2])), value).second) {
        throw std::runtime_error("told twice: " + line);
      }
    } else {
      throw std::runtime_error("not of the format: " + line);
    }
  }
  static Labels labels_of(const std::string& text) {
    Labels labels;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t equals = text.find("=\"", at);
      if (equals == std::string::npos) throw std::runtime_error("no label: " + text);
      const std::string name = text.substr(at, equals - at);
      std::string value;
      for (at = equals + 2; text.at(at) != '"'; ++at) {
        if (text[at] != '\\') {
          value += text[at];
          continue;
        }
        const char escaped = text.at(++at);
        if (escaped != 'n' && escaped != '\\' && escaped != '"') throw std::runtime_error("bad escape: " + text);
        value += escaped == 'n' ? '\n' : escaped;
      }
      ++at;
      if (!labels.emplace(name, value).second) throw std::runtime_error("label twice: " + text);
      if (at < text.size() && text[at++] != ',') throw std::runtime_error("no comma: " + text);
    }
    return labels;
  }

  std::string current_;
  std::set<std::string> known_, typed_;
  std::map<std::pair<std::string, Labels>, std::string> samples_;
};

TEST(Prometheus, ShowsTheLastTickOnly) {
  const Folder folder;
  Driver prometheus(PROMETHEUS_PLUGIN);
  EXPECT_EQ(prometheus.begin(folder / "a/b"), "");
  for (const double epoch : {1.0, 2.0}) {
    prometheus.begin_tick(epoch);
    if (epoch == 1) prometheus.value("T", "gone", "mean", 1);
    prometheus.value("T", "conv1", "mean", epoch / 3);
    prometheus.range("T", "conv1", "min", "max", -epoch, INFINITY);
    EXPECT_EQ(prometheus.end_tick(), "");
  }
  EXPECT_EQ(prometheus.end(), "");
  const Exposition found(read(folder / "a/b/loupe.prom"));
  EXPECT_EQ(found.size(), 4u);
  EXPECT_EQ(found.at("loupe_epoch", {{"run", "digits"}}), "2");
  const Labels labels = {{"run", "digits"}, {"tag", "T"}, {"layer", "conv1"}, {"line", "mean"}};
  EXPECT_EQ(found.at("loupe_value", labels), "0.6666666666666666");
  const Labels band = {{"run", "digits"}, {"tag", "T"}, {"layer", "conv1"}, {"line", "min..max"}};
  EXPECT_EQ(found.at("loupe_range_low", band), "-2");
  EXPECT_EQ(found.at("loupe_range_high", band), "+Inf");
  EXPECT_FALSE(std::filesystem::exists(folder / "a/b/loupe.prom.tmp"));
}

TEST(Prometheus, EscapesLabelsAndKeepsThemUtf8) {
  const Folder folder;
  Driver prometheus(PROMETHEUS_PLUGIN);
  prometheus.begin(folder.text(), false, "C:\\run \"one\"\n");
  prometheus.begin_tick(1);
  prometheus.value("σ", "bad\xff\xc3", "a,b}", NAN);
  EXPECT_EQ(prometheus.end_tick(), "");
  const Exposition found(read(folder / "loupe.prom"));
  EXPECT_EQ(
      found.at(
          "loupe_value",
          {{"run", "C:\\run \"one\"\n"}, {"tag", "σ"}, {"layer", "bad\xEF\xBF\xBD\xEF\xBF\xBD"}, {"line", "a,b}"}}),
      "NaN");
}

TEST(Prometheus, TellsASeriesOnceAsTheFormatDemands) {
  const Folder folder;
  Driver prometheus(PROMETHEUS_PLUGIN);
  prometheus.begin(folder.text());
  prometheus.begin_tick(1);
  for (const double value : {1.0, 2.0}) prometheus.value("T", "l", "mean", value);
  prometheus.end_tick();
  const Exposition found(read(folder / "loupe.prom"));
  EXPECT_EQ(found.at("loupe_value", {{"run", "digits"}, {"tag", "T"}, {"layer", "l"}, {"line", "mean"}}), "2");
}

TEST(Prometheus, NeverShowsHalfAFile) {
  const Folder folder;
  Driver prometheus(PROMETHEUS_PLUGIN);
  prometheus.begin(folder.text());
  prometheus.loss_tick(1, 1);
  std::ifstream reader(folder / "loupe.prom");
  prometheus.loss_tick(2, 2);
  std::ostringstream seen;
  seen << reader.rdbuf();
  EXPECT_EQ(Exposition(seen.str()).at("loupe_epoch", {{"run", "digits"}}), "1");
  EXPECT_EQ(Exposition(read(folder / "loupe.prom")).at("loupe_epoch", {{"run", "digits"}}), "2");
}

}  // namespace
}  // namespace loupe::test
