#include "record/resumed_history.h"

#include <gtest/gtest.h>

#include "folder.h"

namespace loupe {
namespace {

TEST(EarlierRun, IsReadAsFarAsItsRecordCanBe) {
  const Folder folder;
  EXPECT_FALSE(EarlierRun::read(folder.path("record.jsonl")));
  const std::string file =
      folder.write("record.jsonl",
                   "{\"kind\":\"run\",\"format\":3,\"name\":\"a\",\"config\":\"attach: {every: 2}\"}\nno JSON\n"
                   "{\"kind\":\"tick\",\"epoch\":7,\"step\":1}\n{\"kind\":\"tick\",\"epoch\":3,\"step\":1}\n{\"kind\":"
                   "\"tick\",\"epo");
  const auto run = EarlierRun::read(file);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->last_epoch, 7);
  EXPECT_EQ(run->other_settings("attach: {every: 2}\nrun: {resume: true, dir: b, name: c}\n"), "");
  EXPECT_EQ(run->other_settings("attach: {every: 3, depth: 1}\n"),
            "'attach.depth: 1' is new, 'attach.every' is '3' and was '2'");
  EXPECT_EQ(run->other_settings("attach: {every: 2}\nlenses: [health: {off: [a, b]}, loss_metrics]\n"),
            "'lenses.health.off: a, b' is new, 'lenses.loss_metrics: true' is new");
  EXPECT_EQ(run->other_models({{"net", {}}}), "") << "the record names none";
}

TEST(EarlierRun, WithoutAConfigurationDiffersInNothing) {
  const Folder folder;
  const auto run = EarlierRun::read(folder.write("record.jsonl", R"({"kind":"run","format":3,"name":"a"})"
                                                                 "\n"));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->other_settings("attach: {every: 2}\n"), "");
}

TEST(EarlierRun, NamesTheFirstModuleOfAModelThatIsAnother) {
  const auto model = [](int64_t rows) {
    replay::RecordedModel::Module layer;
    layer.name = "fc";
    layer.type = "Linear";
    layer.parameters = {{{rows, 3}, 3 * rows}};
    replay::RecordedModel all;
    all.name = "net";
    all.type = "Net";
    all.modules = {layer};
    return all;
  };
  EarlierRun run;
  run.models["net"] = model(2);
  EXPECT_EQ(run.other_models({{"net", model(2)}}), "");
  EXPECT_EQ(run.other_models({{"net", model(4)}}), "'net' has 'fc' (Linear of 4x3) where it had 'fc' (Linear of 2x3)");
  replay::RecordedModel longer = model(2);
  longer.modules.push_back(longer.modules[0]);
  EXPECT_EQ(run.other_models({{"net", longer}}), "'net' has 2 modules and had 1");
  EXPECT_EQ(run.other_models({{"critic", model(2)}}), "'critic' is new, 'net' is gone");
}

}  // namespace
}  // namespace loupe
