#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "../holds.h"
#include "driver.h"
#include "paths.h"

namespace loupe::test {
namespace {

using Labels = std::map<std::string, std::string>;

/// A strict reader of the parts of the text format that the visualizer writes: HELP, TYPE, and samples with labels and
/// without timestamps, where all samples of a metric are together and no two are equal.
class Exposition {
 public:
  explicit Exposition(const std::string& text) {
    if (text.empty() || text.back() != '\n') throw std::runtime_error("the last line has no end");
    for (const std::string& line : lines_of(text)) read_line(line);
  }
  /// The value as written. Throws std::out_of_range without such a sample.
  const std::string& at(const std::string& name, const Labels& labels) const { return samples_.at({name, labels}); }
  std::size_t size() const { return samples_.size(); }

 private:
  void read_line(const std::string& line) {
    if (line.rfind("# HELP ", 0) == 0) {
      current_ = metric_name(line.substr(7, line.find(' ', 7) - 7));
      if (!known_.insert(current_).second) throw std::runtime_error("two HELP lines: " + line);
    } else if (line.rfind("# TYPE ", 0) == 0) {
      const std::string type =
          current_ == "loupe_steps_total" || current_ == "loupe_nonfinite_total" ? " counter" : " gauge";
      if (line != "# TYPE " + current_ + type || !typed_.insert(current_).second) {
        throw std::runtime_error("misplaced: " + line);
      }
    } else {
      const std::size_t open = line.find('{'), close = line.rfind("} ");
      if (open == std::string::npos || close == std::string::npos) throw std::runtime_error("not a sample: " + line);
      if (line.substr(0, open) != current_ || typed_.count(current_) == 0) {
        throw std::runtime_error("not grouped: " + line);
      }
      const std::string value = number(line.substr(close + 2));
      if (!samples_.emplace(std::pair(current_, labels_of(line.substr(open + 1, close - open - 1))), value).second) {
        throw std::runtime_error("equal samples: " + line);
      }
    }
  }
  static std::string metric_name(const std::string& name) {
    constexpr const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:0123456789";
    if (name.empty() || isdigit(name[0]) || name.find_first_not_of(letters) != std::string::npos) {
      throw std::runtime_error("not a name of a metric: " + name);
    }
    return name;
  }
  static std::string number(const std::string& text) {
    std::size_t read = 0;
    if (text == "NaN" || text == "+Inf" || text == "-Inf") return text;
    if (text.find_first_not_of("0123456789+-.e") != std::string::npos) throw std::runtime_error("no number: " + text);
    std::stod(text, &read);
    if (read != text.size()) throw std::runtime_error("no number: " + text);
    return text;
  }
  static Labels labels_of(const std::string& text) {
    Labels labels;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t equals = text.find("=\"", at);
      if (equals == std::string::npos) throw std::runtime_error("not a label: " + text);
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
      if (!labels.emplace(name, value).second) throw std::runtime_error("repeated label: " + text);
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
  EXPECT_EQ(found.size(), 4u + 4u);  // times, number of steps and of broken values, whether it ended
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

TEST(Prometheus, CountsNonFiniteValuesEvenIfTheyAreNotShown) {
  Begun prometheus(PROMETHEUS_PLUGIN, {{"tags", Strings{"Loss"}}});
  for (const double epoch : {1.0, 2.0}) {
    prometheus.begin_tick(epoch);
    prometheus.value("Loss", "Loss", "mean", NAN);
    prometheus.value("Norm", "fc", "mean", INFINITY);
    prometheus.end_tick();
  }
  const Exposition found(read(prometheus / "loupe.prom"));
  EXPECT_EQ(found.at("loupe_nonfinite_total", {{"run", "digits"}}), "4");
  EXPECT_EQ(found.at("loupe_value", {{"run", "digits"}, {"tag", "Loss"}, {"layer", "Loss"}, {"line", "mean"}}), "NaN");
  EXPECT_THROW(found.at("loupe_value", {{"run", "digits"}, {"tag", "Norm"}, {"layer", "fc"}, {"line", "mean"}}),
               std::out_of_range);
}

TEST(Prometheus, TellsEverythingThatTheReadyRulesAndTheDashboardAskFor) {
  Begun prometheus(PROMETHEUS_PLUGIN);
  prometheus.begin_tick(1);
  prometheus.value("Loss", "Loss", "mean", NAN);
  tell(prometheus, a_finding("dead_units", LOUPE_SEVERITY_ERROR), "fc");
  prometheus.end_tick();
  prometheus.end();
  const std::string told = read(prometheus / "loupe.prom");
  for (const char* file : {"alerts.yaml", "dashboard.json"}) {
    const std::string text = read(std::string(READY_RULES + "/") + file);
    const std::regex metric("loupe_[a-z_]+");
    std::size_t count = 0;
    for (auto each = std::sregex_iterator(text.begin(), text.end(), metric); each != std::sregex_iterator(); ++each) {
      EXPECT_TRUE(holds(told, "# TYPE " + each->str() + " ")) << each->str() << " of " << file;
      ++count;
    }
    EXPECT_GT(count, 2u);
  }
}

TEST(Prometheus, ShowsASeriesOnceAsTheFormatDemands) {
  Begun prometheus(PROMETHEUS_PLUGIN);
  prometheus.begin_tick(1);
  for (const double value : {1.0, 2.0}) prometheus.value("T", "l", "mean", value);
  prometheus.end_tick();
  const Exposition found(read(prometheus / "loupe.prom"));
  EXPECT_EQ(found.at("loupe_value", {{"run", "digits"}, {"tag", "T"}, {"layer", "l"}, {"line", "mean"}}), "2");
}

TEST(Prometheus, NeverShowsAnIncompleteFile) {
  Begun prometheus(PROMETHEUS_PLUGIN);
  prometheus.loss_tick(1, 1);
  std::ifstream reader(prometheus / "loupe.prom");
  prometheus.loss_tick(2, 2);
  std::ostringstream seen;
  seen << reader.rdbuf();
  EXPECT_EQ(Exposition(seen.str()).at("loupe_epoch", {{"run", "digits"}}), "1");
  EXPECT_EQ(Exposition(read(prometheus / "loupe.prom")).at("loupe_epoch", {{"run", "digits"}}), "2");
}

TEST(Prometheus, CountsOpenFindingsByRuleAndSeverity) {
  Begun prometheus(PROMETHEUS_PLUGIN);
  const auto standing = [&](const std::string& severity) {
    return Exposition(read(prometheus / "loupe.prom"))
        .at("loupe_findings", {{"run", "digits"}, {"rule", "dead_units"}, {"severity", severity}});
  };
  Finding finding = a_finding("dead_units");
  prometheus.begin_tick(1);
  tell(prometheus, finding, "conv1");
  tell(prometheus, finding, "conv2");
  finding.parameter = "weight";
  tell(prometheus, finding, "conv2");
  prometheus.end_tick();
  EXPECT_EQ(standing("warning"), "3");
  tell(prometheus, gone(finding), "conv2");
  EXPECT_EQ(standing("warning"), "2");  // immediately
  prometheus.begin_tick(2);
  Finding worse = a_finding("dead_units", LOUPE_SEVERITY_ERROR);
  worse.state = LOUPE_FINDING_CHANGED;
  tell(prometheus, worse, "conv1");
  tell(prometheus, gone(a_finding("dead_units")), "conv2");
  prometheus.end_tick();
  EXPECT_EQ(standing("warning"), "0");
  EXPECT_EQ(standing("error"), "1");
}

TEST(Prometheus, SaysWhenTheLastTickWasAndWhetherTheRunEnded) {
  const Folder folder;
  Driver prometheus(PROMETHEUS_PLUGIN);
  const Labels run = {{"run", "digits"}};
  prometheus.begin(folder.text());
  loupe_tick tick{};
  tick.struct_size = sizeof tick;
  tick.at.epoch = 3;
  tick.at.step = 1200;
  tick.at.time = 1714564800.25;
  prometheus.tell(&loupe_visualizer::begin_tick, tick);
  prometheus.end_tick();
  const Exposition before(read(folder / "loupe.prom"));
  EXPECT_EQ(std::stod(before.at("loupe_last_tick_timestamp_seconds", run)), 1714564800.25);
  EXPECT_EQ(before.at("loupe_steps_total", run), "1200");
  EXPECT_EQ(before.at("loupe_run_finished", run), "0");
  prometheus.end();
  EXPECT_EQ(Exposition(read(folder / "loupe.prom")).at("loupe_run_finished", run), "1");
}

}  // namespace
}  // namespace loupe::test
