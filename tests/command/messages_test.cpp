// Each member of a message to visualizers has its place in the record, or is named here as left out: one that is added
// to the ABI and forgotten in the record would be lost in every replay. What is written is also read, bit for bit: see
// Replay.GivesEveryEventAgainBitForBit.

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "examples/process.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Keys = std::vector<std::string>;

struct Message {
  std::string name, header;
  std::map<std::string, Keys> keys;  // of the record's line, by member; none: left out
};

const Keys moment_keys = {"step", "epoch", "time", "timestamp", "elapsed"};  // of a loupe_moment, which is frozen

/// Keyed by the kind of their lines in the record. Leaves out `struct_size` and `reserved`, which every struct has.
const std::map<std::string, Message> messages = {
    {"run",
     {"loupe_run",
      "run.h",
      {{"flags", {"resumed"}},
       {"name", {"name"}},
       {"directory", {"directory"}},
       {"config", {"config"}},
       {"loupe_version", {"loupe_version"}},
       {"libtorch_version", {"libtorch_version"}},
       {"started", {"started"}},
       {"start_time", {"start_time"}},
       {"rank", {"rank"}},
       {"world_size", {"world_size"}},
       {"train_loss", {"train_loss"}},
       {"validation_loss", {"val_loss"}},
       {"settings", {"config"}},
       {"lenses", {"lenses"}},
       {"lens_count", {}}}}},
    {"tag",
     {"loupe_tag",
      "shown.h",
      {{"type", {"type"}},
       {"flags", {"log_y", "big", "annotate"}},
       {"id", {"tag"}},
       {"title", {"title"}},
       {"unit", {"unit"}},
       {"description", {"description"}},
       {"healthy", {"healthy"}},
       {"advice", {"advice"}},
       {"y_minimum", {"y_minimum"}},
       {"y_maximum", {"y_maximum"}}}}},
    {"value",
     {"loupe_row",
      "shown.h",
      {{"tag", {"tag"}},
       {"layer", {"layer"}},
       {"events", {"events"}},
       {"value_count", {}},
       {"value_names", {"line"}},
       {"values", {"value"}},
       {"band_count", {}},
       {"band_names", {}},
       {"bands", {}}}}},
    {"range",
     {"loupe_row",
      "shown.h",
      {{"tag", {"tag"}},
       {"layer", {"layer"}},
       {"events", {"events"}},
       {"value_count", {}},
       {"value_names", {}},
       {"values", {}},
       {"band_count", {}},
       {"band_names", {"low_name", "high_name"}},
       {"bands", {"low", "high"}}}}},
    {"histogram",
     {"loupe_histogram",
      "shown.h",
      {{"tag", {"tag"}},
       {"layer", {"layer"}},
       {"line", {"line"}},
       {"edges", {"edges"}},
       {"counts", {"counts"}},
       {"bin_count", {}},
       {"events", {"events"}}}}},
    {"model",
     {"loupe_model",
      "modules.h",
      {{"name", {"name"}},
       {"type", {"type"}},
       {"parameter_element_count", {"parameters"}},
       {"own_name", {}},  // for those who match it with optimizers, which a record does not have
       {"modules", {"modules"}},
       {"module_count", {}}}}},
    {"hyperparameter",
     {"loupe_option_value",
      "options.h",
      {{"type", {"type"}},
       {"name", {"name"}},
       {"integer", {"setting"}},
       {"number", {"setting"}},
       {"string", {"setting"}},
       {"strings", {"setting"}},
       {"string_count", {}},
       {"map", {"setting"}}}}},
    {"finding",
     {"loupe_finding",
      "findings.h",
      {{"severity", {"severity"}},
       {"flags", {"value", "threshold"}},  // null without
       {"state", {"state"}},
       {"id", {"id"}},
       {"rule", {"rule"}},
       {"module", {}},
       {"layer", {"layer"}},
       {"parameter", {"parameter"}},
       {"message", {"message"}},
       {"advice", {"advice"}},
       {"tag", {"tag"}},
       {"source", {"source"}},
       {"caused_by", {"caused_by"}},
       {"file", {"file"}},
       {"line", {"file_line"}},
       {"value", {"value"}},
       {"threshold", {"threshold"}},
       {"first_step", {"first_step"}},
       {"last_step", {"last_step"}},
       {"first_epoch", {"first_epoch"}},
       {"last_epoch", {"last_epoch"}},
       {"count", {"count"}}}}},
    {"note",
     {"loupe_note", "run.h", {{"kind", {"about"}}, {"text", {"text"}}, {"at", moment_keys}, {"finding", {"finding"}}}}},
    {"tick",
     {"loupe_tick",
      "steps.h",
      {{"reason", {"reason"}},
       {"flags", {"incomplete"}},
       {"number", {}},
       {"at", moment_keys},
       {"optimizers", {}},
       {"optimizer_count", {}}}}},
    {"end", {"loupe_ending", "run.h", {{"how", {"how"}}, {"at", moment_keys}, {"message", {"message"}}}}},
};

/// As a header of the ABI declares them.
std::set<std::string> members_of(const Message& message) {
  const std::string text = read(std::string(LOUPE_ABI_HEADERS) + "/" + message.header);
  const std::string head = "typedef struct " + message.name + " {\n";
  const std::size_t begin = text.find(head);
  EXPECT_NE(begin, std::string::npos) << message.name << " is not in " << message.header;
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find("} " + message.name + ";", begin);
  std::string body = text.substr(begin + head.size(), end - begin - head.size());
  body = std::regex_replace(body, std::regex(R"(/\*[^]*?\*/)"), "");
  std::set<std::string> members;
  const std::regex declared(R"(([^;]+);)"), name(R"((\w+)\s*(?:,|$))");
  for (std::sregex_iterator at(body.begin(), body.end(), declared), none; at != none; ++at) {
    const std::string declaration = (*at)[1];
    for (std::sregex_iterator each(declaration.begin(), declaration.end(), name); each != none; ++each)
      members.insert((*each)[1]);
  }
  members.erase("struct_size");
  members.erase("reserved");
  return members;
}

/// The keys of all of a record's lines of each kind.
std::map<std::string, std::set<std::string>> recorded_keys() {
  const fs::path folder = fresh_folder();
  RunToRecord run;
  run.healthy = false;
  run.end = LOUPE_END_FAILED;
  std::map<std::string, std::set<std::string>> keys;
  for (const std::string& text : lines_of(read(record_run(folder, run)))) {
    const Json line = Json::parse(text);
    for (const auto& item : line.items()) keys[line.at("kind")].insert(item.key());
  }
  return keys;
}

TEST(Messages, AreHereAsTheAbiDeclaresThem) {
  for (const auto& [kind, message] : messages) {
    std::set<std::string> here;
    for (const auto& [member, keys] : message.keys) here.insert(member);
    EXPECT_EQ(here, members_of(message)) << message.name;
  }
}

TEST(Messages, AreInTheRecordWithEachMember) {
  const auto recorded = recorded_keys();
  for (const auto& [kind, message] : messages) {
    ASSERT_EQ(recorded.count(kind), 1U) << kind;
    for (const auto& [member, keys] : message.keys) {
      for (const std::string& key : keys)
        EXPECT_EQ(recorded.at(kind).count(key), 1U) << message.name << "." << member << " has no \"" << key << '"';
    }
  }
  for (const auto& [kind, keys] : recorded) EXPECT_EQ(messages.count(kind), 1U) << kind << " is no message here";
}

}  // namespace
}  // namespace loupe::test
