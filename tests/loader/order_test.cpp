// Which of several components of one name has it, as loupe/abi/component.h says.

#include <gtest/gtest.h>

#include "folder.h"
#include "loader/catalogue.h"

namespace loupe {
namespace {

/// A catalogue of plugins/pair.c in a folder: each variant as the file "NAME.so".
class Order : public testing::Test {
 protected:
  std::string add(const std::string& variant, const std::string& name) {
    const std::string target = folder_.path(name + ".so");
    std::filesystem::copy_file(PAIR_PLUGINS "/pair_" + variant + ".so", target);
    return target;
  }
  std::string owner(const std::string& name) {
    if (catalogue_.entries().empty()) catalogue_.add_path(folder_.path());
    const CatalogueEntry* entry = catalogue_.find(Kind::visualizer, name);
    return entry != nullptr ? entry->library->file : "nobody";
  }

  Folder folder_;
  Catalogue catalogue_;
};

TEST_F(Order, TheFirstFileHasANameWhateverWasAskedForBefore) {
  const std::string first = add("one", "a"), last = add("two", "b");
  EXPECT_EQ(owner("two"), last);
  EXPECT_EQ(owner("shared"), first);
  EXPECT_EQ(catalogue_.entries().size(), 3u);
}

TEST_F(Order, ANameGoesBeforeAnAlias) {
  const std::string first = add("one", "a");  // whose alias is "two"
  EXPECT_EQ(owner("two"), first);
  const std::string last = add("two", "b");
  catalogue_.add_path(last);
  EXPECT_EQ(owner("one"), first);
  EXPECT_EQ(owner("two"), last);
}

TEST_F(Order, AFileThatSaysNothingComesLast) {
  const std::string first = add("silent", "a"), last = add("two", "b");
  EXPECT_EQ(owner("silent"), first);
  EXPECT_EQ(owner("shared"), last);
}

TEST_F(Order, AFileThatIsNamedItselfComesInItsOrderThoughItSaysNothing) {
  const std::string named = PAIR_PLUGINS "/pair_silent.so";
  catalogue_.add_path(named);
  add("two", "a");
  catalogue_.add_path(folder_.path());
  EXPECT_EQ(owner("shared"), named);
}

TEST_F(Order, ListsTheSameAsItFinds) {
  const std::string silent = add("silent", "a"), first = add("one", "b");
  add("two", "c");
  EXPECT_EQ(owner("silent"), silent);
  catalogue_.open_all();
  for (const CatalogueEntry& entry : catalogue_.entries()) {
    EXPECT_EQ(catalogue_.find(entry.kind, entry.component->name), &entry) << entry.component->name;
  }
  EXPECT_EQ(owner("shared"), first);
}

}  // namespace
}  // namespace loupe
