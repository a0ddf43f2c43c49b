#include "abi_header.h"
#include "paths.h"

#include <gtest/gtest.h>
#include <loupe/abi.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace loupe {
namespace {

using Texts = std::vector<std::string>;

/// The text of all headers that loupe/abi.h includes, one after the other.
std::string header() {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(LOUPE_ABI_HEADERS)) files.push_back(file.path());
  std::sort(files.begin(), files.end());
  std::ostringstream text;
  for (const auto& file : files) text << std::ifstream(file).rdbuf();
  return text.str();
}

/// The faults of the header after `from`, which must occur, is replaced by `to`.
Texts faults_with(const std::string& from, const std::string& to) {
  std::string text = header();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "nothing to change: " << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return faults_of_header(text);
}

TEST(AbiHeader, KeepsItsRules) {
  EXPECT_EQ(faults_of_header(header()), Texts{});
  EXPECT_GE(count_functions(header()), 60u);
  EXPECT_GE(count_structs(header()), 43u);
}

TEST(AbiHeader, ReportsAFunctionWithoutAContract) {
  const std::string contract =
      "  /* @thread trainer or model @state in an event @reenter process @owns borrows event @since 1.0 */\n";
  const Texts faults = faults_with(contract, "");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(
      faults[0].rfind("'emit' has a contract that is not '@thread trainer, model, display, several of them, or any "
                      "@state … @reenter … @owns … @since N.N': /* Sends an event, ",
                      0),
      0u)
      << faults[0];
  EXPECT_EQ(faults_with(contract, contract + "\n"), Texts{"'emit' has no contract right above it"});
  EXPECT_EQ(
      faults_with("  const loupe_tensor* (*view)", "  const void* (*more)(void* host);\n  const loupe_tensor* (*view)"),
      Texts{"'view' has no contract right above it"});
}

TEST(AbiHeader, ReportsAContractThatLacksAPart) {
  for (const char* part : {"@thread trainer or model ", "@state in an event ", "@reenter process ",
                           "@owns borrows event ", " @since 1.0"}) {
    std::string contract =
        "/* @thread trainer or model @state in an event @reenter process @owns borrows event @since 1.0 */";
    const std::string whole = contract;
    contract.erase(contract.find(part), std::string(part).size());
    ASSERT_EQ(faults_with(whole, contract).size(), 1u) << contract;
  }
  EXPECT_EQ(faults_with("@thread model @", "@thread somebody @").size(), 1u);
  EXPECT_EQ(faults_with("@thread model @", "@thread any model @").size(), 1u);
  EXPECT_EQ(faults_with("@state in an event @", "@state @").size(), 1u);
  EXPECT_EQ(faults_with("@since 1.0", "@since 1.1").size(), 1u);
  EXPECT_EQ(faults_with("@since 1.0", "@since 2.0").size(), 1u);
}

TEST(AbiHeader, ReadsAContractOverTwoLines) {
  EXPECT_EQ(faults_with("@owns borrows event @since 1.0 */", "@owns borrows event\n   @since 1.0 */"), Texts{});
}

TEST(AbiHeader, KeepsItsIds) {
  EXPECT_STREQ(LOUPE_PLUGIN_ID, "loupe.plugin/1");
  EXPECT_STREQ(LOUPE_GATHERER_ID, "loupe.gatherer/1");
  EXPECT_STREQ(LOUPE_PREPROCESSOR_ID, "loupe.preprocessor/1");
  EXPECT_STREQ(LOUPE_LENS_ID, "loupe.lens/1");
  EXPECT_STREQ(LOUPE_VISUALIZER_ID, "loupe.visualizer/1");
  EXPECT_STREQ(LOUPE_TENSORS_ID, "loupe.tensors/1");
  EXPECT_STREQ(LOUPE_RUN_ID, "loupe.run/1");
  EXPECT_STREQ(LOUPE_PARAMETERS_ID, "loupe.parameters/1");
  EXPECT_STREQ(LOUPE_ENTRY_SYMBOL, "loupe_plugin_entry");
}

TEST(AbiHeader, ReportsAStructThatDoesNotBeginWithItsSize) {
  EXPECT_EQ(faults_with("typedef struct loupe_tag {\n  uint32_t struct_size;\n  uint32_t type; ",
                        "typedef struct loupe_tag {\n  uint32_t type;\n  uint32_t struct_size; "),
            Texts{"'loupe_tag' does not begin with struct_size but with 'uint32_t type'"});
}

TEST(AbiHeader, ReportsAStructInsideAnother) {
  EXPECT_EQ(faults_with("  const loupe_tensor* tensor;", "  loupe_tensor tensor;"),
            Texts{"'tensor' holds a loupe_tensor by value, which could never grow"});
}

TEST(AbiHeader, ReportsAnAdditionalInclude) {
  EXPECT_EQ(faults_with("#include <stdint.h>", "#include <stdint.h>\n#include <stdbool.h>"),
            Texts{"it includes <stdbool.h>, and may include <stddef.h>, <stdint.h> and <loupe/abi/...> only"});
}

TEST(Messages, HaveAnEntryForEachMember) {
  std::ostringstream table;
  table << std::ifstream(LOUPE_ABI_HEADERS + "/../detail/messages.h").rdbuf();
  EXPECT_EQ(members_without_entry(header(), table.str()), Texts{});
  std::string grown = header();
  const std::string last = "  double y_minimum, y_maximum;";
  ASSERT_NE(grown.find(last), std::string::npos);
  grown.insert(grown.find(last), "  double y_middle; /* new */\n");
  EXPECT_EQ(members_without_entry(grown, table.str()),
            Texts{"'y_middle' of loupe_tag has no entry in loupe/detail/messages.h"});
}

}  // namespace
}  // namespace loupe
