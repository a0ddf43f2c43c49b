// Reports that `loupe view` makes when a client requests them.

#include "view/report_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <stdexcept>

#include "examples/process.h"
#include "made_records.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

/// Makes pages that contain the number of pages made before.
struct Maker {
  int count = 0;
  view::ReportStore store{[this](const std::vector<std::string>& records, const std::string& folder) {
    if (records.front().find("bad") != std::string::npos) throw std::runtime_error("it is bad");
    put(fs::path(folder) / "report.html", std::to_string(records.size()) + " runs, " + std::to_string(++count));
  }};
};

TEST(ReportStore, MakesAReportAnewOnlyWhereARecordHasChanged) {
  const fs::path folder = fresh_folder();
  const fs::path a = put(folder / "a", "1"), b = put(folder / "b", "1");
  Maker maker;
  EXPECT_EQ(maker.store.page_of({a}), "1 runs, 1");
  EXPECT_EQ(maker.store.page_of({a, b}), "2 runs, 2");
  EXPECT_EQ(maker.store.page_of({a}), "1 runs, 1");
  append(b, "2");
  EXPECT_EQ(maker.store.page_of({a}), "1 runs, 1");
  EXPECT_EQ(maker.store.page_of({a, b}), "2 runs, 3");
  EXPECT_EQ(maker.store.page_of({a, b}), "2 runs, 3");
}

TEST(ReportStore, ReportsWhyAReportCannotBeMadeAndTriesAgain) {
  const fs::path bad = put(fresh_folder() / "bad", "1");
  Maker maker;
  EXPECT_THROW(maker.store.page_of({bad}), std::runtime_error);
  EXPECT_THROW(maker.store.page_of({bad}), std::runtime_error);
}

TEST(ReportStore, KeepsItsFilesPrivateAndRemovesThem) {
  const fs::path record = put(fresh_folder() / "a", "1");
  fs::path folder;
  {
    Maker maker;
    folder = maker.store.folder();
    maker.store.page_of({record});
    struct stat status {};
    ASSERT_EQ(::stat(folder.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0700u);
    EXPECT_FALSE(fs::is_empty(folder));
  }
  EXPECT_FALSE(fs::exists(folder));
}

TEST(ReportStore, KeepsAFewReportsOnly) {
  const fs::path folder = fresh_folder();
  Maker maker;
  for (int i = 0; i < 40; ++i) maker.store.page_of({put(folder / std::to_string(i), "1")});
  const auto kept = std::distance(fs::directory_iterator(maker.store.folder()), fs::directory_iterator());
  EXPECT_LT(kept, 20);
  EXPECT_EQ(maker.store.page_of({folder / "39"}), "1 runs, 40");
  EXPECT_EQ(maker.store.page_of({folder / "0"}), "1 runs, 41");
}

TEST(ReportStore, ReadsNoPageThatIsALink) {
  const fs::path folder = fresh_folder();
  put(folder / "secret", "secret");
  fs::create_symlink(folder / "secret", folder / "report.html");
  EXPECT_THROW(view::page_in(folder / "report.html"), std::exception);
  EXPECT_EQ(view::page_in(folder / "secret"), "secret");
}

}  // namespace
}  // namespace loupe::test
