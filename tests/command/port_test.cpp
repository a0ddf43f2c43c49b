// `loupe compare --port` on records written here line by line: what it does with wrong ones, and with what no model of
// tests/port has.

#include <gtest/gtest.h>
#include <loupe/files/fingerprint.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/process.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Shape = std::vector<int64_t>;

/// Numbers that look drawn.
std::vector<double> drawn(const Shape& shape, int seed = 1) {
  std::vector<double> values;
  int64_t numel = 1;
  for (const int64_t size : shape) numel *= size;
  for (int64_t i = 0; i < numel; ++i) values.push_back(std::sin(static_cast<double>(seed * 1000 + i * i)));
  return values;
}

class Record {
 public:
  explicit Record(const std::string& language = "Python") {
    add({{"kind", "fingerprint"},
         {"format", 1},
         {"language", language},
         {"libtorch", "2.0"},
         {"model", "Net"},
         {"steps", 2}});
  }
  Record& module(const std::string& name, const std::string& type = "Linear", const std::string& settings = "") {
    return add({{"kind", "module"}, {"name", name}, {"type", type}, {"settings", settings}, {"functional", false}});
  }
  Record& tensor(int step, const std::string& what, const std::string& module, const Shape& shape,
                 const std::vector<double>& values, const std::string& name = "",
                 const std::string& dtype = "float32") {
    const TensorSummary summary = summarize(shape, values);
    Json written = Json::array();
    for (const double value : summary.values) written.push_back(std::isfinite(value) ? Json(value) : Json("NaN"));
    return add({{"kind", "tensor"},
                {"step", step},
                {"what", what},
                {"module", module},
                {"name", name},
                {"index", 0},
                {"call", 0},
                {"training", true},
                {"shape", shape},
                {"dtype", dtype},
                {"non_finite", summary.non_finite},
                {"sum", summary.sum},
                {"sum_squares", summary.sum_squares},
                {"minimum", summary.minimum},
                {"maximum", summary.maximum},
                {"values", written},
                {"sums", summary.sums}});
  }
  Record& optimizer(const std::string& type, const Json& settings) {
    Json line = {{"kind", "optimizer"}, {"step", 1}, {"optimizer", 0}, {"type", type}, {"group", 0}};
    line.update(settings);
    return add(line);
  }
  Record& add(const Json& line) {
    text += line.dump() + "\n";
    return *this;
  }
  /// Changes the last line.
  Record& with(const char* key, const Json& value) {
    const std::size_t begin = text.rfind('\n', text.size() - 2) + 1;
    Json line = Json::parse(text.substr(begin));
    line[key] = value;
    text.erase(begin);
    return add(line);
  }
  std::string text;
};

class ComparePort : public testing::Test {
 protected:
  Finished compare(const std::string& first, const std::string& second, const std::string& options = "") const {
    std::ofstream(folder_ / "a.jsonl") << first;
    std::ofstream(folder_ / "b.jsonl") << second;
    return run(std::string(LOUPE_COMMAND) + " compare --port a.jsonl b.jsonl " + options, folder_);
  }
  Finished compare(const Record& first, const Record& second) const { return compare(first.text, second.text); }

  fs::path folder_ = fresh_folder();
};

#define EXPECT_SAYS(FINISHED, CODE, TEXT)                                                               \
  do {                                                                                                  \
    const Finished& finished_ = FINISHED;                                                               \
    EXPECT_EQ(finished_.exit_code, CODE) << finished_.output;                                           \
    EXPECT_NE(finished_.output.find(TEXT), std::string::npos) << finished_.output << "lacks\n" << TEXT; \
  } while (false)

TEST_F(ComparePort, RefusesWhatIsNoRecordByItsPlace) {
  const std::string good = Record().module("fc").text;
  EXPECT_SAYS(compare(good, ""), 2, "b.jsonl:1: error: the file is empty");
  EXPECT_SAYS(compare("{}\n", good), 2, "a.jsonl:1: error: this is no file of fingerprints");
  EXPECT_SAYS(compare("[1]\n", good), 2, "a.jsonl:1: error: this is no file of fingerprints");
  EXPECT_SAYS(compare("{\"kind\":\"fingerprint\",\"format\":7}\n", good), 2, "the fingerprints are of format 7");
  EXPECT_SAYS(compare(good, good + "{\"kind\":\"tensor\"}\n"), 2,
              "b.jsonl:3: error: the line is no line of fingerprints");
  EXPECT_SAYS(compare(good, good + "{\"kind\":\"mod"), 2, "b.jsonl:3: error: the line is no line of fingerprints");
  Record wrong;
  wrong.tensor(1, "output", "fc", {3}, drawn({3}));
  for (const auto& [from, to] :
       {std::pair("\"shape\":[3]", "\"shape\":[4]"), std::pair("\"shape\":[3]", "\"shape\":[-3]"),
        std::pair("\"shape\":[3]", "\"shape\":[99999999999,99999999999]")}) {
    std::string text = wrong.text;
    text.replace(text.find(from), std::string(from).size(), to);
    EXPECT_SAYS(compare(text, good), 2, "a.jsonl:2: error: a tensor does not have as many elements as its shape says");
  }
}

TEST_F(ComparePort, SaysWhatIsWrongWithTheCommandLine) {
  const auto command = [&](const std::string& arguments) {
    return run(std::string(LOUPE_COMMAND) + " compare " + arguments, folder_);
  };
  const std::string good = Record().module("fc").text;
  compare(good, good);
  fs::create_directory(folder_ / "empty");
  EXPECT_SAYS(command("--port a.jsonl"), 2, "--port compares two records, and got 1");
  EXPECT_SAYS(command("--port a.jsonl empty"), 2, "the folder 'empty' has no fingerprint.jsonl");
  EXPECT_SAYS(command("--port a.jsonl none.jsonl"), 2, "none.jsonl: error: the file cannot be read");
  EXPECT_SAYS(command("a.jsonl b.jsonl --map map.yaml --out x"), 2, "--map requires --port");
  EXPECT_SAYS(command("a.jsonl b.jsonl --port --out x"), 2, "--out excludes --port");
  EXPECT_SAYS(command("--port a.jsonl b.jsonl --map map.yaml"), 2, "map.yaml: error: the file cannot be read");
  for (const auto& [text, fault] :
       {std::pair("fc: fc", "map.yaml:1:1: error: a map of modules has the one key 'modules'"),
        std::pair("modules: {fc: [a]}", "map.yaml:1:11: error: a module's name is a text"),
        std::pair("modules: {", "map.yaml:"),
        std::pair("modules: {fc: other}", "the map names a module 'other', which 'b.jsonl' has not")}) {
    std::ofstream(folder_ / "map.yaml") << text;
    EXPECT_SAYS(command("--port a.jsonl b.jsonl --map map.yaml"), 2, fault);
  }
}

TEST_F(ComparePort, DoesNotCallRecordsEqualThatHaveNothingInCommon) {
  Record first, second("C++");
  first.module("fc").tensor(0, "parameter", "fc", {3}, drawn({3}), "bias");
  second.module("other", "Conv2d").tensor(0, "parameter", "other", {5}, drawn({5}), "bias");
  EXPECT_SAYS(compare(first, second), 1, "Python and C++ have nothing to compare");
}

TEST_F(ComparePort, TakesRoundingByTheTypeOfTheNumbers) {
  const auto with = [&](double factor, const std::string& dtype) {
    Record record;
    std::vector<double> values = drawn({20});
    for (double& value : values) value *= factor;
    record.module("fc").tensor(1, "input", "fc", {20}, values, "", dtype);
    return record;
  };
  EXPECT_EQ(compare(with(1, "float32"), with(1 + 1e-6, "float32")).exit_code, 0);
  EXPECT_EQ(compare(with(1, "float64"), with(1 + 1e-6, "float64")).exit_code, 1);
  EXPECT_EQ(compare(with(1, "float64"), with(1 + 1e-6, "float32")).exit_code, 0) << "the coarser one counts";
  EXPECT_EQ(compare(with(1, "bfloat16"), with(1 + 1e-2, "bfloat16")).exit_code, 0);
  EXPECT_EQ(compare(with(1, "float32"), with(1 + 1e-2, "float32")).exit_code, 1);
}

TEST_F(ComparePort, AllowsSumsOfFloat64ThatWereAddedInAnotherOrder) {
  const auto with = [](double share, const char* member) {
    Record record;
    record.module("fc").tensor(0, "parameter", "fc", {10, 256}, drawn({10, 256}), "weight", "float64");
    std::string text;
    for (std::size_t at = 0, end; (end = record.text.find('\n', at)) != std::string::npos; at = end + 1) {
      Json line = Json::parse(record.text.substr(at, end - at));
      Json* sum = line["kind"] != "tensor"        ? nullptr
                  : member == std::string("sums") ? &line["sums"][0][3]
                                                  : &line[member];
      if (sum != nullptr) *sum = sum->get<double>() * (1 + share);
      text += line.dump() + "\n";
    }
    return text;
  };
  for (const char* sum : {"sum_squares", "sum", "sums"}) {
    EXPECT_EQ(compare(with(0, sum), with(2.4e-14, sum)).exit_code, 0) << sum;
    EXPECT_EQ(compare(with(0, sum), with(1e-3, sum)).exit_code, 1) << sum;
  }
  EXPECT_EQ(compare(with(0, "minimum"), with(2.4e-14, "minimum")).exit_code, 1) << "an element is no sum";
}

TEST_F(ComparePort, CountsNaNsAndSaysWhereTheyAre) {
  std::vector<double> values = drawn({20});
  Record first, second("C++");
  first.module("fc").tensor(1, "output", "fc", {20}, values);
  values[3] = NAN;
  second.module("fc").tensor(1, "output", "fc", {20}, values);
  EXPECT_SAYS(compare(first, second), 1, "0 elements are NaN or infinite in Python and 1 in C++");
  EXPECT_EQ(compare(second, second).exit_code, 0) << "NaN in both is the same";
}

TEST_F(ComparePort, TellsTheShapesThatDiffer) {
  Record first, second("C++");
  first.module("fc").tensor(1, "input", "fc", {4, 5}, drawn({4, 5}));
  second.module("fc").tensor(1, "input", "fc", {4, 6}, drawn({4, 6}));
  EXPECT_SAYS(compare(first, second), 1, "its shape is (4, 5) in Python and (4, 6) in C++");
}

TEST_F(ComparePort, AlignsByOrderTypeAndShapeWhereNamesSayNothing) {
  const auto with = [](const std::string& language, const std::vector<std::string>& names,
                       const std::vector<Shape>& shapes) {
    Record record(language);
    for (std::size_t i = 0; i < names.size(); ++i) record.module(names[i]);
    for (std::size_t i = 0; i < names.size(); ++i)
      record.tensor(0, "parameter", names[i], shapes[i], drawn(shapes[i]), "weight");
    return record;
  };
  const Record first = with("Python", {"a", "b", "c"}, {{4, 5}, {5, 6}, {6, 7}});
  EXPECT_SAYS(compare(first, with("C++", {"x", "y", "z"}, {{4, 5}, {5, 6}, {6, 7}})), 0,
              "modules:\n  a: x\n  b: y\n  c: z\n");
  const Finished one_less = compare(first, with("C++", {"x", "y"}, {{4, 5}, {6, 7}}));
  EXPECT_SAYS(one_less, 0, "modules:\n  a: x\n  c: y\n");
  EXPECT_SAYS(one_less, 0, "Not compared: Python alone has 'b' (Linear)");
  EXPECT_SAYS(compare(first, with("C++", {"a", "b", "c"}, {{4, 5}, {5, 9}, {6, 7}})), 1,
              "the parameter 'b.weight' differs.\n- its shape is (5, 6) in Python and (5, 9) in C++");
}

TEST_F(ComparePort, KnowsATransposedMatrixOfAnotherShape) {
  const Shape shape = {30, 50}, turned = {50, 30};
  const std::vector<double> values = drawn(shape);
  std::vector<double> other(values.size());
  for (std::size_t i = 0; i < 30; ++i) {
    for (std::size_t j = 0; j < 50; ++j) other[j * 30 + i] = values[i * 50 + j];
  }
  Record first, second("C++");
  first.module("fc").tensor(0, "parameter", "fc", shape, values, "weight");
  second.module("fc").tensor(0, "parameter", "fc", turned, other, "weight");
  EXPECT_SAYS(compare(first, second), 1, "it is transposed in C++");
  second = Record("C++");
  second.module("fc").tensor(0, "parameter", "fc", turned, values, "weight");
  const Finished viewed = compare(first, second);
  EXPECT_EQ(viewed.output.find("transposed"), std::string::npos)
      << "read in another shape, not turned: " << viewed.output;
}

TEST_F(ComparePort, TellsAnotherInitializationFromAnotherSeed) {
  const Shape shape = {40, 40};
  std::vector<double> wider = drawn(shape, 7);
  for (double& value : wider) value = value * 3 + 1;
  Record first, seed("C++"), wide("C++");
  first.module("fc").tensor(0, "parameter", "fc", shape, drawn(shape), "weight");
  seed.module("fc").tensor(0, "parameter", "fc", shape, drawn(shape, 7), "weight");
  wide.module("fc").tensor(0, "parameter", "fc", shape, wider, "weight");
  EXPECT_SAYS(compare(first, seed), 1, "another seed");
  EXPECT_SAYS(compare(first, wide), 1, "another initialization: mean and standard deviation are ");
}

TEST_F(ComparePort, TellsWeightsInTheWrongPlaceAndChangedOnesFromAnotherSeed) {
  const Shape shape = {40, 40};
  const std::vector<double> values = drawn(shape), others = drawn(shape, 7);
  const auto with = [&](const std::string& language, const std::vector<double>& weight) {
    Record record(language);
    record.module("a").tensor(0, "parameter", "a", shape, weight, "weight");
    return record.module("b").tensor(0, "parameter", "b", shape, others, "weight");
  };
  const auto changed = [&](auto&& change) {
    std::vector<double> all = values;
    for (std::size_t i = 0; i < all.size(); ++i) change(all[i], i);
    return with("C++", all);
  };
  const Record first = with("Python", values);
  EXPECT_SAYS(compare(first, with("C++", others)), 1, "- it has the values of Python's 'b.weight'.\n");
  EXPECT_SAYS(compare(first, changed([&](double& value, std::size_t i) { value = others[i % 40 * 40 + i / 40]; })), 1,
              "- it has the values of Python's 'b.weight', transposed.\n");
  EXPECT_SAYS(compare(first, changed([](double& value, std::size_t i) { value = i < 40 ? 0 : value; })), 1,
              "- most of its values are the same: some elements were changed");
  EXPECT_SAYS(compare(first, changed([](double& value, std::size_t) { value = std::round(value * 1024) / 1024; })), 1,
              "- the values are the same but for rounding, as of weights kept in half precision");
}

TEST_F(ComparePort, ComparesWhatOneLanguageDoesNotPrintBecauseItIsTheDefault) {
  const auto with = [](const std::string& language, const std::string& conv, const std::string& lstm,
                       const std::string& pad) {
    Record record(language);
    record.module("c", "Conv2d", conv).module("l", "LSTM", lstm).module("p", "ReflectionPad2d", pad);
    return record.tensor(1, "output", "c", {9}, drawn({9}));
  };
  const Record first = with("Python", "3, 4, kernel_size=(3, 3)", "5, 6", "(1, 1, 1, 1)");
  const Finished same = compare(
      first, with("C++", "3, 4, kernel_size=3, bias=1", "num_layers=1, bias=true, dropout=0", "padding=[1, 1]"));
  EXPECT_EQ(same.output.find("ifferent"), std::string::npos) << same.output;
  const Finished other =
      compare(first, with("C++", "3, 4, kernel_size=3, padding=2, padding_mode=kReflect", "bias=false", ""));
  EXPECT_SAYS(other, 0, "'c': padding is 0 in Python and 2 in C++");
  EXPECT_SAYS(other, 0, "'c': padding_mode is zeros in Python and reflect in C++");
  EXPECT_SAYS(other, 0, "'l': bias is true in Python and false in C++");
}

TEST_F(ComparePort, SaysHowOftenAModuleRunsAndWhatItIsGiven) {
  Record first, second("C++");
  first.module("bn", "BatchNorm1d").tensor(1, "output", "bn", {9}, drawn({9}));
  second.module("bn", "BatchNorm1d").tensor(1, "output", "bn", {9}, drawn({9}));
  second.tensor(1, "output", "bn", {9}, drawn({9}, 3)).with("call", 1);
  first.tensor(1, "buffer", "bn", {9}, drawn({9}), "running_mean");
  second.tensor(1, "buffer", "bn", {9}, drawn({9}, 5), "running_mean");
  EXPECT_SAYS(compare(first, second), 1, "- 'bn' runs twice in C++ and once in Python");

  const auto with = [](const std::string& language, bool masked) {
    Record record(language);
    record.module("attn", "MultiheadAttention").tensor(1, "input", "attn", {9}, drawn({9}));
    if (masked) record.tensor(1, "input", "attn", {9}, drawn({9})).with("index", 1);
    return record.tensor(1, "output", "attn", {9}, drawn({9}, masked ? 2 : 1));
  };
  EXPECT_SAYS(compare(with("Python", false), with("C++", true)), 1,
              "- it is given 2 tensors in C++ and 1 in Python, such as a mask or a state");
}

TEST_F(ComparePort, NamesAModuleThatBothHaveAndOneRunsInBetween) {
  Record first, second("C++");
  for (Record* each : {&first, &second}) {
    each->module("conv", "Conv2d").module("bn", "BatchNorm2d").module("act", "ReLU");
    each->tensor(1, "output", "conv", {9}, drawn({9}));
  }
  first.tensor(1, "input", "bn", {9}, drawn({9}));
  first.tensor(1, "output", "act", {9}, drawn({9}));
  second.tensor(1, "output", "act", {9}, drawn({9}));
  second.tensor(1, "input", "bn", {9}, drawn({9}, 2));
  EXPECT_SAYS(compare(first, second), 1, "- 'act' (ReLU) runs in between in C++ alone");
}

TEST_F(ComparePort, CountsGroupsOfParametersAndNamesTheirTypes) {
  Record first, second("C++");
  first.module("fc").tensor(0, "parameter", "fc", {9}, drawn({9}), "bias").optimizer("SGD", {{"lr", 1}});
  second.module("fc").tensor(0, "parameter", "fc", {9}, drawn({9}), "bias", "float64");
  second.optimizer("SGD", {{"lr", 1}}).optimizer("SGD", {{"lr", 1}, {"group", 1}});
  const Finished told = compare(first, second);
  EXPECT_SAYS(told, 0, "there is 1 group of parameters in Python and 2 in C++");
  EXPECT_SAYS(told, 0, "The parameters are float32 in Python and float64 in C++.\n");
}

TEST_F(ComparePort, ComparesSettingsHoweverTheirLanguagePrintsThem) {
  Record first, second("C++");
  first.module("c", "Conv2d", "3, 4, kernel_size=(3, 3), stride=(1, 1), padding=same, bias=False")
      .module("u", "Upsample", "scale_factor=2.0, mode='bilinear'")
      .tensor(1, "output", "c", {9}, drawn({9}))
      .optimizer("SGD", {{"lr", 0.1}, {"nesterov", false}});
  second.module("c", "Conv2d", "3, 4, kernel_size=[3, 3], stride=1, padding='same', bias=false, padding_mode=kZeros")
      .module("u", "Upsample", "scale_factor=[2, 2], mode=kBilinear")
      .tensor(1, "output", "c", {9}, drawn({9}))
      .optimizer("SGD", {{"lr", 0.1}, {"nesterov", false}, {"dampening", 0}});
  const Finished same = compare(first, second);
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_EQ(same.output.find("ifferent"), std::string::npos) << same.output;

  Record other("C++");
  other.module("c", "Conv2d", "3, 4, kernel_size=[3, 5], stride=2")
      .tensor(1, "output", "c", {9}, drawn({9}))
      .optimizer("SGD", {{"lr", 0.2}, {"nesterov", true}});
  const Finished told = compare(first, other);
  EXPECT_SAYS(told, 0,
              "Different, though no number beyond rounding shows it: 'c': kernel_size is 3 in Python and 3 x 5 in C++");
  EXPECT_SAYS(told, 0, "'c': stride is 1 in Python and 2 in C++");
  EXPECT_SAYS(told, 0, "the optimizer: lr is 0.1 in Python and 0.2 in C++");
  EXPECT_SAYS(told, 0, "the optimizer: nesterov is false in Python and true in C++");
}

TEST_F(ComparePort, TellsAnotherReductionFromAnotherLoss) {
  const auto with = [](const std::string& language, double loss) {
    Record record(language);
    record.module("fc").tensor(1, "output", "fc", {12, 8, 5}, drawn({12, 8, 5}));
    return record.tensor(1, "loss", "", {}, {loss});
  };
  const Record mean = with("Python", 4.08);
  EXPECT_SAYS(compare(mean, with("C++", 4.08 * 96)), 1,
              "- the loss is 96 times as large in C++: a sum in place of a mean");
  EXPECT_SAYS(compare(mean, with("C++", 4.08 * 40)), 1, "- the loss is 40 times as large in C++: a sum in place of");
  EXPECT_SAYS(compare(mean, with("C++", 4.08 / 2)), 1,
              "- the loss is 2 times as large in Python: it is multiplied or divided in one alone");
  EXPECT_SAYS(compare(mean, with("C++", 4.0803)), 1,
              "- the output of 'fc', the last module that was seen, is the same: what is computed after it (such as a "
              "softmax), other targets, or another loss function (4.08 in Python, 4.0803 in C++)");
}

TEST_F(ComparePort, NamesWhatOneRecordDoesNotTell) {
  Record first, second("C++");
  first.module("fc").tensor(1, "output", "fc", {9}, drawn({9})).tensor(1, "loss", "", {}, {2});
  second.module("fc").tensor(1, "output", "fc", {9}, drawn({9}));
  EXPECT_SAYS(compare(first, second), 0, "Not compared: C++ has no loss");
}

}  // namespace
}  // namespace loupe::test
