#include <gtest/gtest.h>

#include <cmath>

#include "../holds.h"
#include "driver.h"
#include "paths.h"

namespace loupe::test {
namespace {

TEST(Csv, HasARowPerValueAndARowPerBand) {
  const Folder folder;
  Driver csv(CSV_PLUGIN);
  EXPECT_EQ(csv.begin(folder.text()), "");
  csv.tag("Loss");
  csv.begin_tick(1);
  csv.value("Loss", "Loss", "train_loss mean", 0.1);
  csv.range("Loss", "Loss", "train_loss min", "train_loss max", -1e-300, INFINITY);
  csv.value("Loss", "Loss", "val_loss mean", NAN);
  csv.histogram("H", "l", "h", {0, 1}, {2});
  EXPECT_EQ(csv.end_tick(), "");
  EXPECT_EQ(lines_of(read(folder / "values.csv")),
            (std::vector<std::string>{"epoch,tag,layer,line,value,low,high,run,step,time",
                                      "1,Loss,Loss,train_loss mean,0.1,,,digits,,1714564860",
                                      "1,Loss,Loss,train_loss min..train_loss max,,-1e-300,Infinity,digits,,1714564860",
                                      "1,Loss,Loss,val_loss mean,NaN,,,digits,,1714564860"}));
}

TEST(Csv, HasTheStepOfNumbersOfSingleSteps) {
  Begun csv(CSV_PLUGIN);
  csv.set_pace(10, 1);
  csv.begin_tick(1);
  csv.value("Loss", "Loss", "train_loss", 2, 0, 7);
  csv.value("Loss", "Loss", "train_loss", 1);
  csv.end_tick();
  const auto lines = lines_of(read(csv / "values.csv"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1], "1,Loss,Loss,train_loss,2,,,digits,7,1714564860");
  EXPECT_EQ(lines[2], "1,Loss,Loss,train_loss,1,,,digits,10,1714564860");
}

TEST(Csv, QuotesNamesThatHoldItsOwnSignsAndKeepsThemUtf8) {
  Begun csv(CSV_PLUGIN, {{"path", "sub/out.csv"}});
  csv.begin_tick(0.5);
  csv.value("a,b", "say \"x\"", "two\nlines", 1);
  csv.value("T", "bad\xff", "σ", 2);
  csv.end_tick();
  EXPECT_EQ(read(csv / "sub/out.csv"),
            "epoch,tag,layer,line,value,low,high,run,step,time\n0.5,\"a,b\",\"say "
            "\"\"x\"\"\",\"two\nlines\",1,,,digits,,1714564830\n0.5,T,bad\xEF\xBF\xBD,σ,2,,,digits,,1714564830\n");
}

TEST(Csv, QuotesNamesThatASpreadsheetWouldCompute) {
  Begun csv(CSV_PLUGIN);
  csv.begin_tick(1);
  csv.value("=1+1", "+cmd", "@SUM(A1)", -2);
  csv.value("-2", "+0.5", "1=1", 3);
  csv.range("T", "l", "-σ", "+σ", -1, 1);
  csv.end_tick();
  EXPECT_EQ(read(csv / "values.csv"),
            "epoch,tag,layer,line,value,low,high,run,step,time\n1,'=1+1,'+cmd,'@SUM(A1),-2,,,digits,,1714564860\n1,-2,+"
            "0.5,1=1,3,,,digits,,1714564860\n"
            "1,T,l,'-σ..+σ,,-1,1,digits,,1714564860\n");
}

TEST(Csv, AppendsAfterTheRowsOfEarlierEpochs) {
  const Folder folder;
  {
    Driver csv(CSV_PLUGIN);
    csv.begin(folder.text());
    for (int epoch = 1; epoch <= 4; ++epoch) {
      csv.begin_tick(epoch);
      csv.value("T", "9\n9", "mean", epoch);
      csv.end_tick();
    }
  }
  write(folder / "values.csv", read(folder / "values.csv") + "5,T,\"cut\n5,T");
  Driver csv(CSV_PLUGIN);
  csv.begin(folder.text(), true);
  csv.loss_tick(3, 30);
  csv.loss_tick(4, 40);
  EXPECT_EQ(
      read(folder / "values.csv"),
      "epoch,tag,layer,line,value,low,high,run,step,time\n1,T,\"9\n9\",mean,1,,,digits,,1714564860\n2,T,\"9\n9\",mean,"
      "2,,,digits,,1714564920\n"
      "3,Loss,Loss,train_loss mean,30,,,digits,,1714564980\n4,Loss,Loss,train_loss mean,40,,,digits,,1714565040\n");
  ASSERT_EQ(csv.messages.size(), 1u);
  EXPECT_TRUE(holds(csv.messages[0], "later epochs and a last line that was cut off"));
}

constexpr const char* finding_heading =
    "epoch,severity,state,rule,layer,parameter,message,advice,tag,source,value,threshold,"
    "first_step,last_step,first_epoch,last_epoch,count,id,caused_by,file,line";

TEST(Csv, HasTheFindingsInAFileBesideTheValues) {
  Begun csv(CSV_PLUGIN, {{"path", "run.csv"}});
  csv.begin_tick(3);
  Finding finding = a_finding("dead_units", LOUPE_SEVERITY_ERROR, "half, or \"more\", are silent");
  finding.advice = "=lower it";
  finding.parameter = "-weight";
  finding.tag = "+rates";
  finding.value = 0.5;
  finding.last_step = 12;
  finding.last_epoch = 2.5;
  finding.id = 77;
  finding.caused_by = "no_step";
  finding.file = "net.cpp";
  finding.line = 120;
  EXPECT_EQ(tell(csv, finding, "@conv1", "the lens 'health'"), "");
  Finding slow = a_finding("slow", LOUPE_SEVERITY_INFO, "two\nlines");
  slow.id = 78;
  tell(csv, slow);
  EXPECT_EQ(csv.end_tick(), "");
  EXPECT_EQ(read(csv / "run.findings.csv"),
            std::string(finding_heading) +
                "\n3,error,raised,dead_units,'@conv1,'-weight,\"half, or \"\"more\"\", are silent\",'=lower it,'+rates,"
                "the lens "
                "'health',0.5,,0,12,1,2.5,1,77,no_step,net.cpp,120\n3,info,raised,slow,,,\"two\nlines\",,,,,,0,0,1,1,1,"
                "78,,,\n");
  EXPECT_EQ(lines_of(read(csv / "run.csv")).size(), 1u);
}

TEST(Csv, WritesFindingsBetweenTicksByTheNextFlush) {
  Begun csv(CSV_PLUGIN, {{"path", "no-extension"}});
  csv.loss_tick(1, 1);
  Finding finding = a_finding("nan_loss");
  finding.last_epoch = 2;
  tell(csv, finding);
  EXPECT_EQ(csv.flush(), "");
  const auto rows = lines_of(read(csv / "no-extension.findings.csv"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].rfind("2,warning,raised,nan_loss,", 0), 0u) << rows[1];
}

TEST(Csv, MovesTheFindingsOfAnEarlierRunAway) {
  const Folder folder;
  write(folder / "values.findings.csv", "old\n");
  Driver csv(CSV_PLUGIN);
  csv.begin(folder.text());
  csv.loss_tick(1, 1);
  csv.end();
  EXPECT_FALSE(std::filesystem::exists(folder / "values.findings.csv"));
  EXPECT_EQ(read(folder / "older-1/values.findings.csv"), "old\n");
}

TEST(Csv, ForgetsTheFindingsOfEpochsThatAResumedRunTrainsAgain) {
  const Folder folder;
  const auto finding_at = [](Driver& csv, int epoch) {
    csv.begin_tick(epoch);
    tell(csv, a_finding("rule_" + std::to_string(epoch)));
    csv.end_tick();
  };
  {
    Driver csv(CSV_PLUGIN);
    csv.begin(folder.text());
    for (int epoch = 1; epoch <= 4; ++epoch) finding_at(csv, epoch);
  }
  {
    Driver healthy(CSV_PLUGIN);
    healthy.begin(folder.text(), true);
    tell(healthy, a_finding("between"));
    EXPECT_EQ(healthy.flush(), "");
    EXPECT_EQ(lines_of(read(folder / "values.findings.csv")).size(), 5u);
    healthy.loss_tick(3, 1);
    finding_at(healthy, 4);
  }
  std::vector<std::string> rules;
  for (const std::string& row : lines_of(read(folder / "values.findings.csv"))) {
    rules.push_back(row.substr(0, row.find(",,")));
  }
  EXPECT_EQ(rules, (std::vector<std::string>{finding_heading, "1,warning,raised,rule_1", "2,warning,raised,rule_2",
                                             "1,warning,raised,between", "4,warning,raised,rule_4"}));
}

TEST(Csv, WritesNoFindingsThroughALinkCreatedDuringTheRun) {
  const Folder folder;
  write(folder / "victim", "precious\n");
  Driver csv(CSV_PLUGIN);
  csv.begin(folder.text());
  std::filesystem::create_symlink(folder / "victim", folder / "values.findings.csv");
  csv.begin_tick(1);
  tell(csv, a_finding("rule"));
  EXPECT_TRUE(holds(csv.end_tick(), "it is a symbolic link"));
  EXPECT_EQ(read(folder / "victim"), "precious\n");
}

TEST(Csv, WritesNoFindingsBesideAPathThatIsNotAFile) {
  Driver csv(CSV_PLUGIN, {{"path", "/dev/null"}});
  csv.begin("/anywhere");
  csv.begin_tick(1);
  EXPECT_EQ(tell(csv, a_finding("rule")), "");
  EXPECT_EQ(csv.end_tick(), "");
  EXPECT_EQ(csv.messages, std::vector<std::string>{});
}

TEST(Csv, TakesTheTagsLayersAndTicksThatItIsToldTo) {
  Folder folder;
  Driver csv(CSV_PLUGIN, {{"tags", Strings{"*Norm"}}, {"layers", Strings{"fc*"}}, {"every", 2}});
  csv.set_pace(10, 1);
  csv.begin(folder.text());
  for (int epoch = 0; epoch < 4; ++epoch) {
    csv.begin_tick(epoch);
    csv.value("Loss", "Loss", "mean", 1);
    csv.value("Weight Norm", "fc1", "mean", epoch);
    csv.value("Weight Norm", "conv", "mean", 3);
    EXPECT_EQ(csv.end_tick(), "");
  }
  EXPECT_EQ(lines_of(read(folder / "values.csv")),
            (std::vector<std::string>{"epoch,tag,layer,line,value,low,high,run,step,time",
                                      "0,Weight Norm,fc1,mean,0,,,digits,10,1714564800",
                                      "2,Weight Norm,fc1,mean,2,,,digits,30,1714564920"}));
}

}  // namespace
}  // namespace loupe::test
