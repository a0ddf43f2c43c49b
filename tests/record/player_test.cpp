// Which parts of a record are played as a run's past.

#include "record/reader/player.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "record/history.h"
#include "sdk/folder.h"

namespace loupe::record {
namespace {

using test::Folder;
using test::write;

const std::string run_line = R"({"kind":"run","format":3,"name":"a"})"
                             "\n";
const std::string tag_line = R"({"kind":"tag","tag":"Norm","type":"numerical","log_y":false,"big":false,)"
                             R"("annotate":false,"y_minimum":null,"y_maximum":null})"
                             "\n";
std::string epoch_lines(int epoch) {
  const std::string number = std::to_string(epoch);
  return R"({"kind":"value","epoch":)" + number + R"(,"tag":"Norm","layer":"fc","line":"mean","value":)" + number +
         "}\n" + R"({"kind":"tick","epoch":)" + number + "}\n";
}
const std::string finding_line =
    R"({"kind":"finding","epoch":1,"severity":"warning","state":"raised","rule":"dead","message":"it is dead"})"
    "\n";

/// A visualizer with a C table, which stores the calls, and fails at one epoch.
class Told {
 public:
  explicit Told(double fails_at = -1) : fails_at_(fails_at) {
    table.struct_size = sizeof table;
    table.tag = [](void* self, const loupe_tag* tag, loupe_error*) {
      return of(self).add(std::string("tag ") + tag->id);
    };
    table.begin_tick = [](void* self, const loupe_tick* tick, loupe_error* error) -> loupe_status {
      detail::write_error(error, "the disk is full");
      if (tick->at.epoch == of(self).fails_at_) return LOUPE_FAILED;
      return of(self).add("tick " + std::to_string(static_cast<int>(tick->at.epoch)));
    };
    table.row = [](void* self, const loupe_row* row, loupe_error*) {
      return of(self).add("row " + std::to_string(static_cast<int>(row->values[0])));
    };
    table.finding = [](void* self, const loupe_finding* finding, loupe_error*) {
      return of(self).add(std::string(finding->rule) + (finding->state == LOUPE_FINDING_GONE ? " gone" : ""));
    };
  }
  loupe_visualizer table{};
  std::vector<std::string> all;

 private:
  static Told& of(void* self) { return *static_cast<Told*>(self); }
  loupe_status add(const std::string& what) {
    all.push_back(what);
    return LOUPE_OK;
  }
  double fails_at_;
};

using Texts = std::vector<std::string>;

/// OK, or the status and the reason of a failure.
std::pair<loupe_status, std::string> played(const Folder& folder, double before, bool with_events, Told& told) {
  try {
    play_past(folder / "record.jsonl", before, with_events, told.table, &told);
    return {LOUPE_OK, ""};
  } catch (const Error& reason) {
    return {reason.status(), reason.what()};
  }
}

class PlayPast : public testing::Test {
 protected:
  const Folder folder;
};

TEST_F(PlayPast, PlaysWholeEpochsBeforeTheOneThatIsTrainedAgain) {
  write(folder / "record.jsonl", run_line + tag_line + epoch_lines(1) + epoch_lines(2) + epoch_lines(3) +
                                     R"({"kind":"value","epoch":4,"tag":"Norm","layer":"fc","line":"mean","value":4})"
                                     "\n");
  Told told;
  EXPECT_EQ(played(folder, 3, true, told).first, LOUPE_OK);
  EXPECT_EQ(told.all, (Texts{"tag Norm", "tick 1", "row 1", "tick 2", "row 2"}));
  Told all;
  EXPECT_EQ(played(folder, 100, true, all).first, LOUPE_OK);
  EXPECT_EQ(all.all.back(), "row 3") << "epoch 4 has no end";
}

TEST_F(PlayPast, EndsOpenFindingsAndLeavesEventsOutOnRequest) {
  write(folder / "record.jsonl", run_line + tag_line + finding_line + epoch_lines(1));
  Told with, without;
  EXPECT_EQ(played(folder, 2, true, with).first, LOUPE_OK);
  EXPECT_EQ(with.all, (Texts{"tag Norm", "tick 1", "dead", "row 1", "dead gone"}));
  EXPECT_EQ(played(folder, 2, false, without).first, LOUPE_OK);
  EXPECT_EQ(without.all, (Texts{"tag Norm", "tick 1", "row 1"}));
}

TEST_F(PlayPast, FindsNothingWithoutARecord) {
  Told told;
  EXPECT_EQ(played(folder, 3, true, told).first, LOUPE_NOT_FOUND);
  write(folder / "record.jsonl", "");
  EXPECT_EQ(played(folder, 3, true, told).first, LOUPE_NOT_FOUND);
  EXPECT_EQ(told.all, Texts());
}

TEST_F(PlayPast, PlaysTheReadablePartOfABrokenRecordAndNamesTheLine) {
  write(folder / "record.jsonl", run_line + tag_line + epoch_lines(1) + "no JSON\n" + epoch_lines(2));
  Told told;
  const auto [status, reason] = played(folder, 3, true, told);
  EXPECT_EQ(status, LOUPE_INVALID);
  EXPECT_NE(reason.find("record.jsonl:5: error: "), std::string::npos) << reason;
  EXPECT_EQ(told.all, (Texts{"tag Norm", "tick 1", "row 1"}));
}

TEST_F(PlayPast, EndsWithTheVisualizersError) {
  write(folder / "record.jsonl", run_line + tag_line + epoch_lines(1) + epoch_lines(2) + epoch_lines(3));
  Told told(2);
  const auto [status, reason] = played(folder, 9, true, told);
  EXPECT_EQ(status, LOUPE_FAILED);
  EXPECT_EQ(reason, "the disk is full");
  EXPECT_EQ(told.all, (Texts{"tag Norm", "tick 1", "row 1"}));
}

TEST_F(PlayPast, CallsNoFunctionBeyondTheEndOfAShorterTable) {
  write(folder / "record.jsonl", run_line + tag_line + finding_line + epoch_lines(1));
  Told told;
  told.table.struct_size = offsetof(loupe_visualizer, finding);
  EXPECT_EQ(played(folder, 2, true, told).first, LOUPE_OK);
  EXPECT_EQ(told.all, (Texts{"tag Norm", "tick 1", "row 1"}));
}

}  // namespace
}  // namespace loupe::record
