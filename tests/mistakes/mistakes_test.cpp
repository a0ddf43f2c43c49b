// Mistakes as authors of plugins and of configurations make them: each is told with what is wrong, where, and what to
// do.

#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "mistakes/told.h"

namespace loupe::test {
namespace {

/// Who is told, and by what.
using Teller = std::string (*)(const std::string&);
constexpr Teller bench = &told_in_a_bench, lens = &told_of_lens, check = &told_by_check, validate = &told_by_validate,
                 command = &told_by_command;

struct Mistake {
  const char* name;
  Teller teller;
  const char* planted;             ///< what makes it: see the teller
  std::vector<const char*> parts;  ///< what is told, in this order: what is wrong, where, and what to do
};
void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.name;
}

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all = {
      // of a lens's author, in a Bench
      {"UnknownSeries", bench, "series", {"there is no series 'smu', did you mean 'sum'? There are: sum, squares"}},
      {"ValuesOfAnUnknownSeries", bench, "values", {"no series 'sqares', did you mean 'squares'?"}},
      {"ValueOfAnUndeclaredTag", bench, "tag", {"a value of the tag 'Sum' is told before the tag", "told were 'Sums'"}},
      {"RangeOfAnUndeclaredTag",
       bench,
       "range",
       {"a value of the tag 'Sum' is told before the tag", "told were 'Sums'"}},
      {"RowWithoutNames", bench, "row", {"a row has values, but value_names or values is null", "give it both"}},
      {"TagOfAnotherLens",
       lens,
       "output_norm, mistaken: {mistake: stolen_tag}",
       {"'mistaken'", "the tag 'Output Norm' belongs to the lens 'output_norm', which told it first", "another id"}},
      {"ValueOfAnothersTag",
       lens,
       "output_norm, mistaken: {mistake: stolen_value}",
       {"'mistaken'", "the tag 'Output Norm' belongs to the lens 'output_norm'", "of a tag of its own"}},
      {"ValueToldTwice",
       bench,
       "twice",
       {"'mistaken'", "'mean' of 'fc1' in the tag 'Sums' was told at this tick already", "a name of its own"}},
      {"ValueOutOfTheReport",
       bench,
       "late",
       {"is called in step of the lens, where its contract does not allow it; call it in report"}},
      {"LensThatWatchesNothing",
       lens,
       "blind",
       {"'blind'", "watches none of the modules that it was shown", "types Linear", "look at one of them in visit"}},
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
       {"mistaken", "3 indices are given for a tensor of the shape [", "test dim() before"}},
      {"IndexBeyondTheTensor", bench, "index", {"mistaken", "an index lies outside of a tensor of the shape ["}},
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
       {"mistaken", "a quantile of 'sum' was asked for", "Series::Keep::quantiles"}},
      {"ValuesThatAreFolded",
       bench,
       "values_folded",
       {"mistaken", "the values are folded, not kept; make the series with Series::Keep::values"}},
      {"FindingWithoutARule", bench, "finding", {"mistaken", "a finding names no rule; give it one"}},
      {"CreateThrows", bench, "create", {"mistaken", "scale and mistake do not go together"}},
      {"VisitThrows", bench, "visit", {"mistaken", "the visit of 'fc1': it knows no Linear", "on_error: stop"}},
      {"ProcessThrows", bench, "process", {"mistaken", "it divides by zero", "on_error: stop"}},
      {"ReportThrows", bench, "report", {"mistaken", "the report of the epoch: it has no layers", "on_error: stop"}},

      // of a plugin's author, by `loupe check`
      {"MoreSymbolsThanTheEntry", check, "exports", {"exports: it also exports one_more_symbol; build it with"}},
      {"WrongABI", check, "bootstrap", {"it is built for ABI 2.0 and this is 1.", "rebuild it"}},
      {"SymbolNotLinked", check, "links", {"links:", "nobody_has_this", "link what it uses"}},
      {"NoVersion", check, "plugin", {"it has no version; set loupe_plugin.version"}},
      {"FunctionMissing", check, "functions", {"it lacks 'open'", "set it"}},
      {"NameOfAnotherCase", check, "names", {"'Ratio of all' is not snake_case; write it as 'my_option'"}},
      {"NoHelp", check, "help", {"'ratio' has no help; say in one line what it does"}},
      {"OptionDeclaredTwice", check, "option_twice", {"it declares the option 'ratio' twice; keep one"}},
      {"DefaultOutOfBounds", check, "defaults", {"ratio must be between 0 and 1, not 7"}},
      {"ExampleThatDoesNotValidate", check, "example", {"is refused", "has no option 'ration'; did you mean 'ratio'?"}},
      {"BeginFails", check, "begin", {"life: begin fails: there is no room"}},
      {"ExceptionOverTheBoundary",
       check,
       "exceptions",
       {"an exception leaves process: thrown on purpose; catch it there, and return LOUPE_FAILED"}},
      {"DemandsASizeOfStructs", check, "struct_sizes_equal", {"fails with a loupe_host of", "demand no size"}},
      {"ReadsBeyondAStruct",
       check,
       "struct_sizes_beyond",
       {"it crashes (Segmentation fault) in create with a loupe_host of", "reads no further than struct_size"}},
      {"BlindInCheck",
       check,
       "blind",
       {"life: it watches nothing and tells nothing", "of the types", "ReLU", "--options '{include: [Linear]}'"}},
      {"UnknownGathererInCheck", check, "gatherer", {"there is no gatherer 'forwrad'; did you mean 'forward'?"}},
      {"AllocatesInAnEvent", check, "events_allocate", {"it allocates in an event", "keep the memory"}},
      {"AllocatesInAnEventByNew", check, "events_allocate_by_new", {"it allocates in an event", "keep the memory"}},
      {"GrowsByEachEvent", check, "events_grow", {"its memory grows by", "free what an event or a tick allocates"}},
      {"ReadsWhatItDidNotAskFor",
       check,
       "measured",
       {"it reads a member of loupe_measurement that it did not ask for", "Watch::measure or in request()"}},
      {"WaitsInAnEvent", check, "events_wait", {"it waits in an event", "on a thread of its own or at the tick"}},
      {"LeaksAtDestruction", check, "leaks", {"bytes are lost in 1000 times create and destroy; free in destroy"}},
      {"CallsTheHostOutOfTurn", check, "threads_turn", {"it calls watch where it may not: see its @state"}},
      {"FailsWithoutAWord", check, "messages", {"create fails with status 1 and says nothing; write one sentence"}},

      // of a configuration, by `loupe validate`
      {"UnknownLens",
       validate,
       "lenses: [loss_metrcs]\n",
       {"a.yaml:1:10: error: unknown lens 'loss_metrcs'; did you mean 'loss_metrics'?"}},
      {"UnknownVisualizer",
       validate,
       "visualizers: [consol]\n",
       {"a.yaml:1:15: error: unknown visualizer 'consol'; did you mean 'console'?"}},
      {"LensAmongVisualizers",
       validate,
       "visualizers: [health]\n",
       {"a.yaml:1:15", "it is a lens; write it under lenses"}},
      {"StaticallyLinkedLens",
       validate,
       "lenses: [entirely_different]\n",
       {"a.yaml:1:10", "one that is linked into the program is known there alone"}},
      {"UnknownOption",
       validate,
       "lenses:\n  - health: {pateince: 3}\n",
       {"a.yaml:2:14: error: lens 'health' has no option 'pateince'; did you mean 'patience'?"}},
      {"WrongType",
       validate,
       "attach: {depth: deep}\n",
       {"a.yaml:1:17: error: attach.depth must be a whole number, not 'deep'"}},
      {"WrongBounds",
       validate,
       "attach: {depth: -2}\n",
       {"a.yaml:1:17: error: attach.depth must be between -1 and 1e+06, not -2"}},
      {"WrongChoice",
       validate,
       "on_error: stopp\n",
       {"a.yaml:1:11: error: on_error cannot be 'stopp'; did you mean 'stop'?"}},
      {"UnquotedGlob",
       validate,
       "lenses:\n  - output_norm: {include: [*.fc]}\n",
       {"a.yaml:2:29", "put the pattern in quotes: \"*.fc\""}},
      {"MisplacedAs",
       validate,
       "lenses:\n  - output_norm: {as: mine}\n",
       {"a.yaml:2:23: error: 'as' stands among the options of 'output_norm'; write it beside the name"}},
      {"DuplicatedLens",
       validate,
       "lenses:\n  - health\n  - health\n",
       {"a.yaml:3:5: error: the lens 'health' is used twice; give each a name of its own with 'as: name'"}},
      {"OptionOfAnEntryNotIndented",
       validate,
       "lenses:\n  - output_norm:\n    line: [mean]\n",
       {"a.yaml:3:5: error: 'line' stands in the same entry as 'output_norm'", "or indent it as an option"}},
      {"UnknownKey",
       validate,
       "visualisers: []\n",
       {"a.yaml:1:1: error: unknown key 'visualisers' at the top; did you mean 'visualizers'?"}},
      {"KeyTwice",
       validate,
       "on_error: stop\non_error: stop\n",
       {"a.yaml:2:1: error: the key 'on_error' stands twice at the top; keep one"}},
      {"BracketLeftOpen",
       validate,
       "lenses: [health\n",
       {"a.yaml:1:9: error: this list has a '[' and no ']' at its end"}},
      {"AnotherVersion",
       validate,
       "loupe: 2\n",
       {"a.yaml:1:8: error: this Loupe reads configurations of version 1; write 'loupe: 1', or update Loupe"}},
      {"NoFile",
       command,
       "validate nowhere.yaml",
       {"nowhere.yaml:1:1: error: the file cannot be read; check its path and rights"}},
      {"FolderWithoutAPlugin",
       validate,
       "plugins: {path: [none]}\nlenses: [mine]\n",
       {"a.yaml:1:18: error: the plugin path", "/none' does not exist; correct it, or build what should be there"}},
      {"ConfigurationGivenToCheck",
       command,
       "check '" LOUPE_FAULTY_PLUGINS "'",
       {"is a folder; name the plugins in it"}},
      {"OptionsThatAreNoMap",
       command,
       "check --options 2 '" LOUPE_FAULTY_PLUGINS "/sound.so'",
       {"--options takes a map in YAML, such as '{scale: 2}', not '2'"}},
      {"OptionsThatNobodyTakes",
       command,
       "check --options '{scale: 2}' '" LOUPE_FAULTY_PLUGINS "/sound.so'",
       {"no component of it has an option of those in --options {scale: 2}"}},
  };
  return all;
}

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreToldWithWhatToDo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  for (const char* name : {"AllocatesInAnEvent", "AllocatesInAnEventByNew", "GrowsByEachEvent", "LeaksAtDestruction"})
    if (std::string(GetParam().name) == name) GTEST_SKIP() << "a sanitizer's malloc is not counted";
#endif
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
  EXPECT_EQ(told_by_check("sound"), "");
  EXPECT_EQ(told_by_validate("lenses: [health]\nvisualizers: [console]\n").find("error"), std::string::npos);
}

}  // namespace
}  // namespace loupe::test
