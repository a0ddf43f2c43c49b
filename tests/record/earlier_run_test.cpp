// How a resumed run uses its earlier record, and how it reports changed settings.

#include "record/earlier_run.h"

#include <gtest/gtest.h>
#include <loupe/files/gzip.h>

#include <string>

#include "sdk/folder.h"

namespace loupe::record {
namespace {

using test::Folder;
using test::write;

TEST(EarlierRun, IsReadAsFarAsItsRecordIsReadable) {
  const Folder folder;
  const std::string file = folder / "record.jsonl";
  EXPECT_FALSE(EarlierRun::read(file));
  write(file,
        "{\"kind\":\"run\",\"format\":3,\"name\":\"a\",\"config\":\"attach: {every: 2}\"}\nno JSON\n"
        "{\"kind\":\"tick\",\"epoch\":7,\"step\":1}\n{\"kind\":\"tick\",\"epoch\":3,\"step\":1}\n{\"kind\":"
        "\"tick\",\"epo");
  const auto run = EarlierRun::read(file);
  ASSERT_TRUE(run);
  ASSERT_TRUE(run->last);
  EXPECT_EQ(run->last->epoch, 7);
  EXPECT_EQ(run->config, "attach: {every: 2}");
  EXPECT_EQ(run->other_models({{"net", {}}}), "") << "the record names no models";
}

TEST(EarlierRun, IsReadFromACompressedRecord) {
  const Folder folder;
  const std::string lines =
      "{\"kind\":\"run\",\"format\":3,\"name\":\"a\",\"config\":\"attach: {every: 2}\"}\n"
      "{\"kind\":\"tick\",\"epoch\":7,\"step\":1}\n";
  const std::string later = gzip_member("{\"kind\":\"tick\",\"epoch\":8,\"step\":1}\n");
  write(folder / "record.jsonl.gz", gzip_member(lines) + later.substr(0, later.size() - 1));
  const auto run = EarlierRun::read(folder / "record.jsonl");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->last->epoch, 7) << "the last member is cut off";
  EXPECT_EQ(run->config, "attach: {every: 2}");
}

TEST(EarlierRun, HasNoSettingsWhereTheHostReadsNone) {
  loupe_host host{};
  host.struct_size = sizeof host;
  host.get_extension = [](void*, const char*) -> const void* { return nullptr; };
  EarlierRun run;
  run.config = "attach: {every: 2}";
  EXPECT_EQ(run.settings(Host(&host)), Settings());
}

TEST(EarlierRun, NamesTheSettingsThatDiffer) {
  const Settings before = {{"attach.every", "2"}, {"lenses.health", "true"}};
  EXPECT_EQ(other_settings(before, before), "");
  EXPECT_EQ(other_settings(before, {{"attach.every", "3"}, {"attach.depth", "1"}}),
            "'attach.depth: 1' is new, 'attach.every' is '3' and was '2', 'lenses.health: true' was removed");
  EXPECT_EQ(other_settings({}, before), "") << "nothing is known of those before";
}

TEST(EarlierRun, NamesTheFirstFewOfManySettings) {
  Settings now;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) now[name] = "1";
  const std::string told = other_settings({{"a", "1"}}, now);
  EXPECT_NE(told.find("'f: 1' is new and 1 more"), std::string::npos) << told;
  EXPECT_EQ(told.find("'g"), std::string::npos) << told;
}

TEST(EarlierRun, IgnoresNameFolderAndResumption) {
  const loupe_option_value values[] = {
      {.struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_STRING, .name = "run.name", .string = "x"},
      {.struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_STRING, .name = "run.dir", .string = "x"},
      {.struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_STRING, .name = "run.resume", .string = "true"},
      {.struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_STRING, .name = "attach.every", .string = "2"}};
  const loupe_option_value* const pointers[] = {&values[0], &values[1], &values[2], &values[3]};
  const loupe_options options{.struct_size = sizeof options, .values = pointers, .value_count = 4};
  EXPECT_EQ(compared_settings(&options), (Settings{{"attach.every", "2"}}));
  EXPECT_EQ(compared_settings(nullptr), Settings());
}

TEST(EarlierRun, NamesTheFirstModuleThatDiffers) {
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
  EXPECT_EQ(run.other_models({{"critic", model(2)}}), "'critic' is new, 'net' was removed");
}

}  // namespace
}  // namespace loupe::record
