// `loupe compare --port` on records that these tests write line by line: wrong records, and cases that no model of
// tests/port has.

#include <gtest/gtest.h>
#include <loupe/files/fingerprint.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/process.h"
#include "paths.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Shape = std::vector<int64_t>;

/// Numbers that look random.
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
  /// Changes a member of the last line.
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
    return run(LOUPE_COMMAND + " compare --port a.jsonl b.jsonl " + options, folder_);
  }
  Finished compare(const Record& first, const Record& second) const { return compare(first.text, second.text); }

  fs::path folder_ = fresh_folder();
};

TEST_F(ComparePort, RefusesAnInvalidRecordWithTheLine) {
  const std::string good = Record().module("fc").text;
  EXPECT_ENDS(compare(good, ""), 2, "b.jsonl:1: error: the file is empty");
  EXPECT_ENDS(compare("{}\n", good), 2, "a.jsonl:1: error: this is not a file of fingerprints");
  EXPECT_ENDS(compare("[1]\n", good), 2, "a.jsonl:1: error: this is not a file of fingerprints");
  EXPECT_ENDS(compare("{\"kind\":\"fingerprint\",\"format\":7}\n", good), 2, "the fingerprints have format 7");
  EXPECT_ENDS(compare(good, good + "{\"kind\":\"tensor\"}\n"), 2,
              "b.jsonl:3: error: the line is not a line of fingerprints");
  EXPECT_ENDS(compare(good, good + "{\"kind\":\"mod"), 2, "b.jsonl:3: error: the line is not a line of fingerprints");
  Record wrong;
  wrong.tensor(1, "output", "fc", {3}, drawn({3}));
  for (const auto& [from, to] :
       {std::pair("\"shape\":[3]", "\"shape\":[4]"), std::pair("\"shape\":[3]", "\"shape\":[-3]"),
        std::pair("\"shape\":[3]", "\"shape\":[99999999999,99999999999]")}) {
    std::string text = wrong.text;
    text.replace(text.find(from), std::string(from).size(), to);
    EXPECT_ENDS(compare(text, good), 2, "a.jsonl:2: error: a tensor does not have as many elements as its shape says");
  }
}

TEST_F(ComparePort, SaysWhatIsWrongWithTheCommandLine) {
  const auto command = [&](const std::string& arguments) {
    return run(LOUPE_COMMAND + " compare " + arguments, folder_);
  };
  const std::string good = Record().module("fc").text;
  compare(good, good);
  fs::create_directory(folder_ / "empty");
  EXPECT_ENDS(command("--port a.jsonl"), 2, "--port compares two records, and got 1");
  EXPECT_ENDS(command("--port a.jsonl empty"), 2, "the folder 'empty' has no fingerprint.jsonl");
  EXPECT_ENDS(command("--port a.jsonl none.jsonl"), 2, "none.jsonl: error: the file cannot be read");
  EXPECT_ENDS(command("a.jsonl b.jsonl --map map.yaml --out x"), 2, "--map requires --port");
  EXPECT_ENDS(command("a.jsonl b.jsonl --port --out x"), 2, "--out excludes --port");
  EXPECT_ENDS(command("--port a.jsonl b.jsonl --map map.yaml"), 2, "map.yaml: error: the file cannot be read");
  for (const auto& [text, fault] :
       {std::pair("fc: fc", "map.yaml:1:1: error: a map of modules has the one key 'modules'"),
        std::pair("modules: {fc: [a]}", "map.yaml:1:11: error: a module's name is a text"),
        std::pair("modules: {", "map.yaml:"),
        std::pair("modules: {fc: other}", "the map names a module 'other', which 'b.jsonl' has not")}) {
    std::ofstream(folder_ / "map.yaml") << text;
    EXPECT_ENDS(command("--port a.jsonl b.jsonl --map map.yaml"), 2, fault);
  }
}

TEST_F(ComparePort, DoesNotCallRecordsEqualThatHaveNothingInCommon) {
  Record first, second("C++");
  first.module("fc").tensor(0, "parameter", "fc", {3}, drawn({3}), "bias");
  second.module("other", "Conv2d").tensor(0, "parameter", "other", {5}, drawn({5}), "bias");
  EXPECT_ENDS(compare(first, second), 1, "Python and C++ have nothing to compare");
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
  EXPECT_EQ(compare(with(1, "float64"), with(1 + 1e-6, "float32")).exit_code, 0) << "the coarser type decides";
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
  EXPECT_EQ(compare(with(0, "minimum"), with(2.4e-14, "minimum")).exit_code, 1) << "an element is not a sum";
}

TEST_F(ComparePort, CountsNaNsAndSaysWhereTheyAre) {
  std::vector<double> values = drawn({20});
  Record first, second("C++");
  first.module("fc").tensor(1, "output", "fc", {20}, values);
  values[3] = NAN;
  second.module("fc").tensor(1, "output", "fc", {20}, values);
  EXPECT_ENDS(compare(first, second), 1, "0 elements are NaN or infinite in Python and 1 in C++");
  EXPECT_EQ(compare(second, second).exit_code, 0) << "NaN equals NaN";
}

TEST_F(ComparePort, TakesValuesForReorderedOnlyWhereTheyAreTheSameFarBetterThanTheyDiffer) {
  const auto with = [](const std::string& language, const std::vector<double>& values) {
    Record record(language);
    record.module("mix").module("proj").tensor(1, "output", "mix", {40, 20}, drawn({40, 20}, 3));
    return record.tensor(1, "input", "proj", {40, 20}, values);
  };
  const std::vector<double> values = drawn({40, 20}, 7);
  std::vector<double> near = values, reversed(values.rbegin(), values.rend());
  for (std::size_t i = 5; i + 5 < near.size(); ++i) {
    const bool is_inside = std::abs(near[i]) < 0.9;  // the largest values stay unchanged
    near[i] += is_inside ? (i % 2 == 0 ? 0.01 : -0.01) * near[i + 1] : 0;
  }
  const std::string reason = "the same values in another order";
  EXPECT_ENDS(compare(with("Python", values), with("C++", reversed)), 1, reason);
  const Finished changed = compare(with("Python", values), with("C++", near));
  EXPECT_EQ(changed.exit_code, 1);
  EXPECT_EQ(changed.output.find(reason), std::string::npos) << changed.output;
}

TEST_F(ComparePort, NamesTheShapesThatDiffer) {
  Record first, second("C++");
  first.module("fc").tensor(1, "input", "fc", {4, 5}, drawn({4, 5}));
  second.module("fc").tensor(1, "input", "fc", {4, 6}, drawn({4, 6}));
  EXPECT_ENDS(compare(first, second), 1, "its shape is (4, 5) in Python and (4, 6) in C++");
}

TEST_F(ComparePort, AlignsByOrderTypeAndShapeIfNamesDiffer) {
  const auto with = [](const std::string& language, const std::vector<std::string>& names,
                       const std::vector<Shape>& shapes) {
    Record record(language);
    for (std::size_t i = 0; i < names.size(); ++i) record.module(names[i]);
    for (std::size_t i = 0; i < names.size(); ++i)
      record.tensor(0, "parameter", names[i], shapes[i], drawn(shapes[i]), "weight");
    return record;
  };
  const Record first = with("Python", {"a", "b", "c"}, {{4, 5}, {5, 6}, {6, 7}});
  EXPECT_ENDS(compare(first, with("C++", {"x", "y", "z"}, {{4, 5}, {5, 6}, {6, 7}})), 0,
              "modules:\n  a: x\n  b: y\n  c: z\n");
  const Finished one_less = compare(first, with("C++", {"x", "y"}, {{4, 5}, {6, 7}}));
  EXPECT_ENDS(one_less, 0, "modules:\n  a: x\n  c: y\n");
  EXPECT_ENDS(one_less, 0, "Not compared: only Python has 'b' (Linear)");
  EXPECT_ENDS(compare(first, with("C++", {"a", "b", "c"}, {{4, 5}, {5, 9}, {6, 7}})), 1,
              "the parameter 'b.weight' differs.\n- its shape is (5, 6) in Python and (5, 9) in C++");
}

TEST_F(ComparePort, RecognizesATransposedMatrixOfAnotherShape) {
  const Shape shape = {30, 50}, turned = {50, 30};
  const std::vector<double> values = drawn(shape);
  std::vector<double> other(values.size());
  for (std::size_t i = 0; i < 30; ++i) {
    for (std::size_t j = 0; j < 50; ++j) other[j * 30 + i] = values[i * 50 + j];
  }
  Record first, second("C++");
  first.module("fc").tensor(0, "parameter", "fc", shape, values, "weight");
  second.module("fc").tensor(0, "parameter", "fc", turned, other, "weight");
  EXPECT_ENDS(compare(first, second), 1, "it is transposed in C++");
  second = Record("C++");
  second.module("fc").tensor(0, "parameter", "fc", turned, values, "weight");
  const Finished viewed = compare(first, second);
  EXPECT_EQ(viewed.output.find("transposed"), std::string::npos) << "reshaped, not transposed: " << viewed.output;
}

TEST_F(ComparePort, DistinguishesAnotherInitializationFromAnotherSeed) {
  const Shape shape = {40, 40};
  std::vector<double> wider = drawn(shape, 7);
  for (double& value : wider) value = value * 3 + 1;
  Record first, seed("C++"), wide("C++");
  first.module("fc").tensor(0, "parameter", "fc", shape, drawn(shape), "weight");
  seed.module("fc").tensor(0, "parameter", "fc", shape, drawn(shape, 7), "weight");
  wide.module("fc").tensor(0, "parameter", "fc", shape, wider, "weight");
  EXPECT_ENDS(compare(first, seed), 1, "another seed");
  EXPECT_ENDS(compare(first, wide), 1, "another initialization: mean and standard deviation are ");
}

TEST_F(ComparePort, DistinguishesMisplacedAndChangedWeightsFromAnotherSeed) {
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
  EXPECT_ENDS(compare(first, with("C++", others)), 1, "- it has the values of Python's 'b.weight'.\n");
  EXPECT_ENDS(compare(first, changed([&](double& value, std::size_t i) { value = others[i % 40 * 40 + i / 40]; })), 1,
              "- it has the values of Python's 'b.weight', transposed.\n");
  EXPECT_ENDS(compare(first, changed([](double& value, std::size_t i) { value = i < 40 ? 0 : value; })), 1,
              "- most of its values are the same: some elements were changed");
  EXPECT_ENDS(compare(first, changed([](double& value, std::size_t) { value = std::round(value * 1024) / 1024; })), 1,
              "- the values are the same but for rounding, as if weights were kept in half precision");
}

TEST_F(ComparePort, ComparesDefaultsThatOneLanguageDoesNotPrint) {
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
  EXPECT_ENDS(other, 0, "'c': padding is 0 in Python and 2 in C++");
  EXPECT_ENDS(other, 0, "'c': padding_mode is zeros in Python and reflect in C++");
  EXPECT_ENDS(other, 0, "'l': bias is true in Python and false in C++");
}

TEST_F(ComparePort, SaysHowOftenAModuleRunsAndNamesItsInputs) {
  Record first, second("C++");
  first.module("bn", "BatchNorm1d").tensor(1, "output", "bn", {9}, drawn({9}));
  second.module("bn", "BatchNorm1d").tensor(1, "output", "bn", {9}, drawn({9}));
  second.tensor(1, "output", "bn", {9}, drawn({9}, 3)).with("call", 1);
  first.tensor(1, "buffer", "bn", {9}, drawn({9}), "running_mean");
  second.tensor(1, "buffer", "bn", {9}, drawn({9}, 5), "running_mean");
  EXPECT_ENDS(compare(first, second), 1, "- 'bn' runs twice in C++ and once in Python");

  const auto with = [](const std::string& language, bool masked) {
    Record record(language);
    record.module("attn", "MultiheadAttention").tensor(1, "input", "attn", {9}, drawn({9}));
    if (masked) record.tensor(1, "input", "attn", {9}, drawn({9})).with("index", 1);
    return record.tensor(1, "output", "attn", {9}, drawn({9}, masked ? 2 : 1));
  };
  EXPECT_ENDS(compare(with("Python", false), with("C++", true)), 1,
              "- it is given 2 tensors in C++ and 1 in Python, such as a mask or a state");
}

TEST_F(ComparePort, SaysNothingOfArgumentsThatARightPortHasToo) {
  const auto with = [](const Record& begun, bool has_mask, double hidden) {
    Record record = begun;
    record.module("attn", "MultiheadAttention").tensor(1, "input", "attn", {9}, drawn({9}));
    if (has_mask) record.tensor(1, "input", "attn", {9}, std::vector<double>(9, hidden)).with("index", 1);
    return record.tensor(1, "output", "attn", {9}, drawn({9}, has_mask ? 2 : 1));
  };
  Record old;
  old.with("libtorch", "1.13.1");
  for (const Finished& finished : {compare(with(old, false, 0), with(Record("C++"), true, 1)),
                                   compare(with(Record(), false, 0), with(Record("C++"), true, 0))}) {
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_EQ(finished.output.find("it is given"), std::string::npos) << finished.output;
  }
}

/// A model that runs 'act' after each of two layers; or a function replaces one of these calls.
struct Shared {
  int function = 0;  ///< the layer after which a function runs
  bool is_same = true;
  Record record(const std::string& language) const {
    Record made(language);
    made.module("fc1").module("act", "ReLU").module("fc2").module("head");
    if (function > 0) made.module("fc" + std::to_string(function) + ":gelu", "gelu").with("functional", true);
    int values = 1, call = 0;
    for (int layer = 1; layer <= 2; ++layer) {
      const std::string name = "fc" + std::to_string(layer);
      made.tensor(1, "input", name, {4, 5}, drawn({4, 5}, values++));
      made.tensor(1, "output", name, {4, 5}, drawn({4, 5}, values));
      const std::vector<double> before = drawn({4, 5}, values);
      values += layer == function && !is_same ? 20 : 1;
      const std::vector<double> after = drawn({4, 5}, values);
      if (layer == function) {
        made.tensor(1, "output", name + ":gelu", {4, 5}, after);
      } else {
        made.tensor(1, "input", "act", {4, 5}, before).with("call", call);
        made.tensor(1, "output", "act", {4, 5}, after).with("call", call++);
      }
    }
    made.tensor(1, "input", "head", {4, 5}, drawn({4, 5}, values));
    made.tensor(1, "output", "head", {4, 5}, drawn({4, 5}, values + 1));
    int backward = 0;
    for (const int layer : {2, 1}) {
      if (layer == function) continue;
      made.tensor(1, "output_gradient", "act", {4, 5}, drawn({4, 5}, 40 + layer)).with("call", backward++);
    }
    return made;
  }
};

TEST_F(ComparePort, NamesTheCallsOfASharedModuleThatAFunctionReplaces) {
  for (const int layer : {1, 2}) {
    EXPECT_ENDS(compare(Shared{}.record("Python"), Shared{layer}.record("C++")), 0, "Python and C++ agree in 1 step");
    EXPECT_ENDS(compare(Shared{layer}.record("Python"), Shared{}.record("C++")), 0, "Python and C++ agree in 1 step");
  }
  EXPECT_ENDS(compare(Shared{}.record("Python"), Shared{1, false}.record("C++")), 1,
              "depart in step 1: the input of 'fc2' differs");
  EXPECT_ENDS(compare(Shared{}.record("Python"), Shared{1, false}.record("C++")), 1,
              "- 'act' (ReLU) runs in between only in Python, and the function 'gelu' in C++.");
  EXPECT_ENDS(compare(Shared{}.record("Python"), Shared{2, false}.record("C++")), 1,
              "- 'act' (ReLU) runs in between only in Python, and the function 'gelu' in C++.");
}

TEST_F(ComparePort, NamesAModuleThatOnlyOneRunsInBetween) {
  Record first, second("C++");
  for (Record* each : {&first, &second}) {
    each->module("conv", "Conv2d").module("bn", "BatchNorm2d").module("act", "ReLU");
    each->tensor(1, "output", "conv", {9}, drawn({9}));
  }
  first.tensor(1, "input", "bn", {9}, drawn({9}));
  first.tensor(1, "output", "act", {9}, drawn({9}));
  second.tensor(1, "output", "act", {9}, drawn({9}));
  second.tensor(1, "input", "bn", {9}, drawn({9}, 2));
  EXPECT_ENDS(compare(first, second), 1, "- 'act' (ReLU) runs in between only in C++");
}

TEST_F(ComparePort, CountsGroupsOfParametersAndNamesTheirTypes) {
  Record first, second("C++");
  first.module("fc").tensor(0, "parameter", "fc", {9}, drawn({9}), "bias").optimizer("SGD", {{"lr", 1}});
  second.module("fc").tensor(0, "parameter", "fc", {9}, drawn({9}), "bias", "float64");
  second.optimizer("SGD", {{"lr", 1}}).optimizer("SGD", {{"lr", 1}, {"group", 1}});
  const Finished told = compare(first, second);
  EXPECT_ENDS(told, 0, "there is 1 group of parameters in Python and 2 in C++");
  EXPECT_ENDS(told, 0, "The parameters are float32 in Python and float64 in C++.\n");
}

TEST_F(ComparePort, ComparesSettingsInTheFormatOfEitherLanguage) {
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
  EXPECT_ENDS(told, 0,
              "Different, though no number beyond rounding shows it: 'c': kernel_size is 3 in Python and 3 x 5 in C++");
  EXPECT_ENDS(told, 0, "'c': stride is 1 in Python and 2 in C++");
  EXPECT_ENDS(told, 0, "the optimizer: lr is 0.1 in Python and 0.2 in C++");
  EXPECT_ENDS(told, 0, "the optimizer: nesterov is false in Python and true in C++");
}

TEST_F(ComparePort, DistinguishesAnotherReductionFromAnotherLoss) {
  const auto with = [](const std::string& language, double loss) {
    Record record(language);
    record.module("fc").tensor(1, "output", "fc", {12, 8, 5}, drawn({12, 8, 5}));
    return record.tensor(1, "loss", "", {}, {loss});
  };
  const Record mean = with("Python", 4.08);
  EXPECT_ENDS(compare(mean, with("C++", 4.08 * 96)), 1,
              "- the loss is 96 times as large in C++: a sum in place of a mean");
  EXPECT_ENDS(compare(mean, with("C++", 4.08 * 40)), 1, "- the loss is 40 times as large in C++: a sum in place of");
  EXPECT_ENDS(compare(mean, with("C++", 4.08 / 2)), 1,
              "- the loss is 2 times as large in Python: it is multiplied or divided in only one");
  EXPECT_ENDS(compare(mean, with("C++", 4.0803)), 1,
              "- the output of 'fc', the last module that was seen, is the same: what is computed after it (such as a "
              "softmax), other targets, or another loss function (4.08 in Python, 4.0803 in C++)");
}

TEST_F(ComparePort, NamesWhatOneRecordLacks) {
  Record first, second("C++");
  first.module("fc").tensor(1, "output", "fc", {9}, drawn({9})).tensor(1, "loss", "", {}, {2});
  second.module("fc").tensor(1, "output", "fc", {9}, drawn({9}));
  EXPECT_ENDS(compare(first, second), 0, "Not compared: C++ has no loss");
}

/// Two steps of a model with a first layer, an attention that may get a mask, and a head.
struct Masked {
  explicit Masked(const std::string& language) : record(language) {
    record.module("first").module("attn", "MultiheadAttention", "num_heads=4").module("head");
  }
  Masked& step(int step, const std::vector<double>& mask, const std::string& dtype, int attended = 2, int head = 3) {
    record.tensor(step, "output", "first", {4, 5}, drawn({4, 5}));
    record.tensor(step, "input", "attn", {4, 5}, drawn({4, 5}));
    record.tensor(step, "input", "attn", {4}, mask, "", dtype).with("index", 1);
    Json written = Json::array();
    for (const double value : mask) written.push_back(std::isfinite(value) ? Json(value) : Json("-Infinity"));
    record.with("values", written);
    record.tensor(step, "output", "attn", {4, 5}, drawn({4, 5}, attended));
    record.tensor(step, "input", "head", {4, 5}, drawn({4, 5}, attended));
    record.tensor(step, "output", "head", {4, 5}, drawn({4, 5}, head));
    return *this;
  }
  Record record;
};

TEST_F(ComparePort, TakesABooleanMaskForTheSameOneOfMinusInfinity) {
  const std::vector<double> added = {0, -INFINITY, 0, -INFINITY}, flags = {0, 1, 0, 1}, inverted = {1, 0, 1, 0};
  const Record first = Masked("Python").step(1, added, "float32").record;
  EXPECT_ENDS(compare(first, Masked("C++").step(1, flags, "bool").record), 0, "agree in 1 step: 6 tensors, exactly");
  EXPECT_ENDS(compare(first, Masked("C++").step(1, flags, "bool", 4).record), 1,
              "in the forward of 'attn': its input agrees, its output does not");
  const Finished other = compare(first, Masked("C++").step(1, inverted, "bool", 4).record);
  EXPECT_ENDS(other, 1, "in step 1: the input 1 of 'attn' differs");
  EXPECT_ENDS(other, 1, "- the mask is inverted: it hides in C++ what it does not in Python");
  EXPECT_EQ(other.output.find("NaN or infinite"), std::string::npos) << other.output;
}

TEST_F(ComparePort, CallsAnInputThatDiffersADepartureOnlyWhereTheOutputDoes) {
  const std::vector<double> lowest = {0, -1e9, 0, -1e9}, added = {0, -INFINITY, 0, -INFINITY};
  const Record first = Masked("Python").step(1, lowest, "float32").step(2, lowest, "float32").record;
  const auto with = [&](int attended, int head) {
    return Masked("C++").step(1, added, "float32").step(2, added, "float32", attended, head).record;
  };
  EXPECT_ENDS(compare(first, with(2, 3)), 0, "agree in 2 steps: 10 tensors, exactly");
  EXPECT_ENDS(compare(first, with(2, 4)), 1, "in step 2, in the forward of 'head': its input agrees");
  EXPECT_ENDS(compare(first, with(4, 4)), 1, "in step 2: the input 1 of 'attn' differs");
}

TEST_F(ComparePort, TakesTheFormOfAnInputThatModulesInsideGetAlikeForNoDeparture) {
  const auto with = [](const std::string& language, int seed, int hidden) {
    Record record(language);
    record.module("", "Net").module("a").module("b");
    record.tensor(1, "input", "", {4, 5}, drawn({4, 5}, seed));
    record.tensor(1, "input", "a", {4, 5}, drawn({4, 5})).tensor(1, "output", "a", {4, 5}, drawn({4, 5}, 2));
    record.tensor(1, "input", "b", {4, 5}, drawn({4, 5}, 2)).tensor(1, "output", "b", {4, 5}, drawn({4, 5}, hidden));
    return record.tensor(1, "output", "", {4, 5}, drawn({4, 5}, hidden));
  };
  EXPECT_ENDS(compare(with("Python", 1, 3), with("C++", 8, 3)), 0, "agree in 1 step: 5 tensors, exactly");
  EXPECT_ENDS(compare(with("Python", 1, 3), with("C++", 8, 4)), 1, "in the forward of 'b': its input agrees");
}

/// A step with an embedding and a head, which may share one tensor.
Record tied(const std::string& language, int head, int head_gradient, int embedding_gradient = 2) {
  Record record(language);
  record.module("wte", "Embedding").module("head");
  record.tensor(0, "parameter", "wte", {6, 4}, drawn({6, 4}), "weight");
  record.tensor(0, "parameter", "head", {6, 4}, drawn({6, 4}, head), "weight");
  record.tensor(1, "output", "head", {3, 6}, drawn({3, 6}));
  const std::vector<double> gradient = drawn({6, 4}, embedding_gradient);
  record.tensor(1, "gradient", "wte", {6, 4}, gradient, "weight");
  if (head_gradient > 0) record.tensor(1, "gradient", "head", {6, 4}, drawn({6, 4}, head_gradient), "weight");
  record.tensor(1, "update", "wte", {6, 4}, gradient, "weight");
  const std::vector<double> update = head_gradient > 0 ? drawn({6, 4}, head_gradient) : std::vector<double>(24, 0.0);
  return record.tensor(1, "update", "head", {6, 4}, update, "weight");
}

TEST_F(ComparePort, LeavesOutAParameterThatAnotherTensorHasReplaced) {
  const Record original = tied("Python", 1, 2);
  EXPECT_ENDS(compare(original, tied("C++", 1, 0)), 0, "agree in 1 step");
  EXPECT_ENDS(compare(original, tied("C++", 5, 0)), 0, "agree in 1 step");
  EXPECT_ENDS(compare(tied("C++", 5, 0), original), 0, "agree in 1 step");
  EXPECT_ENDS(compare(original, tied("C++", 1, 0, 3)), 1, "the gradient of 'wte.weight' differs");
  EXPECT_ENDS(compare(tied("Python", 5, 3), tied("C++", 5, 0)), 1, "the gradient of 'head.weight' is only in Python");
}

TEST_F(ComparePort, IgnoresTheSecondNameOfASharedParameter) {
  const auto with = [](const std::string& language, bool is_named_twice, int gradient) {
    Record record(language);
    record.module("", "Net").module("wte", "Embedding");
    record.tensor(0, "parameter", "wte", {4, 3}, drawn({4, 3}, 1), "weight");
    if (is_named_twice) record.tensor(0, "parameter", "", {4, 3}, drawn({4, 3}, 1), "head_weight");
    record.tensor(1, "gradient", "wte", {4, 3}, drawn({4, 3}, 2), "weight");
    if (is_named_twice) record.tensor(1, "gradient", "", {4, 3}, drawn({4, 3}, gradient), "head_weight");
    return record;
  };
  EXPECT_ENDS(compare(with("Python", false, 2), with("C++", true, 2)), 0, "agree in 1 step");
  EXPECT_ENDS(compare(with("Python", true, 2), with("C++", false, 2)), 0, "agree in 1 step");
  EXPECT_ENDS(compare(with("Python", false, 2), with("C++", true, 3)), 1,
              "the gradient of 'head_weight' is only in C++");
}

TEST_F(ComparePort, NamesWeightsThatAreTiedInOneAlone) {
  EXPECT_ENDS(compare(tied("Python", 1, 2), tied("C++", 1, 7, 3)), 1,
              "- 'wte.weight' and 'head.weight' are one tensor in Python and two in C++: tie them in both");
}

TEST_F(ComparePort, SaysWhereARecordEndsWithinAStep) {
  Record first, second("C++"), third("C++");
  for (Record* each : {&first, &second, &third}) {
    each->module("a").module("b").tensor(1, "output", "a", {4}, drawn({4})).tensor(1, "input", "b", {4}, drawn({4}));
  }
  first.tensor(1, "output", "b", {4}, drawn({4})).optimizer("SGD", {{"lr", 1}});
  EXPECT_ENDS(compare(first, second), 2, "Not compared: what follows the input of 'b' in step 1, where C++ ends.");
  EXPECT_ENDS(compare(second, first), 2, "Not compared: what follows the input of 'b' in step 1, where C++ ends.");
  third.tensor(1, "output", "b", {4}, drawn({4})).optimizer("SGD", {{"lr", 1}});
  EXPECT_EQ(compare(first, third).exit_code, 0);
  first.tensor(2, "output", "a", {4}, drawn({4}));
  EXPECT_ENDS(compare(first, third), 2, "Not compared: what follows step 1, where C++ ends.");
}

TEST_F(ComparePort, NamesTheInputOfAModuleThatFails) {
  // The input of a module that fails cannot be judged by an output.
  Record first, second("C++");
  first.module("fc").tensor(1, "input", "fc", {4, 5}, drawn({4, 5})).tensor(1, "output", "fc", {9}, drawn({9}));
  second.module("fc").tensor(1, "input", "fc", {5, 4}, drawn({5, 4}));
  EXPECT_ENDS(compare(first.optimizer("SGD", {{"lr", 1}}), second), 1, "the input of 'fc' differs");
}

TEST_F(ComparePort, MentionsModesAndCallsThatNoNumberShows) {
  const auto with = [](const std::string& language, bool training, int calls) {
    Record record(language);
    record.module("drop", "Dropout", training ? "p=0" : "p=0.5").module("fc");
    record.tensor(1, "output", "drop", {9}, drawn({9})).with("training", training);
    for (int call = 0; call < calls; ++call) record.tensor(1, "output", "fc", {9}, drawn({9})).with("call", call);
    for (int call = 0; call < 3 - calls; ++call)
      record.tensor(1, "output_gradient", "fc", {9}, drawn({9})).with("call", call);
    return record.optimizer("SGD", {{"lr", 1}});
  };
  const Finished modes = compare(with("Python", false, 1), with("C++", true, 1));
  EXPECT_ENDS(modes, 0, "'drop': it is in training mode in C++ and in evaluation mode in Python");
  const Finished calls = compare(with("Python", false, 1), with("C++", false, 2));
  EXPECT_ENDS(calls, 0, "'fc' runs twice in C++ and once in Python, first in step 1");
  Record backward = with("C++", false, 1);
  backward.tensor(1, "output_gradient", "fc", {9}, drawn({9})).with("call", 2);
  EXPECT_ENDS(compare(with("Python", false, 1), backward), 0,
              "'fc' runs backward 3 times in C++ and twice in Python, first in step 1");
}

TEST_F(ComparePort, PrintsADifferenceAsAShareOfTheTensorsNorm) {
  const auto with = [](const std::string& language, double factor) {
    Record record(language);
    record.module("fc").tensor(1, "output_gradient", "fc", {40, 40}, drawn({40, 40}));
    std::vector<double> gradient = drawn({40, 40}, 2);
    for (double& value : gradient) value *= 1e-2 * factor;
    return record.tensor(1, "gradient", "fc", {40, 40}, gradient, "weight");
  };
  EXPECT_ENDS(compare(with("Python", 1), with("C++", 1.5)), 1,
              "the gradient of 'fc.weight' differs (by at least 0.5 of its norm)");
}

TEST_F(ComparePort, NamesTheTypeInWhichAFileWasWrittenAndTheOneInWhichItWasRead) {
  const auto with = [](const std::string& language, const std::vector<double>& weight) {
    return Record(language).module("fc").tensor(0, "parameter", "fc", {8, 20}, weight, "weight");
  };
  std::vector<double> written, as_double, as_float;
  for (const double value : drawn({8, 20})) written.push_back(static_cast<double>(static_cast<float>(value)));
  for (std::size_t i = 0; i < written.size(); ++i) {
    const float pair[] = {static_cast<float>(written[2 * i % 160]), static_cast<float>(written[(2 * i + 1) % 160])};
    double read = 0;
    std::memcpy(&read, pair, sizeof read);
    as_double.push_back(static_cast<double>(static_cast<float>(read)));
    float half = 0;
    std::memcpy(&half, reinterpret_cast<const char*>(&written[i / 2]) + i % 2 * sizeof half, sizeof half);
    as_float.push_back(static_cast<double>(half));
  }
  const Record first = with("Python", written);
  EXPECT_ENDS(compare(first, with("C++", as_double)), 1,
              "- its elements in C++ are the bytes of float32 read as float64: read the file in the type that it was "
              "written in");
  EXPECT_ENDS(compare(first, with("C++", as_float)), 1,
              "- its elements in C++ are the bytes of float64 read as float32");
}

TEST_F(ComparePort, NamesBuffersThatWereNotLoadedAndDeviationsForVariances) {
  const auto with = [](const std::string& language, const std::vector<double>& variance) {
    Record record(language);
    record.module("bn", "BatchNorm1d").tensor(0, "parameter", "bn", {4}, drawn({4}), "weight");
    return record.tensor(0, "buffer", "bn", {4}, variance, "running_var");
  };
  const Record first = with("Python", {4, 9, 0.25, 2.25});
  EXPECT_ENDS(compare(first, with("C++", {1, 1, 1, 1})), 1,
              "- it has the values of a new module in C++: load the buffers as well as the parameters");
  EXPECT_ENDS(compare(first, with("C++", {2, 3, 0.5, 1.5})), 1,
              "- it is the root in C++: a standard deviation in place of a variance");
}

TEST_F(ComparePort, ReportsANormThatKeepsItsStatisticsInOneRecordOnly) {
  const auto with = [](const std::string& language, const char* tracks, const char* buffer) {
    Record record(language);
    record.module("bn", "BatchNorm1d", tracks).tensor(0, "parameter", "bn", {4}, drawn({4}), "weight");
    if (buffer != nullptr) record.tensor(0, "buffer", "bn", {4}, drawn({4}), buffer);
    return record.tensor(1, "output", "bn", {4}, drawn({4}, 2));
  };
  const Record kept = with("Python", "track_running_stats=True", "running_mean");
  const Record none = with("C++", "track_running_stats=false", nullptr);
  EXPECT_ENDS(compare(kept, none), 1, "before the first step: the buffer 'bn.running_mean' is only in Python");
  EXPECT_ENDS(compare(kept, none), 1, "- track_running_stats is true in Python and false in C++");
  EXPECT_ENDS(compare(none, kept), 1, "before the first step: the buffer 'bn.running_mean' is only in Python");
  EXPECT_ENDS(compare(with("Python", "", "mask"), with("C++", "", nullptr)), 0, "agree");
}

TEST_F(ComparePort, NamesTheDimensionOfASoftmaxThatNoModuleShows) {
  const auto with = [](const std::string& language, std::size_t dimension) {
    std::vector<double> shares = drawn({3, 5}, 6);
    for (double& value : shares) value = std::exp(value);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 5 && dimension == 1; ++j) shares[i * 5 + j] += i == 0 ? 0 : 1;
    }
    std::vector<double> sums(5, 0);
    for (std::size_t i = 0; i < shares.size(); ++i) sums[dimension == 1 ? i / 5 : i % 5] += shares[i];
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i] /= sums[dimension == 1 ? i / 5 : i % 5];
    Record record(language);
    record.module("scores").module("drop", "Dropout").tensor(1, "output", "scores", {3, 5}, drawn({3, 5}));
    return record.tensor(1, "input", "drop", {3, 5}, shares);
  };
  EXPECT_ENDS(compare(with("Python", 1), with("C++", 0)), 1,
              "- it is a softmax over dimension 1 in Python and over dimension 0 in C++");
}

/// A cross entropy of 8 samples of 5 classes, and the gradient of its input.
struct CrossEntropy {
  int shift = 0;  ///< shift of the targets of the first half
  double smoothing = 0;
  bool has_weights = false, ignores = false;
  Record record(const std::string& language) const {
    const std::vector<double> logits = drawn({8, 5}, 3);
    std::vector<double> gradient;
    double loss = 0, weights = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t target = (i * 3 + static_cast<std::size_t>(i < 4 ? shift : 0)) % 5;
      const double weight = ignores && target == 1 ? 0 : has_weights ? 1 + static_cast<double>(target) : 1;
      double sum = 0;
      for (std::size_t j = 0; j < 5; ++j) sum += std::exp(logits[i * 5 + j]);
      for (std::size_t j = 0; j < 5; ++j) {
        const double wanted = (j == target ? 1 - smoothing : 0) + smoothing / 5;
        loss -= weight * wanted * std::log(std::exp(logits[i * 5 + j]) / sum);
        gradient.push_back(weight * (std::exp(logits[i * 5 + j]) / sum - wanted));
      }
      weights += weight;
    }
    for (double& each : gradient) each /= weights;
    Record made(language);
    made.module("fc").tensor(1, "output", "fc", {8, 5}, logits).tensor(1, "loss", "", {}, {loss / weights});
    return made.tensor(1, "output_gradient", "fc", {8, 5}, gradient);
  }
};

TEST_F(ComparePort, TellsOfTheLossWhatTheGradientOfItsInputShows) {
  const Record first = CrossEntropy().record("Python");
  EXPECT_ENDS(compare(first, CrossEntropy{1}.record("C++")), 1, "- other targets: the gradient of the output of 'fc'");
  EXPECT_ENDS(compare(first, CrossEntropy{0, 0.1}.record("C++")), 1, "- label smoothing is 0.1 more in C++");
  EXPECT_ENDS(compare(CrossEntropy{0, 0.2}.record("Python"), CrossEntropy().record("C++")), 1,
              "- label smoothing is 0.2 more in Python");
  EXPECT_ENDS(compare(first, CrossEntropy{0, 0, true}.record("C++")), 1,
              "has a different factor for each sample: weights of classes or samples in only one");
  EXPECT_ENDS(compare(first, CrossEntropy{0, 0, false, true}.record("C++")), 1,
              "- some samples have no part in the loss of C++: ignore_index, or a mask, only there");
  const Finished both = compare(first, CrossEntropy{1, 0.1}.record("C++"));
  // No single reason explains two changes.
  EXPECT_ENDS(both, 1, "what is computed after it (such as a softmax), other targets, or another loss function");
}

/// A reconstruction loss and a KL divergence, and the gradients of the outputs that the two are computed from.
struct Variational {
  double reconstruction = 0.125, divergence = 0.125;  ///< factors of the sums over 8 samples
  bool has_one_output = false, is_detached = false;   ///< the divergence gives no gradient
  Record record(const std::string& language) const {
    Record made(language);
    made.module("encode").module("mean").module("variance").module("decode");
    const std::vector<double> means = drawn({8, 4}, 2), variances = drawn({8, 4}, 3), decoded = drawn({8, 6}, 4);
    std::vector<double> of_means = drawn({8, 4}, 5), of_variances = drawn({8, 4}, 6), of_decoded = drawn({8, 6}, 7);
    double loss = 100 * reconstruction;
    for (std::size_t i = 0; i < means.size(); ++i) {
      const double variance = std::exp(variances[i]);
      loss -= divergence / 2 * (1 + variances[i] - means[i] * means[i] - variance);
      const double pull = is_detached ? 0 : divergence;
      of_means[i] = of_means[i] * reconstruction + pull * means[i];
      of_variances[i] = of_variances[i] * reconstruction + pull / 2 * (variance - 1);
    }
    for (double& each : of_decoded) each *= reconstruction;
    const auto halves = [](const std::vector<double>& one, const std::vector<double>& other) {
      std::vector<double> both;
      for (std::size_t i = 0; i < one.size(); i += 4) {
        both.insert(both.end(), one.begin() + static_cast<std::ptrdiff_t>(i),
                    one.begin() + static_cast<std::ptrdiff_t>(i) + 4);
        both.insert(both.end(), other.begin() + static_cast<std::ptrdiff_t>(i),
                    other.begin() + static_cast<std::ptrdiff_t>(i) + 4);
      }
      return both;
    };
    if (has_one_output) {
      made.tensor(1, "output", "encode", {8, 8}, halves(means, variances));
    } else {
      made.tensor(1, "output", "mean", {8, 4}, means).tensor(1, "output", "variance", {8, 4}, variances);
    }
    made.tensor(1, "output", "decode", {8, 6}, decoded).tensor(1, "loss", "", {}, {loss});
    made.tensor(1, "output_gradient", "decode", {8, 6}, of_decoded);
    if (has_one_output) return made.tensor(1, "output_gradient", "encode", {8, 8}, halves(of_means, of_variances));
    made.tensor(1, "output_gradient", "variance", {8, 4}, of_variances);
    return made.tensor(1, "output_gradient", "mean", {8, 4}, of_means);
  }
};

TEST_F(ComparePort, NamesThePartOfALossWithAnotherReductionOrSign) {
  const auto with = [&](double reconstruction, double divergence, bool has_one_output = false) {
    return compare(Variational{0.125, 0.125, has_one_output}.record("Python"),
                   Variational{reconstruction, divergence, has_one_output}.record("C++"));
  };
  EXPECT_ENDS(
      with(1, 0.125), 1,
      "- the loss has several parts: in one of them, the gradient of the output of 'decode' is 8 times as large in "
      "C++: a sum in place of a mean");
  const std::string two = "- the loss has a KL divergence of the outputs of 'mean' and 'variance' in another way: ",
                    one = "- the loss has a KL divergence of the halves of the output of 'encode' in another way: ";
  for (const bool has_one_output : {false, true}) {
    const std::string& begin = has_one_output ? one : two;
    EXPECT_ENDS(with(0.125, -0.125, has_one_output), 1,
                begin + "its weight in the mean over samples is 2 less in C++, as if it had the opposite sign");
    EXPECT_ENDS(with(0.125, 0, has_one_output), 1,
                begin + "its weight in the mean over samples is 1 less in C++, as if it were missing in one");
    EXPECT_ENDS(with(0.125, 0.0625, has_one_output), 1,
                begin + "its weight in the mean over samples is 0.5 less in C++.");
    EXPECT_ENDS(with(0.125, 1, has_one_output), 1, begin + "a sum in place of a mean");
  }
  EXPECT_ENDS(with(-0.125, -0.125), 1, "- the loss has the opposite sign in C++");
  // Of two changes none is told for the other.
  const Finished both = with(0.3, 0.7);
  EXPECT_EQ(both.output.find("KL"), std::string::npos) << both.output;
}

TEST_F(ComparePort, TellsOfALossThatIsTheSameWhichPartIsDetached) {
  for (const bool has_one_output : {false, true}) {
    const Variational whole{0.125, 0.125, has_one_output}, detached{0.125, 0.125, has_one_output, true};
    for (const bool is_second : {false, true}) {
      const Finished finished =
          compare((is_second ? whole : detached).record("Python"), (is_second ? detached : whole).record("C++"));
      EXPECT_ENDS(finished, 1,
                  std::string("gives no gradient in ") + (is_second ? "C++" : "Python") + ": it is detached there");
      EXPECT_EQ(finished.output.find("its weight"), std::string::npos) << finished.output;
    }
  }
}

/// Steps of a bias before a norm, whose gradient is only rounding errors: the optimizer moves it randomly.
Record moved(const std::string& language, double bias, double loss, int head_gradient, bool has_norm = true) {
  Record record(language);
  record.module("conv", "Conv1d").module("norm", "BatchNorm1d");
  record.tensor(0, "parameter", "conv", {4}, {0.5, -0.4, 0.3, 0.2}, "bias");
  record.tensor(0, "parameter", "norm", {4}, drawn({4}), "weight");
  for (int step = 1; step <= 2; ++step) {
    std::vector<double> output = drawn({8, 4}, step), normalized = drawn({8, 4}, step + 10);
    for (double& value : output) value += step > 1 ? bias : 0;
    for (double& value : normalized) value += step > 1 && !has_norm ? bias : 0;
    record.tensor(step, "output", "conv", {8, 4}, output).tensor(step, "input", "norm", {8, 4}, output);
    record.tensor(step, "output", "norm", {8, 4}, normalized).tensor(step, "loss", "", {}, {step > 1 ? loss : 2.0});
    record.tensor(step, "output_gradient", "norm", {8, 4}, drawn({8, 4}, 20));
    record.tensor(step, "gradient", "conv", {4}, {bias * 1e-7, bias * 1e-7, bias * 1e-7, bias * 1e-7}, "bias");
    record.tensor(step, "gradient", "norm", {4}, drawn({4}, step > 1 ? head_gradient : 30), "weight");
    record.tensor(step, "update", "conv", {4}, {bias, bias, bias, bias}, "bias");
    record.tensor(step, "update", "norm", {4}, drawn({4}, 40), "weight");
  }
  return record;
}

TEST_F(ComparePort, ExcusesWhatRoundingHasMovedAndNothingElse) {
  const Record first = moved("Python", 0.01, 2, 30);
  EXPECT_ENDS(compare(first, moved("C++", -0.01, 2, 30)), 0,
              "2 more differ only by rounding: the gradient of 'conv.bias' is 0 but for rounding");
  EXPECT_ENDS(compare(first, moved("C++", -0.01, 2.01, 30)), 1, "depart in step 2: the loss differs");
  EXPECT_ENDS(compare(first, moved("C++", -0.01, 2, 31)), 1, "depart in step 2: the gradient of 'norm.weight' differs");
}

TEST_F(ComparePort, DoesNotExcuseAnInputThatDiffersByWhatRoundingHasMoved) {
  const auto with = [](const std::string& language, double bias, double more) {
    Record record = moved(language, bias, 2, 30);
    std::vector<double> input = drawn({8, 4}, 50), output = drawn({8, 4}, 2);
    for (double& value : input) value += more;
    for (double& value : output) value += bias + more;
    record.tensor(3, "input", "conv", {8, 4}, input).tensor(3, "output", "conv", {8, 4}, output);
    return record.tensor(3, "loss", "", {}, {2.0});
  };
  const Record first = with("Python", 0.01, 0);
  EXPECT_EQ(compare(first, with("C++", -0.01, 0)).exit_code, 0);
  EXPECT_ENDS(compare(first, with("C++", -0.01, 0.005)), 1, "depart in step 3: the input of 'conv' differs");
}

TEST_F(ComparePort, DoesNotSayThatAllAgreesWhereRoundingHasReachedTheLoss) {
  const Record first = moved("Python", 0.01, 2, 30, false);
  const Finished finished = compare(first, moved("C++", -0.01, 2.01, 30, false));
  EXPECT_ENDS(finished, 2, "agree in 2 steps as far as they can be compared: ");
  EXPECT_ENDS(finished, 2, "Not compared: 1 tensor, the loss in step 2");
  EXPECT_ENDS(compare(first, moved("C++", -0.01, 4, 30, false)), 1, "depart in step 2: the loss differs");
}

}  // namespace
}  // namespace loupe::test
