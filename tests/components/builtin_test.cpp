// The constants in loupe/abi/builtin.h name exactly the built-in components.

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "built_in.h"
#include "paths.h"

namespace loupe {
namespace {

using Names = std::set<std::string>;

/// The texts of the header's constants with this prefix.
Names promised(const std::string& prefix) {
  std::ostringstream text;
  text << std::ifstream(BUILTIN_HEADER).rdbuf();
  const std::string header = std::regex_replace(text.str(), std::regex(R"(\\\n)"), "");
  const std::regex constant("#define " + prefix + R"re(_(\w+)\s+"(\w+)")re");
  Names names;
  for (std::sregex_iterator at(header.begin(), header.end(), constant), end; at != end; ++at) {
    if (at->str(1).rfind("OPTION_", 0) != 0) names.insert(at->str(2));
  }
  return names;
}

/// The components of a kind in the plugin `brought_by`, without drafts.
std::vector<const CatalogueEntry*> components(Kind kind, const std::string& brought_by) {
  std::vector<const CatalogueEntry*> all;
  for (const CatalogueEntry& entry : built_in().entries()) {
    const bool is_draft = std::string(entry.component->name).rfind(LOUPE_DRAFT_GATHERERS, 0) == 0;
    if (entry.kind == kind && entry.library->plugin->name == brought_by && !is_draft) all.push_back(&entry);
  }
  return all;
}

/// "name(option type, …): series, …", sorted.
std::set<std::string> described(Kind kind, const std::string& brought_by) {
  const char* const types[] = {"", "boolean", "integer", "number", "string", "strings", "map"};
  std::set<std::string> lines;
  for (const CatalogueEntry* entry : components(kind, brought_by)) {
    Names options;
    for (const loupe_option* option : entry->options())
      options.insert(std::string(option->name) + " " + types[option->type]);
    std::string line = std::string(entry->component->name) + "(";
    for (const std::string& option : options) line += (line.back() == '(' ? "" : ", ") + option;
    line += ")";
    for (const std::string& series : given_names(*entry->component))
      line += (line.back() == ')' ? ": " : ", ") + series;
    lines.insert(line);
  }
  return lines;
}

Names names_of(Kind kind, const std::string& brought_by) {
  Names names;
  for (const CatalogueEntry* entry : components(kind, brought_by)) names.insert(entry->component->name);
  return names;
}

Names options_of(Kind kind, const std::string& brought_by) {
  Names names;
  for (const CatalogueEntry* entry : components(kind, brought_by)) {
    for (const loupe_option* option : entry->options()) names.insert(option->name);
  }
  return names;
}

TEST(Builtin, TheHeaderNamesWhatThereIs) {
  EXPECT_EQ(promised("LOUPE_GATHER"), names_of(Kind::gatherer, "gatherers"));
  EXPECT_EQ(promised("LOUPE_GATHER_OPTION"), options_of(Kind::gatherer, "gatherers"));
  EXPECT_EQ(promised("LOUPE_PREPROCESS"), names_of(Kind::preprocessor, "preprocessors"));
  EXPECT_EQ(promised("LOUPE_PREPROCESS_OPTION"), options_of(Kind::preprocessor, "preprocessors"));
  Names series;
  for (const CatalogueEntry* entry : components(Kind::preprocessor, "preprocessors")) {
    for (const std::string& name : given_names(*entry->component)) series.insert(name);
  }
  for (const char* named_by_users : {"train_loss", "val_loss", "{name}"}) EXPECT_EQ(series.erase(named_by_users), 1u);
  EXPECT_EQ(promised("LOUPE_SERIES"), series);
}

// After 1.0, options may be added, but no other line may change.
TEST(Builtin, EachHasTheOptionsAndSeriesThatArePromised) {
  EXPECT_EQ(described(Kind::gatherer, "gatherers"),
            (Names{"attribute(missing boolean, when string)", "call_parameter()", "forward(output integer)",
                   "forward_input()", "input_gradient(input integer)", "optimizer_step()",
                   "output_gradient(output integer)", "parameter_gradient()", "push()", "step_gradient()", "tick()"}));
  const std::string geometry =
      "(correlation boolean, eps number, first boolean, inplace boolean, normalize boolean, quantiles boolean): norm, "
      "correlation";
  EXPECT_EQ(
      described(Kind::preprocessor, "preprocessors"),
      (Names{
          "explicit_call(inplace boolean, quantiles boolean, select string): {name}",
          "gradient_activation(death boolean, eps number, inplace boolean, quantiles boolean): activation, death",
          "gradient_geometry" + geometry,
          "loss_module(evaluation_from_grad boolean, inplace boolean, quantiles boolean, train_loss string, val_loss "
          "string): train_loss, val_loss",
          "output_activation(channel_last boolean, death boolean, eps number, evaluation_from_grad boolean, inplace "
          "boolean, quantiles boolean, record_eval boolean): activation, death",
          "output_gradient_geometry" + geometry,
          "output_norm(channel_last boolean, evaluation_from_grad boolean, inplace boolean, normalize boolean, "
          "quantiles boolean, "
          "record_eval "
          "boolean): norm",
          "parameter_condition(inplace boolean, quantiles boolean): condition",
          "parameter_difference_geometry" + geometry,
          "parameter_norm(inplace boolean, normalize boolean, quantiles boolean): norm"}));
}

TEST(Builtin, ADraftSaysSoInItsNameAndItsHelp) {
  Names drafts;
  for (const CatalogueEntry& entry : built_in().entries()) {
    const std::string name = entry.component->name, help = entry.component->help;
    if (entry.kind == Kind::gatherer && help.rfind("a draft: ", 0) == 0) drafts.insert(name);
  }
  EXPECT_EQ(drafts, (Names{"draft_loss_input", "draft_step_memory", "draft_step_time"}));
}

}  // namespace
}  // namespace loupe
