// A component receives its defaults exactly, in any locale. Wrong or missing reads cause an error message.

#include <gtest/gtest.h>
#include <loupe/plugin.h>

#include <clocale>
#include <locale>

#include "loupe/config_error.h"
#include "loupe/register_plugin.h"
#include "pipeline/monitor.h"

namespace loupe {
namespace {

double tenth = 0, tiny = 0;
int64_t large = 0;

class Exact : public Lens {
 public:
  static constexpr const char* name = "exact";
  static constexpr const char* help = "reads its options as it declared them";
  static std::vector<Option> options() {
    return {{"tenth", 0.123456789, "more digits than six"},
            {"tiny", 1e-300, "a small number"},
            {"large", 16777217, "more than a float holds"}};
  }
  explicit Exact(const Options& options) {
    tenth = options.get<double>("tenth");
    tiny = options.get<double>("tiny");
    large = options.get<int64_t>("large");
  }
  void visit(const Module&) override {}
  void report(Report&) override {}
};

/// Declares an option as one type and reads it as another.
template <class Declared, class Read>
class Misreads : public Lens {
 public:
  static std::vector<Option> options() { return {{"rate", Declared(), "what is read wrongly"}}; }
  explicit Misreads(const Options& options) { options.get<Read>("rate"); }
  void visit(const Module&) override {}
  void report(Report&) override {}
};
class NumberAsInt : public Misreads<double, int> {
 public:
  static constexpr const char* name = "number_as_int";
  static constexpr const char* help = "reads a number as int";
  using Misreads::Misreads;
};
class TextAsBool : public Misreads<const char*, bool> {
 public:
  static constexpr const char* name = "text_as_bool";
  static constexpr const char* help = "reads a text as bool";
  static std::vector<Option> options() { return {{"rate", "high", "what is read wrongly"}}; }
  using Misreads::Misreads;
};

class Needs : public Lens {
 public:
  static constexpr const char* name = "needs";
  static constexpr const char* help = "has a required option";
  static std::vector<Option> options() { return {Option("goal", 0.0, "what to reach", 0.0, 1.0).required()}; }
  explicit Needs(const Options& options) { tenth = options.get<double>("goal"); }
  void visit(const Module&) override {}
  void report(Report&) override {}
};

LOUPE_STATIC_PLUGIN(readers, "readers", "1.0", Exact, NumberAsInt, TextAsBool, Needs);

class OptionDefaults : public testing::Test {
 protected:
  static void SetUpTestSuite() { register_plugin(readers); }
  static void make(const std::string& lens) {
    tenth = tiny = 0;
    large = 0;
    const Monitor monitor(Config::from_text("visualizers: []\nlenses:\n  - " + lens + "\n", "a.yaml", "/"));
  }
  static std::string refusal(const std::string& lens) {
    try {
      make(lens);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "";
  }
  static void expect_exact() {
    make("exact");
    EXPECT_EQ(tenth, 0.123456789);
    EXPECT_EQ(tiny, 1e-300);
    EXPECT_EQ(large, 16777217);
  }
};

struct DecimalComma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_F(OptionDefaults, KeepEveryDigit) {
  expect_exact();
}

TEST_F(OptionDefaults, AreExactWithADecimalComma) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new DecimalComma));
  expect_exact();
  make("exact: {tenth: 0.25, large: 1234567}");
  EXPECT_EQ(tenth, 0.25);
  EXPECT_EQ(large, 1234567);
  std::locale::global(before);
}

TEST_F(OptionDefaults, AreExactInTheGermanLocaleOfC) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "this system has no German locale";
  expect_exact();
  std::setlocale(LC_ALL, before.c_str());
}

TEST_F(OptionDefaults, ReadAsAnotherTypeCauseAnError) {
  EXPECT_EQ(refusal("number_as_int"),
            "a.yaml:3:5: error: the lens 'number_as_int' cannot be created: the option 'rate' is a floating-point "
            "number and is read as an integer; declare and read it as the same type");
  EXPECT_EQ(refusal("text_as_bool"),
            "a.yaml:3:5: error: the lens 'text_as_bool' cannot be created: the option 'rate' is a text and is read as "
            "bool; declare and read it as the same type");
}

TEST_F(OptionDefaults, DoNotExistForARequiredOption) {
  for (const char* lens : {"needs", "needs: {}", "needs:"}) {
    EXPECT_EQ(refusal(lens), "a.yaml:3:5: error: lens 'needs' needs the option 'goal' (what to reach)") << lens;
  }
  EXPECT_NE(refusal("needs: {goal: 2}").find("must be between 0 and 1, not 2"), std::string::npos);
  make("needs: {goal: 0.75}");
  EXPECT_EQ(tenth, 0.75);
}

}  // namespace
}  // namespace loupe
