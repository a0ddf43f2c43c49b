// Tests of every built-in preprocessor: its series have the declared names, and a run that is split in two, saved and
// merged equals the unsplit run.

#include <gtest/gtest.h>
#include <loupe/detail/series_reading.h>
#include <loupe/error.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <iterator>
#include <map>
#include <random>
#include <utility>

#include "built_in.h"
#include "loader/component_instance.h"
#include "options/diagnostics.h"
#include "options/option_set.h"
#include "services.h"

namespace loupe {
namespace {

constexpr std::size_t events = 101;  // odd, so that the halves differ

/// A matrix of 2 by 2 with made-up measurements, which depend on `number` only.
class MadeUp {
 public:
  explicit MadeUp(std::size_t number) {
    std::mt19937 random(static_cast<unsigned>(number) + 1);
    std::lognormal_distribution<double> any(0, 1);
    for (float& value : values_) value = static_cast<float>(any(random));
    tensor_.struct_size = sizeof tensor_;
    tensor_.dtype_code = LOUPE_DTYPE_FLOAT;
    tensor_.dtype_bits = 32;
    tensor_.dtype_lanes = 1;
    tensor_.device_type = LOUPE_DEVICE_CPU;
    tensor_.data = values_;
    tensor_.sizes = sizes_;
    tensor_.strides = strides_;
    tensor_.dim = 2;
    tensor_.numel = 4;

    measurement_.struct_size = sizeof measurement_;
    measurement_.measures = ~0U;
    measurement_.numel = number % 2 == 0 ? 1 : 4;  // a loss has one element
    measurement_.nan_count = number % 17 == 3;
    measurement_.inf_count = number % 23 == 5;
    for (double* number_of :
         {&measurement_.sum, &measurement_.sum_squares, &measurement_.sample_norm_sum, &measurement_.dot_previous,
          &measurement_.previous_sum_squares, &measurement_.change_sum_squares, &measurement_.dot_change,
          &measurement_.previous_change_sum_squares})
      *number_of = any(random);
    measurement_.active_count = static_cast<int64_t>(random() % 5);
    measurement_.unit_count = 4;
    measurement_.dead_unit_count = static_cast<int64_t>(random() % 5);
    measurement_.sample_count = 2;
    // Both halves belong to one stream: the second half has a value before its first.
    measurement_.flags = number > 0 ? LOUPE_MEASUREMENT_HAS_PREVIOUS | LOUPE_MEASUREMENT_HAS_CHANGE : 0;
    for (uint64_t& bin : bins_) bin = random() % 10;
    measurement_.bins = bins_;
    measurement_.bin_edges = edges_;
    measurement_.bin_count = 3;

    event_.struct_size = sizeof event_;
    event_.flags = (number % 3 != 0 ? LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED : 0U) |
                   (number % 4 == 0 ? uint32_t{LOUPE_EVENT_LOSS} : 0U);
    event_.label = number % 5 < 2 ? "accuracy" : "loss";
    event_.number = number;
    event_.scalar = any(random);
    event_.tensor = &tensor_;
    event_.measurement = &measurement_;
  }
  MadeUp(const MadeUp&) = delete;
  MadeUp& operator=(const MadeUp&) = delete;

  loupe_event& event() { return event_; }
  loupe_measurement& measurement() { return measurement_; }

 private:
  float values_[4] = {};
  int64_t sizes_[2] = {2, 2}, strides_[2] = {2, 1};
  uint64_t bins_[3] = {};
  double edges_[4] = {-INFINITY, -1, 1, INFINITY};
  loupe_tensor tensor_{};
  loupe_measurement measurement_{};
  loupe_event event_{};
};

/// One instance of a built-in preprocessor.
class Folded {
 public:
  Folded(const CatalogueEntry& entry, const std::string& yaml)
      : name_(entry.component->name),
        options_(read(entry, yaml)),
        instance_(entry, options_->get(), "the preprocessor", nullptr) {}

  void see(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      MadeUp made(i);
      if (name_ == "loss_module") made.measurement().numel = 1;
      check(table().process(self(), &made.event(), error_.get()));
    }
  }
  std::string state() {
    std::string bytes;
    const loupe_write append = [](void* to, const void* piece, std::size_t size, loupe_error*) -> loupe_status {
      static_cast<std::string*>(to)->append(static_cast<const char*>(piece), size);
      return LOUPE_OK;
    };
    check(table().save_state(self(), append, &bytes, error_.get()));
    return bytes;
  }
  /// The status and the message of saving a state if the writer fails.
  std::pair<loupe_status, std::string> try_state() {
    const loupe_write refuse = [](void*, const void*, std::size_t, loupe_error* error) -> loupe_status {
      detail::write_error(error, "the disk is full");
      return LOUPE_INVALID;
    };
    const loupe_status status = table().save_state(self(), refuse, nullptr, error_.get());
    return {status, error_.text()};
  }
  void merge(const std::string& bytes) { check(try_merge(bytes)); }
  loupe_status try_merge(const std::string& bytes) {
    return table().merge_state(self(), bytes.data(), bytes.size(), error_.get());
  }
  void reset() { check(table().reset(self(), error_.get())); }
  loupe_request request() {
    loupe_request request{};
    request.struct_size = sizeof request;
    check(table().request(self(), &request, error_.get()));
    return request;
  }

  std::vector<std::string> series() { return detail::series_names(table(), self()); }
  /// The numbers of each series with values, by "name number"; quantiles if they are kept.
  std::map<std::string, double> numbers() {
    std::map<std::string, double> numbers;
    for (std::size_t i = 0; i < table().series_count(self()); ++i) {
      const loupe_series row = detail::series_row(table(), self(), i);
      const std::string name = row.name + std::string(" ");
      if (row.count + row.nan_count + row.inf_count == 0) continue;
      numbers[name + "count"] = static_cast<double>(row.count);
      numbers[name + "nan_count"] = static_cast<double>(row.nan_count);
      numbers[name + "inf_count"] = static_cast<double>(row.inf_count);
      numbers[name + "sum"] = row.sum;
      numbers[name + "mean"] = row.mean;
      numbers[name + "standard_deviation"] = row.standard_deviation;
      numbers[name + "minimum"] = row.minimum;
      numbers[name + "maximum"] = row.maximum;
      numbers[name + "last"] = row.last;
      const double q[] = {0.25, 0.5, 0.75};
      double values[] = {0, 0, 0};
      if (table().quantiles(self(), i, q, std::size(q), values, error_.get()) != LOUPE_OK) continue;
      for (std::size_t k = 0; k < std::size(q); ++k) numbers[name + std::to_string(q[k])] = values[k];
    }
    return numbers;
  }
  std::map<std::string, std::vector<double>> values() {
    std::map<std::string, std::vector<double>> all;
    const std::vector<std::string> names = series();
    for (std::size_t i = 0; i < names.size(); ++i) {
      try {
        all[names[i]] = detail::series_values(table(), self(), i);
      } catch (const Error&) {  // this series keeps no values
      }
    }
    return all;
  }

 private:
  static std::unique_ptr<OptionSet> read(const CatalogueEntry& entry, const std::string& yaml) {
    Diagnostics diagnostics("test");
    auto options = OptionSet::from_yaml(entry.options(), YAML::Load(yaml), entry.component->name, diagnostics);
    EXPECT_TRUE(diagnostics.empty()) << diagnostics.messages();
    return options;
  }
  void check(loupe_status status) { error_.check(status); }
  const loupe_preprocessor& table() const { return instance_.table<loupe_preprocessor>(); }
  void* self() const { return instance_.self(); }

  std::string name_;
  std::unique_ptr<OptionSet> options_;
  ComponentInstance instance_;
  detail::ErrorBuffer error_;
};

void expect_same(Folded& merged, Folded& whole) {
  EXPECT_EQ(merged.series(), whole.series());
  const auto got = merged.numbers(), wanted = whole.numbers();
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [name, number] : wanted) {
    ASSERT_EQ(got.count(name), 1u) << name;
    if (std::isnan(number)) {
      EXPECT_TRUE(std::isnan(got.at(name))) << name;
    } else {
      EXPECT_NEAR(got.at(name), number, 1e-12 * std::max(1.0, std::fabs(number))) << name;
    }
  }
  EXPECT_EQ(merged.values(), whole.values());
}

class EveryPreprocessor : public testing::Test {
 protected:
  EveryPreprocessor() { offer_services(); }
  /// Calls `use(entry, yaml)` for each preprocessor and each way in which it keeps its numbers.
  template <class Use>
  static void each(Use&& use) {
    std::size_t count = 0;
    for (const CatalogueEntry& entry : built_in().entries()) {
      if (entry.kind != Kind::preprocessor) continue;
      ++count;
      std::vector<std::string> ways = {"{}"};
      for (const char* way : {"inplace", "quantiles"}) {
        for (const loupe_option* option : entry.options()) {
          if (option->name == std::string(way)) ways.push_back(way + std::string(way[0] == 'i' ? ": false" : ": true"));
        }
      }
      for (const std::string& yaml : ways) {
        SCOPED_TRACE(entry.component->name + std::string(" with ") + yaml);
        use(entry, yaml);
      }
    }
    EXPECT_GE(count, 11u);
  }
};

TEST_F(EveryPreprocessor, SplitInTwoAndMergedEqualsTheUnsplitRun) {
  each([](const CatalogueEntry& entry, const std::string& yaml) {
    Folded whole(entry, yaml), first(entry, yaml), second(entry, yaml);
    whole.see(0, events);
    first.see(0, events / 2);
    second.see(events / 2, events);
    first.merge(second.state());
    ASSERT_FALSE(whole.numbers().empty());
    expect_same(first, whole);
    first.reset();
    whole.reset();
    first.see(0, 10);
    whole.see(0, 10);
    EXPECT_EQ(first.numbers().size(), whole.numbers().size());
  });
}

TEST_F(EveryPreprocessor, MergesWithAnEmptyState) {
  each([](const CatalogueEntry& entry, const std::string& yaml) {
    Folded whole(entry, yaml), merged(entry, yaml), empty(entry, yaml);
    whole.see(0, events);
    merged.see(0, events);
    merged.merge(empty.state());
    expect_same(merged, whole);
    empty.merge(whole.state());
    expect_same(empty, whole);
  });
}

TEST_F(EveryPreprocessor, PassesOnWhatAWriterThatTakesNoMoreSays) {
  each([](const CatalogueEntry& entry, const std::string& yaml) {
    Folded folded(entry, yaml);
    folded.see(0, events);
    EXPECT_EQ(folded.try_state(), std::pair(loupe_status{LOUPE_INVALID}, std::string("the disk is full")));
  });
}

TEST_F(EveryPreprocessor, RefusesBytesOfOtherKindsAndStaysUnchanged) {
  each([](const CatalogueEntry& entry, const std::string& yaml) {
    Folded whole(entry, yaml), tried(entry, yaml);
    whole.see(0, events);
    tried.see(0, events);
    const std::string state = whole.state();
    for (std::size_t size = 0; size < state.size(); size += size < 64 ? 1 : 97) {
      EXPECT_EQ(tried.try_merge(state.substr(0, size)), LOUPE_INVALID) << size;
    }
    EXPECT_EQ(tried.try_merge(state + "x"), LOUPE_INVALID);
    EXPECT_EQ(tried.try_merge("\x7f" + state.substr(1)), LOUPE_INVALID);
    expect_same(tried, whole);
  });
}

TEST_F(EveryPreprocessor, HasTheDeclaredSeries) {
  each([](const CatalogueEntry& entry, const std::string& yaml) {
    Folded folded(entry, yaml);
    folded.see(0, events);
    const std::vector<std::string> given = given_names(*entry.component);
    const std::vector<std::string> series = folded.series();
    for (const std::string& name : series) EXPECT_TRUE(is_given(name, given)) << name;
    if (given.empty() || given[0][0] != '{') {
      EXPECT_EQ(series, given);
    }
  });
}

TEST_F(EveryPreprocessor, RequestsOnlyWhatItNeeds) {
  struct Asked {
    const char *preprocessor, *yaml;
    uint32_t measures, flags;
  };
  for (const Asked& asked :
       {Asked{"gradient_geometry", "{correlation: false}", LOUPE_MEASURE_SUMS, LOUPE_REQUEST_SPARSE},
        Asked{"output_gradient_geometry", "{correlation: false}", LOUPE_MEASURE_SUMS, LOUPE_REQUEST_SPARSE},
        Asked{"parameter_difference_geometry", "{correlation: false}", LOUPE_MEASURE_CHANGE, 0},
        Asked{"parameter_condition", "{}", 0, LOUPE_REQUEST_TENSORS}}) {
    const loupe_request request =
        Folded(*built_in().find(Kind::preprocessor, asked.preprocessor), asked.yaml).request();
    EXPECT_EQ(request.measures, asked.measures) << asked.preprocessor;
    EXPECT_EQ(request.flags & ~uint32_t{LOUPE_REQUEST_UNITS}, asked.flags) << asked.preprocessor;
  }
}

TEST(EveryGatherer, LetsTheHostPassEventsOnUnlessItFiltersThem) {
  for (const CatalogueEntry& entry : built_in().entries()) {
    if (entry.kind != Kind::gatherer) continue;
    const bool has_event = static_cast<const loupe_gatherer*>(entry.component->table)->event != nullptr;
    EXPECT_EQ(has_event, std::string(entry.component->name) == LOUPE_GATHER_ATTRIBUTE) << entry.component->name;
  }
}

}  // namespace
}  // namespace loupe
