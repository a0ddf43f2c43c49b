// Mistakes that authors of lenses make: each message says what is wrong, where, and what to do. Mistakes of whole
// plugins are in tests/check, those of configurations in tests/config.

#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "mistakes/told.h"

namespace loupe::test {
namespace {

/// Makes the planted mistake, and returns the messages about it.
using Teller = std::string (*)(const std::string&);
constexpr Teller bench = &told_in_a_bench, lens = &told_of_lens;

struct Mistake {
  const char* name;
  Teller teller;
  std::string planted;             ///< the argument of the teller
  std::vector<const char*> parts;  ///< parts of the messages, in this order: what is wrong, where, and what to do
};
void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.name;
}

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all = {
      {"UnknownSeries", bench, "series", {"there is no series 'smu', did you mean 'sum'? There are: sum, squares"}},
      {"ValuesOfAnUnknownSeries", bench, "values", {"no series 'sqares', did you mean 'squares'?"}},
      {"ValueOfAnUndeclaredTag",
       bench,
       "tag",
       {"a value of the tag 'Sum' was reported before its tag", "reported tags are 'Sums'"}},
      {"RangeOfAnUndeclaredTag",
       bench,
       "range",
       {"a value of the tag 'Sum' was reported before its tag", "reported tags are 'Sums'"}},
      {"RowWithoutNames", bench, "row", {"a row has values, but value_names or values is null", "set both"}},
      {"TagOfAnotherLens",
       lens,
       "output_norm, mistaken: {mistake: stolen_tag}",
       {"'mistaken'", "the tag 'Output Norm' belongs to the lens 'output_norm', which reported it first",
        "another id"}},
      {"ValueOfAnothersTag",
       lens,
       "output_norm, mistaken: {mistake: stolen_value}",
       {"'mistaken'", "the tag 'Output Norm' belongs to the lens 'output_norm'", "a separate tag"}},
      {"ValueToldTwice",
       bench,
       "twice",
       {"'mistaken'", "'mean' of 'fc1' in the tag 'Sums' was already reported at this tick", "its own name"}},
      {"ValueOutOfTheReport",
       bench,
       "late",
       {"was called in step of the lens, which its contract does not allow; call it in report"}},
      {"LensThatWatchesNothing",
       lens,
       "blind",
       {"'blind'", "watches none of the modules it visited", "types are Linear", "watch one of them in visit"}},
      {"UnknownParameter", bench, "label", {"mistaken", "has no 'wieght'", "; it has 'weight'"}},
      {"NoParameterWhereOneIsNeeded",
       bench,
       "no_label",
       {"mistaken", "'step_gradient' needs the name of a parameter, such as 'weight'"}},
      {"UnknownGatherer", bench, "gatherer", {"mistaken", "there is no gatherer 'forwrad'; did you mean 'forward'?"}},
      {"RuleThatIsNotEnded",
       bench,
       "rule",
       {"mistaken", "the rule 'too_much' was seen in the last report", "call end_tick(report) at each report"}},
      {"IndicesOfAnotherNumberOfDimensions",
       bench,
       "indices",
       {"mistaken", "3 indices for a tensor of shape [", "check dim() first"}},
      {"IndexBeyondTheTensor", bench, "index", {"mistaken", "an index is outside a tensor of shape ["}},
      {"SizeOfNoDimension", bench, "size", {"mistaken", "has no dimension 7", "check dim() first"}},
      {"UnknownPreprocessor",
       bench,
       "preprocessor",
       {"mistaken", "there is no preprocessor 'output_nrm'; did you mean 'output_norm'?"}},
      {"OptionReadThatIsNotDeclared",
       bench,
       "option",
       {"mistaken", "the option 'scal' is read but was not declared; add it to options()"}},
      {"OptionReadAsAnotherType",
       bench,
       "option_type",
       {"mistaken", "the option 'scale' is", "declare and read it as the same type"}},
      {"QuantileThatIsNotKept",
       bench,
       "quantile",
       {"mistaken", "a quantile of 'sum' was requested", "Series::Keep::quantiles"}},
      {"ValuesThatAreFolded",
       bench,
       "values_folded",
       {"mistaken", "the values are folded, not kept; make the series with Series::Keep::values"}},
      {"FindingWithoutARule", bench, "finding", {"mistaken", "a finding names no rule; give it one"}},
      {"CreateThrows", bench, "create", {"mistaken", "scale and mistake do not go together"}},
      {"VisitThrows", bench, "visit", {"mistaken", "the visit of 'fc1': it knows no Linear", "on_error: stop"}},
      {"ProcessThrows", bench, "process", {"mistaken", "it divides by zero", "on_error: stop"}},
      {"ReportThrows", bench, "report", {"mistaken", "the report of the epoch: it has no layers", "on_error: stop"}},
  };
  return all;
}

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreToldWithWhatToDo) {
  const std::string told = GetParam().teller(GetParam().planted);
  std::size_t from = 0;
  for (const std::string part : GetParam().parts) {
    const std::size_t at = told.find(part, from);
    ASSERT_NE(at, std::string::npos) << "'" << part << "' is missing in:\n" << told;
    from = at + part.size();
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Mistakes, testing::ValuesIn(mistakes()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(NoMistake, IsNothingToTell) {
  EXPECT_EQ(told_in_a_bench("none").find("mistaken"), std::string::npos) << told_in_a_bench("none");
}

}  // namespace
}  // namespace loupe::test
