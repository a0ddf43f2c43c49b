// `loupe check` finds each planted fault by its rule, and passes sound plugins.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "examples/process.h"
#include "paths.h"

namespace loupe::test {
namespace {

struct Checked {
  int exit_code;
  nlohmann::json rows;

  std::set<std::string> broken() const {
    std::set<std::string> rules;
    for (const auto& row : rows) {
      if (!row.at("passed").get<bool>()) rules.insert(row.at("rule").get<std::string>());
    }
    return rules;
  }
  std::string detail(const std::string& rule) const {
    for (const auto& row : rows) {
      if (!row.at("passed").get<bool>() && row.at("rule") == rule) return row.at("detail");
    }
    return "";
  }
};

Finished loupe_check(const std::string& arguments) {
  return run(LOUPE_COMMAND + " check " + arguments, fresh_folder());
}

Checked check(const std::string& file, const std::string& arguments = "") {
  const Finished finished = loupe_check("--json " + arguments + " '" + file + "'");
  return {finished.exit_code, nlohmann::json::parse(finished.output, nullptr, false)};
}

std::string faulty(const std::string& fault) {
  return LOUPE_FAULTY_PLUGINS + "/" + fault + ".so";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Fault {
  const char* name;
  const char* rule;
  std::vector<const char*> parts;  ///< parts of the message, in this order: what is wrong, where, and what to do
};
void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.name;
}

class PlantedFault : public testing::TestWithParam<Fault> {};

TEST_P(PlantedFault, IsFoundAtItsRule) {
#ifdef __SANITIZE_ADDRESS__
  for (const char* name : {"leaks", "events_grow", "events_allocate", "events_allocate_by_new"})
    if (std::string(GetParam().name) == name) GTEST_SKIP() << "AddressSanitizer's malloc does not say what is in use";
  if (std::string(GetParam().name) == "data")
    GTEST_SKIP() << "AddressSanitizer ends the process before its signal does";
#endif
  const Checked checked = check(faulty(GetParam().name), "--timeout 5");
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_TRUE(checked.broken().count(GetParam().rule)) << checked.rows.dump(1);
  const std::string said = checked.detail(GetParam().rule);
  std::size_t from = 0;
  for (const std::string part : GetParam().parts) {
    const std::size_t at = said.find(part, from);
    ASSERT_NE(at, std::string::npos) << "'" << part << "' is missing in: " << said;
    from = at + part.size();
  }
}

INSTANTIATE_TEST_SUITE_P(
    OneARule, PlantedFault,
    testing::Values(
        Fault{"exports", "exports", {"it also exports one_more_symbol; build it with"}},
        Fault{"read_without_running", "read_without_running", {"constant initializer"}},
        Fault{"links", "links", {"nobody_has_this", "link what it uses"}},
        Fault{"bootstrap", "bootstrap", {"it is built for ABI 2.0 and this is 1.", "rebuild it"}},
        Fault{"unknown_ids", "unknown_ids", {"get_extension(\"loupe.plugin\") is not null"}},
        Fault{"plugin", "plugin", {"it has no version; set loupe_plugin.version"}},
        Fault{"note", "plugin", {"its note lacks the lens 'faulty_lens', so no host finds it"}},
        Fault{"functions", "functions", {"it lacks 'open'", "set it"}},
        Fault{"names", "names", {"'Ratio of all' is not snake_case; write it as 'my_option'"}},
        Fault{"help", "help", {"'ratio' has no help; describe it in one line"}},
        Fault{"defaults", "defaults", {"ratio must be between 0 and 1, not 7"}},
        Fault{"creation", "creation", {"there is one already"}}, Fault{"life", "life", {"report fails: it is tired"}},
        Fault{"exceptions",
              "exceptions",
              {"an exception leaves process: thrown on purpose; catch it there, and return LOUPE_FAILED"}},
        Fault{"two_instances", "two_instances", {"its numbers change beside"}},
        Fault{"struct_sizes_equal", "struct_sizes", {"fails with a loupe_host of", "demand no size"}},
        Fault{"struct_sizes_beyond",
              "struct_sizes",
              {"it crashes (Segmentation fault) in create with a loupe_host of", "reads no further than struct_size"}},
        Fault{"data", "data", {"it crashes (Segmentation fault) in process with dtype 2 of 32 bits, sizes []"}},
        Fault{"data_device", "data", {": it reached for the memory of a device, which the processor cannot read"}},
        Fault{"data_stride", "data", {": it reached beyond the end of a tensor's elements"}},
        Fault{"writes", "life", {"in process: it wrote to a tensor that it was lent to read"}},
        Fault{"overrun", "life", {"in request: it reached beyond the end of a struct"}},
        Fault{"wrong_calls", "wrong_calls", {"it crashes (Aborted) in row"}},
        Fault{"messages", "messages", {"create fails with status 1 and says nothing; write one sentence"}},
        Fault{"messages_too_long", "messages", {"it crashes (Segmentation fault) in create"}},
        Fault{"threads", "threads", {"process fails: it works on its own thread alone"}},
        Fault{"threads_turn", "threads", {"it calls watch in a wrong state: see its @state"}},
        Fault{"told_twice", "threads", {"reports 'epoch' of 'Epoch' in the tag 'Epoch' twice at one tick"}},
        Fault{"tells_nothing", "threads", {"reports a tag that the host refuses: it is null"}},
        Fault{"finding_state", "threads", {"the finding 'low_rank' has a state, which only the host sets"}},
        Fault{"edges", "threads", {"reports a histogram that the host refuses: the edges of a histogram must ascend"}},
        Fault{"leaks", "leaks", {"bytes are lost in 1000 times create and destroy; free its memory in destroy"}},
        Fault{"nothing_kept", "nothing_kept", {"in process: it reached for memory lent for an earlier call"}},
        Fault{"state", "state", {"bytes that save_state never wrote"}},
        Fault{"state_full", "state", {"save_state does not return its writer's failure"}},
        Fault{"series_name", "life", {"series fails: the name of a series is null, or has moved or changed"}},
        Fault{"state_half", "state", {"one of save_state and merge_state without the other"}},
        Fault{"events_grow",
              "events",
              {"its memory grows by 10485", "free the memory that an event or a tick allocates"}},
        Fault{"events_allocate", "events", {"it allocates in an event, 64 times in 64 events", "reuse the memory"}},
        Fault{"events_allocate_by_new",
              "events",
              {"it allocates in an event, 64 times in 64 events", "reuse the memory"}},
        Fault{"measured",
              "measured",
              {"it reads a member of loupe_measurement that it did not ask for", "Watch::measure or in request()"}},
        Fault{"measured_compared", "measured", {"it reads a member of loupe_measurement that it did not ask for"}},
        Fault{"panics", "exceptions", {"a panic ends process", "index out of bounds", "return LOUPE_FAILED"}},
        Fault{"create_fails", "life", {"create fails: there is no room"}},
        Fault{"events_wait", "events", {"it waits in an event, ", "on a separate thread or at the tick"}},
        Fault{"events_slow", "events", {"an event of 12 elements takes "}},
        Fault{"example", "example", {"is refused", "has no option 'ration'; did you mean 'ratio'?"}},
        Fault{"option_twice", "names", {"it declares the option 'ratio' twice; keep one"}},
        Fault{"gatherer", "life", {"there is no gatherer 'forwrad'; did you mean 'forward'?"}},
        Fault{"blind",
              "life",
              {"it watches nothing and reports nothing", "of the types", "ReLU", "--options '{include: [Linear]}'"}},
        Fault{"begin", "life", {"begin fails: there is no room"}}, Fault{"loading", "links", {"it crashes (Aborted)"}}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Check, RefusesAllocationsInEventsButNotAtTicks) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's malloc is not counted";
#endif
  EXPECT_TRUE(contains(check(faulty("allocates_at_parameter_gradient")).detail("events"), "it allocates in an event"));
  const Checked at_ticks = check(faulty("allocates_at_tick"));
  EXPECT_EQ(at_ticks.exit_code, 0) << at_ticks.rows.dump(1);
}

TEST(Check, ReportsAFaultThatBreaksManyRulesOnce) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends the process before its signal does";
#endif
  const Finished told = loupe_check(faulty("writes"));
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_TRUE(contains(told.output, "1 fault found\n")) << told.output;
  EXPECT_TRUE(contains(told.output, "; for the same reason also exceptions, two_instances, ")) << told.output;
  const Checked checked = check(faulty("writes"));
  EXPECT_GT(checked.broken().size(), 1u) << checked.rows.dump(1);
  for (const auto& row : checked.rows) {
    if (row.at("passed") || row.at("rule") == "life") {
      EXPECT_TRUE(row.at("same_as").is_null()) << row;
    } else {
      EXPECT_EQ(row.at("same_as"), "life") << row;
    }
  }
}

TEST(Check, KillsAPluginThatHangsAndContinuesWithTheNextRule) {
  // A busy machine may keep a sound rule from returning that soon, so it may get more time.
  for (const std::string limit : {"0.20", "1.00", "5.00"}) {
    const Checked checked = check(faulty("hang"), "--timeout " + limit);
    EXPECT_EQ(checked.exit_code, 1);
    const bool is_enough =
        checked.detail("life") == "it does not return within " + limit + " s in process" &&
        std::any_of(checked.rows.begin(), checked.rows.end(), [](const auto& row) {
          return row.at("component") == "faulty_visualizer" && row.at("rule") == "leaks" && row.at("passed");
        });
    if (is_enough) return;
    EXPECT_NE(limit, "5.00") << checked.rows.dump(1);
  }
}

TEST(Check, ContinuesAfterACrash) {
  const Checked checked = check(faulty("wrong_calls"));
  EXPECT_EQ(checked.broken(), (std::set<std::string>{"wrong_calls", "messages"}));
  EXPECT_EQ(checked.rows.back().at("rule"), "nothing_kept");
  EXPECT_TRUE(checked.rows.back().at("passed"));
}

TEST(Check, ASoundPluginInPlainCKeepsEveryRuleOfEachKind) {
  const Checked checked = check(faulty("sound"));
  EXPECT_EQ(checked.exit_code, 0) << checked.rows.dump(1);
  EXPECT_EQ(checked.broken(), std::set<std::string>());
  std::set<std::string> components;
  for (const auto& row : checked.rows) {
    components.insert(row.at("component").get<std::string>());
    EXPECT_EQ(row.at("file"), faulty("sound"));
    if (row.at("rule") == "events") {
      EXPECT_TRUE(row.at("component") == "faulty_lens" || contains(row.at("detail"), "an event takes "));
      continue;
    }
    EXPECT_EQ(row.at("detail"), "");
  }
  EXPECT_EQ(components,
            (std::set<std::string>{"", "faulty_gatherer", "faulty_preprocessor", "faulty_lens", "faulty_visualizer"}));
}

TEST(Check, PluginsOfLoupeKeepEveryRule) {
  std::istringstream names(LOUPE_BUILTIN_NAMES);
  for (std::string name; names >> name;) {
    // With sanitizers on a busy machine, a rule takes longer than on an author's.
    const Checked checked = check(LOUPE_BUILT_PLUGINS + "/" + name + ".so", "--timeout 60");
    EXPECT_EQ(checked.exit_code, 0) << name;
    for (const std::string& rule : checked.broken())
      ADD_FAILURE() << name << ": " << rule << ": " << checked.detail(rule);
  }
}

TEST(Check, NamesEveryDraftThatALensUses) {
  const std::pair<const char*, const char*> uses[] = {{"memory", "the gatherer 'draft_step_memory'"},
                                                      {"step_time", "the gatherer 'draft_step_time'"},
                                                      {"ranks", "loupe.ranks/draft-1"},
                                                      {"incidents", "loupe.incidents/draft-1"},
                                                      {"incidents", "loupe.measured/draft-1"},
                                                      {"loss_metrics", "loupe.lens_query/draft-1"},
                                                      {"health", "loupe.flags/draft-1"},
                                                      {"record", "loupe.history/draft-2"},
                                                      {"health", "the gatherer 'draft_loss_input'"},
                                                      {"health", "the gatherer 'draft_step_time'"},
                                                      {"gatherers", "LOUPE_DRAFT_TAP_LOSS_INPUT"},
                                                      {"pipeline", "options of LOUPE_OPTION_DRAFTS"},
                                                      {"preprocessors", "loupe.tensor_math/draft-1"},
                                                      // Drafts that a plugin uses in code that no check reaches.
                                                      {"recorder", "loupe.tensor_math/draft-1"},
                                                      {"ranks", "loupe.optimizer_states/draft-1"},
                                                      {"incidents", "loupe.tensor_files/draft-1"}};
  for (const auto& [plugin, draft] : uses) {
    const Checked checked = check(LOUPE_BUILT_PLUGINS + "/" + std::string(plugin) + ".so", "--timeout 60");
    std::string used;
    for (const auto& row : checked.rows) {
      if (row.at("rule") == "drafts" || row.at("rule") == "plugin") used += row.at("detail").get<std::string>();
    }
    EXPECT_TRUE(contains(used, draft)) << plugin << ": " << used;
  }
}

TEST(Check, NamesADraftThatIsAskedForInAReport) {
  std::string used;
  for (const auto& row : check(faulty("asks_late")).rows) {
    if (row.at("rule") == "drafts") used += row.at("detail").get<std::string>();
  }
  EXPECT_EQ(used, "it uses loupe.late/draft-9, which may change or disappear without notice");
}

TEST(Check, GivesOnlyTensorsOfTheRequestedPlaces) {
  const Checked checked = check(faulty("places"));
  EXPECT_EQ(checked.exit_code, 0) << checked.rows.dump(1);
}

TEST(Check, CallsNoFunctionOfAnInstanceThatCouldNotBeCreated) {
  for (const auto& row : check(faulty("create_fails")).rows)
    EXPECT_FALSE(contains(row.at("detail"), "crashes")) << row.dump(1);
}

TEST(Check, TheExampleLensKeepsEveryRule) {
  const Checked checked = check(LOUPE_EXAMPLE_PLUGIN);
  EXPECT_EQ(checked.exit_code, 0) << checked.rows.dump(1);
}

TEST(Check, LendsLibTorchsTensorsToALensThatComputesWithThem) {
  for (const char* options : {"", "--options '{keeps: true}'"}) {
    const Checked checked = check(faulty("by_libtorch"), std::string("--timeout 60 ") + options);
    EXPECT_EQ(checked.exit_code, 0) << options << checked.rows.dump(1);
    bool has_events = false;
    for (const auto& row : checked.rows) {
      has_events |= row.at("rule") == "events" && contains(row.at("detail"), "an event takes ");
    }
    EXPECT_TRUE(has_events) << "each event failed: " << options;
  }
}

TEST(Check, NamesALensThatWritesToALibTorchsTensor) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends the process before its signal does";
#endif
  const Checked checked = check(faulty("by_libtorch"), "--timeout 60 --options '{writes: true}'");
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_TRUE(contains(checked.detail("life"), "it wrote to a tensor that it was lent to read"))
      << checked.rows.dump(1);
}

TEST(Check, LoadsLibTorchForPluginsThatNeedItAlone) {
  const auto loads = [](const std::string& file) {
    const Finished finished = run("LD_DEBUG=files LD_DEBUG_OUTPUT=$PWD/loaded " + LOUPE_COMMAND + " check '" + file +
                                      "' > /dev/null; grep -l libc10 loaded.*",
                                  fresh_folder());
    return !finished.output.empty();
  };
  EXPECT_FALSE(loads(faulty("sound")));
  EXPECT_TRUE(loads(faulty("by_libtorch")));
}

TEST(Check, AcceptsZeroAsTheDefault) {
  const Checked checked = check(LOUPE_ZEROED_PLUGIN);
  ASSERT_FALSE(checked.rows.empty());
  // The plugin is short, and does not check that it gets complete structs.
  const std::set<std::string> beyond_it = {"struct_sizes", "wrong_calls", "messages", "data"};
  for (const std::string& rule : checked.broken())
    EXPECT_EQ(beyond_it.count(rule), 1u) << rule << ": " << checked.detail(rule);
}

TEST(Check, AlsoPrintsText) {
  const Finished sound = loupe_check(faulty("sound"));
  EXPECT_EQ(sound.exit_code, 0);
  EXPECT_TRUE(contains(sound.output, "  faulty_lens\n    ok      functions")) << sound.output;
  EXPECT_TRUE(contains(sound.output, "every rule is kept\n"));
  const Finished broken = loupe_check(faulty("help"));
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_TRUE(contains(broken.output, "    BROKEN  help                  the option 'ratio' has no help"))
      << broken.output;
  EXPECT_TRUE(contains(broken.output, "4 faults found\n")) << broken.output;
}

TEST(Check, TakesOptionsToMakeComponentsWith) {
  const Checked checked = check(faulty("sound"), "--options '{ratio: 0.25}'");
  EXPECT_EQ(checked.exit_code, 0) << checked.rows.dump(1);
  const Checked beyond = check(faulty("sound"), "--options '{ratio: 7}'");
  EXPECT_TRUE(contains(beyond.detail("options"), "must be between 0 and 1, not 7")) << beyond.rows.dump(1);
  const Checked unknown = check(faulty("sound"), "--options '{share: 1}'");
  EXPECT_TRUE(contains(unknown.detail("plugin"), "no component of it has an option of those in --options {share: 1}"));
  EXPECT_EQ(loupe_check("--options 5 " + faulty("sound")).exit_code, 2);
  EXPECT_EQ(loupe_check("--options '{a: [' " + faulty("sound")).exit_code, 2);
}

TEST(Check, LeavesNoFilesBehind) {
  const std::filesystem::path folder = fresh_folder();
  const Finished finished =
      run("mkdir tmp && TMPDIR=$PWD/tmp " + LOUPE_COMMAND + " check " + LOUPE_BUILT_PLUGINS + "/csv.so && ls -A . tmp",
          folder);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_TRUE(contains(finished.output, ".:\ntmp\n\ntmp:\n")) << finished.output;
}

TEST(Check, AFileThatIsNotAPluginBreaksTheFirstRules) {
  const Finished finished = run("echo hello > text.so; " + LOUPE_COMMAND + " check --json text.so", fresh_folder());
  const Checked checked{finished.exit_code, nlohmann::json::parse(finished.output, nullptr, false)};
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_EQ(checked.rows.size(), 1u) << "no other rule can be checked";
  EXPECT_TRUE(contains(checked.detail("exports"), "it does not begin as a shared library does")) << checked.rows;
}

TEST(Check, AnotherLibraryIsOnlyCheckedByTheFirstRules) {
  const Finished finished =
      run("ln -s " + LOUPE_OTHER_LIBRARY + " other.so; " + LOUPE_COMMAND + " check other.so", fresh_folder());
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_TRUE(contains(finished.output, "BROKEN  exports")) << finished.output;
  EXPECT_TRUE(contains(finished.output, "ok      links")) << finished.output;
  EXPECT_FALSE(contains(finished.output, "bootstrap")) << finished.output;
  EXPECT_TRUE(contains(finished.output, "2 faults found; the other rules can be checked after a fix\n"))
      << finished.output;
}

TEST(Check, AFileThatCannotBeAPluginIsRefusedWithTheRemedy) {
  const std::filesystem::path folder = fresh_folder();
  EXPECT_ENDS(run("mkdir some; " + LOUPE_COMMAND + " check some", folder), 2,
              "'some' is a folder; name the plugins in it");
  EXPECT_ENDS(run("echo > some.yaml; " + LOUPE_COMMAND + " check some.yaml", folder), 2,
              "run 'loupe validate some.yaml'");
}

TEST(Check, PrintsItsRulesAndItsUsage) {
  const Finished rules = loupe_check("--rules");
  EXPECT_EQ(rules.exit_code, 0);
  for (const char* rule : {"  exports ", "  links ", "  life ", "  struct_sizes ", "  state "})
    EXPECT_TRUE(contains(rules.output, rule)) << rules.output;
  EXPECT_EQ(loupe_check("").exit_code, 2);
  EXPECT_EQ(loupe_check("no_such_file.so").exit_code, 2);
  EXPECT_EQ(loupe_check("--timeout 0 " + faulty("sound")).exit_code, 2);
}

}  // namespace
}  // namespace loupe::test
