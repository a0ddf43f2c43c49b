// Sends the golden events to preprocessors through the ABI, and compares all values and summaries.

#include <gtest/gtest.h>
#include <loupe/detail/series.h>
#include <loupe/detail/series_reading.h>
#include <loupe/preprocessor.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <map>
#include <string>

#include "golden/golden_files.h"
#include "loader/catalogue.h"
#include "loader/component_instance.h"
#include "measure/measurer.h"
#include "options/diagnostics.h"

using namespace loupe;
using nlohmann::json;

namespace {

constexpr double tolerance = 1e-5;  // float32 sums

constexpr std::pair<const char*, double> quantiles[] = {{"median", 0.5}, {"Q1", 0.25}, {"Q3", 0.75}};

std::map<std::string, double> numbers_of(const loupe_series& row) {
  return {{"count", static_cast<double>(row.count)},
          {"mean", row.mean},
          {"std", row.standard_deviation},
          {"min", row.minimum},
          {"max", row.maximum}};
}

void expect_near(double actual, double expected, const std::string& what) {
  EXPECT_NEAR(actual, expected, tolerance * std::max(1.0, std::abs(expected))) << what;
}

std::unique_ptr<OptionSet> options_of(const CatalogueEntry& entry, const json& golden, bool inplace) {
  YAML::Node node(YAML::NodeType::Map);
  for (const auto& [name, value] : golden.items()) {
    if (value.is_boolean()) {
      node[name] = value.get<bool>();
    } else if (value.is_number()) {
      node[name] = value.get<double>();
    } else {
      node[name] = value.get<std::string>();
    }
  }
  node["inplace"] = inplace;
  node["quantiles"] = true;
  // These options match the golden files. By default, Loupe divides only by the norms and leaves out the first event.
  if (std::string(entry.component->name).find("geometry") != std::string::npos) {
    node["eps"] = 1e-8;
    node["first"] = true;
  }
  Diagnostics diagnostics("golden");
  auto set = OptionSet::from_yaml(entry.options(), node, entry.component->name, diagnostics);
  if (!diagnostics.empty()) throw std::runtime_error(diagnostics.text());
  return set;
}

class GoldenCase : public ::testing::Test {
 public:
  GoldenCase(json golden, bool inplace) : golden_(std::move(golden)), inplace_(inplace) {}

  void TestBody() override {
    static const Catalogue catalogue = [] {
      Catalogue made;
      made.add_standard_paths();
      return made;
    }();
    const CatalogueEntry* entry = catalogue.find(Kind::preprocessor, golden_.at("preprocessor"));
    ASSERT_NE(entry, nullptr) << "no preprocessor " << golden_["preprocessor"];
    const auto options = options_of(*entry, golden_.at("options"), inplace_);
    const ComponentInstance instance(*entry, options->get(), "the preprocessor under test", nullptr);
    const auto& table = instance.table<loupe_preprocessor>();
    loupe_request request{.struct_size = sizeof(loupe_request)};
    ASSERT_EQ(table.request(instance.self(), &request, nullptr), LOUPE_OK);
    measure::Measurer measurer(request);
    uint64_t number = 0;
    for (const json& event : golden_.at("events")) feed(table, instance.self(), measurer, event, number++);
    ASSERT_FALSE(golden_.at("expected").empty());
    for (const auto& [name, expected] : golden_.at("expected").items()) compare(table, instance.self(), name, expected);
  }

 private:
  static void feed(const loupe_preprocessor& table, void* self, measure::Measurer& measurer, const json& golden,
                   uint64_t number) {
    loupe::testing::check_tensor(golden);
    const auto sizes = golden["shape"].get<std::vector<int64_t>>();
    const auto data = golden["data"].get<std::vector<float>>();
    std::vector<int64_t> strides(sizes.size(), 1);
    for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
    loupe_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype_code = LOUPE_DTYPE_FLOAT;
    tensor.dtype_bits = 32;
    tensor.dtype_lanes = 1;
    tensor.device_type = LOUPE_DEVICE_CPU;
    tensor.data = data.data();
    tensor.sizes = sizes.data();
    tensor.strides = strides.data();
    tensor.dim = static_cast<int64_t>(sizes.size());
    tensor.numel = static_cast<int64_t>(data.size());
    loupe_event event{};
    event.struct_size = sizeof event;
    event.flags = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;
    event.tensor = &tensor;
    const loupe_measurement measurement = measurer.measure(tensor);
    event.measurement = &measurement;
    event.number = number;
    detail::ErrorBuffer error;
    ASSERT_EQ(table.process(self, &event, error.get()), LOUPE_OK) << error.text();
  }

  void compare(const loupe_preprocessor& table, void* self, const std::string& name, const json& expected) const {
    std::size_t series = 0;
    detail::ErrorBuffer error;
    ASSERT_EQ(detail::find_series(table, self, name.c_str(), &series, error.get()), LOUPE_OK) << error.text();
    if (!inplace_) {
      const std::vector<double> values = detail::series_values(table, self, series);
      ASSERT_EQ(values.size(), expected.at("values").size()) << name;
      for (std::size_t i = 0; i < values.size(); ++i)
        expect_near(values[i], expected["values"][i], name + " of event " + std::to_string(i));
    }
    std::map<std::string, double> numbers = numbers_of(detail::series_row(table, self, series));
    for (const auto& [key, q] : quantiles)
      ASSERT_EQ(table.quantiles(self, series, &q, 1, &numbers[key], error.get()), LOUPE_OK) << error.text();
    for (const auto& [key, value] : numbers) {
      ASSERT_TRUE(expected.at("summary").contains(key)) << key;
      expect_near(value, expected["summary"][key], name + " " + key);
    }
  }

  json golden_;
  bool inplace_;
};

class GoldenRunning : public ::testing::Test {
 public:
  explicit GoldenRunning(json golden) : golden_(std::move(golden)) {}
  void TestBody() override {
    Series series;
    for (const double value : golden_.at("values")) series.push(value);
    const json& expected = golden_.contains("expected") ? golden_["expected"] : golden_;
    int compared = 0;
    for (const auto& [key, value] : expected.items()) {
      if (key == "values") continue;
      ++compared;
      if (key == "var") {
        expect_near(series.running().variance(), value, key);
        continue;
      }
      const auto numbers = numbers_of(series.row());
      ASSERT_EQ(numbers.count(key), 1u) << "the golden file has '" << key << "', which the test does not compare";
      expect_near(numbers.at(key), value, key);
    }
    EXPECT_GT(compared, 0);
  }

 private:
  json golden_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const std::string& suite, const json& golden) {
    int count = 0;
    for (const json& each : golden.at("cases")) {
      const std::string name = each.at("preprocessor").get<std::string>() + "/" + std::to_string(count++);
      for (const bool inplace : {true, false}) {
        ::testing::RegisterTest(suite.c_str(), (name + (inplace ? "/inplace" : "/memory")).c_str(), nullptr, nullptr,
                                __FILE__, __LINE__,
                                [each, inplace]() -> ::testing::Test* { return new GoldenCase(each, inplace); });
      }
    }
    if (golden.contains("running")) {
      ++count;
      ::testing::RegisterTest(
          suite.c_str(), "running", nullptr, nullptr, __FILE__, __LINE__,
          [running = golden["running"]]() -> ::testing::Test* { return new GoldenRunning(running); });
    }
    return count;
  };
  return loupe::testing::run_golden(argc, argv, "preprocessors-", add);
}
