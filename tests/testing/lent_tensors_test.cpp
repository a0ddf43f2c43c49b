// A component may pass on another tensor instead of a lent one, but must not write to the lent one.

#include <gtest/gtest.h>
#include <loupe/plugin.h>
#include <loupe/testing.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

namespace lt = loupe::testing;
using lt::Bench;
using lt::tensor;

float* elements_of(const loupe_tensor& tensor) {
  return static_cast<float*>(const_cast<void*>(tensor.data));
}

/// Passes on half of each output, with an invalid measurement.
class Halving : public loupe::Gatherer {
 public:
  static constexpr const char* name = "halving";
  static constexpr const char* help = "half of the output";
  static std::vector<loupe::Option> options() { return {{"in_place", false, "halve the output itself"}}; }
  explicit Halving(const loupe::Options& options) : is_in_place_(options.get<bool>("in_place")) {}
  void open(const std::optional<loupe::Module>&, const char*) override { subscribe(LOUPE_TAP_FORWARD); }
  void event(const loupe::Event& event) override {
    const loupe_tensor& given = *event.tensor().raw();
    float* const lent = elements_of(given);
    halves_.resize(static_cast<std::size_t>(given.numel));
    float* const halves = is_in_place_ ? lent : halves_.data();
    for (std::size_t i = 0; i < halves_.size(); ++i) halves[i] = lent[i] / 2;
    loupe_tensor mine = given;
    mine.data = halves;
    loupe_measurement wrong{.struct_size = sizeof(loupe_measurement), .measures = LOUPE_MEASURE_SUMS, .sum = -1};
    loupe_event out = *event.raw();
    out.tensor = &mine;
    out.measurement = &wrong;
    emit(out);
  }

 private:
  bool is_in_place_;
  std::vector<float> halves_;
};

class Sum : public loupe::Preprocessor {
 public:
  static constexpr const char* name = "sum";
  static constexpr const char* help = "the sum of the elements";
  static std::vector<loupe::Option> options() { return {{"writes", -1, "set the element of this number to 0"}}; }
  explicit Sum(const loupe::Options& options) : writes_(options.get<int>("writes")) {}
  loupe::Request request() const override {
    loupe::Request request;
    request.measures = LOUPE_MEASURE_SUMS;
    request.wants_tensor = true;
    return request;
  }
  void process(const loupe::Event& event) override {
    sum_.push(event.measurement().sum);
    if (writes_ >= 0) elements_of(*event.tensor().raw())[writes_] = 0;
  }

 private:
  int writes_;
  loupe::Series& sum_ = add_series("sum");
};

/// Copies the tensor into a buffer for two elements; shows their sum, and the reported number of elements.
class FirstTwo : public loupe::Preprocessor {
 public:
  static constexpr const char* name = "first_two";
  static constexpr const char* help = "the first two elements";
  static std::vector<loupe::Option> options() { return {}; }
  FirstTwo(const loupe::Options&, const loupe::Host& host) : host_(host) {}
  loupe::Request request() const override {
    loupe::Request request;
    request.wants_tensor = true;
    return request;
  }
  void process(const loupe::Event& event) override {
    double values[] = {0, 0, 100};
    std::size_t count = 0;
    loupe::detail::ErrorBuffer error;
    error.check(host_.tensors().copy(host_.context(), event.tensor().raw(), values, 2, &count, error.get()));
    sum_.push(values[0] + values[1] + values[2] - 100);
    count_.push(static_cast<double>(count));
  }

 private:
  loupe::Host host_;
  loupe::Series &sum_ = add_series("sum"), &count_ = add_series("count");
};

LOUPE_STATIC_PLUGIN(lent_plugin, "lent", "1.0", Halving, Sum, FirstTwo);

std::string piped(const std::string& gatherer, const std::string& more = "") {
  return "lenses: [pipeline: {gather: " + gatherer + ", preprocess: sum, tag: \"{series}\", range: none" + more + "}]";
}

/// Runs `yaml` on one output. Returns whether the lens was disabled for writing to it.
bool is_caught(const std::string& yaml) {
  Bench bench(yaml, {}, {&lent_plugin});
  bench.forward(bench.module("fc1", "Linear"), tensor({1, 2, 6}, {1, 3}));
  const std::vector<std::string> lines = bench.log();
  return bench.is_quarantined("pipeline") && std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
           return line.find("it wrote to a lent tensor, which changes training") != std::string::npos;
         });
}

TEST(LentTensors, ThatAGathererCreatedAreMeasuredInsteadOfTheReceived) {
  Bench bench(piped("halving"), {}, {&lent_plugin});
  bench.forward(bench.module("fc1", "Linear"), tensor({1, 2, 6}, {1, 3}));
  bench.tick();
  EXPECT_EQ(bench.value("Sum", "fc1", "mean"), 4.5);
}

TEST(LentTensors, AreNotWrittenToByAPreprocessor) {
  EXPECT_TRUE(is_caught(piped("forward", ", preprocessor_options: {writes: 1}")));
}

TEST(LentTensors, AreNotWrittenToByAGatherer) {
  EXPECT_TRUE(is_caught(piped("halving", ", gatherer_options: {in_place: true}")));
}

TEST(LentTensors, MayBeRead) {
  EXPECT_FALSE(is_caught(piped("forward")));
  EXPECT_FALSE(is_caught(piped("halving")));
}

TEST(LentTensors, AreCopiedAsFarAsTheBufferReaches) {
  Bench bench("lenses: [pipeline: {gather: forward, preprocess: first_two, tag: \"{series}\", range: none}]", {},
              {&lent_plugin});
  bench.forward(bench.module("fc1", "Linear"), tensor({1, 2, 6}, {1, 3}));
  bench.tick();
  EXPECT_EQ(bench.value("Sum", "fc1", "mean"), 3);
  EXPECT_EQ(bench.value("Count", "fc1", "mean"), 3);
}

}  // namespace
