// Tests of the comparisons within one step: each has a case that it must report, and a healthy twin.

#include "health/rules/passing.h"

#include <gtest/gtest.h>
#include <loupe/draft/abi/loss_input.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "health/judged.h"

namespace loupe::health {
namespace {

using testing::JudgedFindings;
using Sizes = std::vector<int64_t>;

/// A tensor that owns its elements.
template <class T>
class Made {
 public:
  Made(std::vector<T> values, Sizes sizes) : values_(std::move(values)), sizes_(std::move(sizes)) {
    strides_.assign(sizes_.size(), 1);
    for (std::size_t d = sizes_.size() - 1; d > 0; --d) strides_[d - 1] = strides_[d] * sizes_[d];
    tensor_.struct_size = sizeof tensor_;
    tensor_.dtype_code = std::is_floating_point_v<T> ? LOUPE_DTYPE_FLOAT : LOUPE_DTYPE_INT;
    tensor_.dtype_bits = 8 * sizeof(T);
    tensor_.dtype_lanes = 1;
    tensor_.device_type = LOUPE_DEVICE_CPU;
    tensor_.data = values_.data();
    tensor_.sizes = sizes_.data();
    tensor_.strides = strides_.data();
    tensor_.dim = static_cast<int64_t>(sizes_.size());
    tensor_.numel = static_cast<int64_t>(values_.size());
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  Elements elements() const { return Elements(&tensor_); }

 private:
  std::vector<T> values_;
  Sizes sizes_, strides_;
  loupe_tensor tensor_{};
};
using Floats = Made<float>;
using Words = Made<int64_t>;

/// A number that differs from place to place, without a period.
float any(int64_t place) {
  return std::sin(static_cast<float>(place * place % 9973) * 1.7F);
}
std::vector<float> numbers(int64_t count, const std::function<float(int64_t)>& at = any) {
  std::vector<float> values;
  for (int64_t place = 0; place < count; ++place) values.push_back(at(place));
  return values;
}

/// The findings of a rule about a model, from the look with this number.
std::vector<Finding> said(const char* rule, Model& model, std::size_t look = 0, Passes* passes = nullptr,
                          const std::function<void(Situation&)>& change = {}) {
  JudgedFindings judged;
  Situation now{.model = &model, .passes = passes};
  if (change) change(now);
  rule_named(rule).looks[look].judge(judged.judge(rule), now);
  return judged.findings;
}

// Comparing targets with inputs.

constexpr uint32_t mse = LOUPE_DRAFT_LOSS_MSE;

/// Compares batches of 32 rows; `target` computes a target from the number of a row's first element.
SameColumns compared(const Sizes& sizes, int64_t width, const std::function<float(int64_t first, int64_t i)>& target,
                     int looks = 8) {
  SameColumns same;
  const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  for (int look = 0; look < looks; ++look) {
    const int64_t begin = look * count;
    const Floats input(numbers(count, [&](int64_t place) { return any(begin + place); }), sizes);
    const int64_t columns = count / sizes[0];
    std::vector<float> targets;
    for (int64_t row = 0; row < sizes[0]; ++row) {
      for (int64_t i = 0; i < width; ++i) targets.push_back(target(begin + row * columns, i));
    }
    const Floats given(targets, {sizes[0], width});
    KeptInput kept;
    kept.take(input.elements());
    same.take(kept, given.elements(), mse);
  }
  return same;
}

std::string said_of(const SameColumns& same) {
  Model model("");
  model.passing.same = same;
  const auto findings = said("target_in_input", model, 1);
  return findings.empty() ? ""
                          : word_of(severity_words, findings[0].severity) + std::string(": ") + findings[0].message;
}

TEST(SameColumns, FindAColumnThatIsTheTargetInAllRows) {
  const std::string found = said_of(compared({32, 6}, 1, [](int64_t first, int64_t) { return any(first + 3); }));
  EXPECT_NE(found.find("warning: the target is column 4 of the 6"), std::string::npos) << found;
  EXPECT_EQ(said_of(compared({32, 6}, 1, [](int64_t first, int64_t) { return any(first + 3) + 1e-3F; })), "");
}

TEST(SameColumns, NeedEnoughRows) {
  EXPECT_EQ(said_of(compared(
                {32, 6}, 1, [](int64_t first, int64_t) { return any(first + 3); }, 7)),
            "");
}

TEST(SameColumns, IgnoreAConstant) {
  SameColumns same;
  const Floats input(numbers(512, [](int64_t) { return 0.0F; }), {256, 2}),
      target(numbers(256, [](int64_t) { return 0.0F; }), {256});
  KeptInput kept;
  kept.take(input.elements());
  same.take(kept, target.elements(), mse);
  EXPECT_EQ(said_of(same), "");
}

TEST(SameColumns, FindTheLastTimeStep) {
  const std::string found =
      said_of(compared({32, 5, 2}, 2, [](int64_t first, int64_t i) { return any(first + 8 + i); }));
  EXPECT_NE(found.find("time step 5 of 5, the last"), std::string::npos) << found;
}

TEST(SameColumns, FindATargetThatBeginsBeforeTheInputEnds) {
  const auto overlapping = [](int64_t by) {
    return said_of(compared({32, 12}, 4, [by](int64_t first, int64_t i) {
      return i < by ? any(first + 12 - by + i) : any(first + 7777 + i);
    }));
  };
  EXPECT_NE(overlapping(1).find("the first 1 of the 4 targets"), std::string::npos) << overlapping(1);
  EXPECT_EQ(overlapping(0), "");
  EXPECT_EQ(overlapping(3), "") << "the model forecasts one more step of its input";
}

TEST(SameColumns, AreAnInfoIfTheModelReproducesItsInput) {
  SameColumns same = compared({32, 6}, 6, [](int64_t first, int64_t i) { return any(first + i); });
  same.narrowest = 8;
  EXPECT_NE(said_of(same).find("info: the target is the whole input"), std::string::npos) << said_of(same);
  same.narrowest = 3;
  EXPECT_EQ(said_of(same), "") << "an auto-encoder";
  same.narrowest = 8;
  same.drops = true;
  EXPECT_EQ(said_of(same), "");
}

TEST(SameColumns, AreFoundIfTimeIsTheFirstDimension) {
  constexpr int64_t times = 5, samples = 64;
  SameColumns same;
  for (int look = 0; look < 4; ++look) {
    const Floats input(numbers(times * samples, [&](int64_t place) { return any(1000 * look + place); }),
                       {times, samples, 1}),
        target(numbers(samples, [&](int64_t row) { return any(1000 * look + 4 * samples + row); }), {samples, 1});
    KeptInput kept;
    kept.take(input.elements());
    same.take(kept, target.elements(), mse);
  }
  EXPECT_NE(said_of(same).find("time step 5 of 5, the last"), std::string::npos) << said_of(same);
}

/// Random words, whose target is the input at `from + t`, for `length` places of 16.
TokenShift shifted(int64_t from, int64_t length, int64_t cut, double share_of_guess = 1, bool is_ignored = false) {
  constexpr int64_t rows = 16, whole = 16, classes = 9;
  const auto word = [](int64_t row, int64_t t) { return (row * 31 + t * t * 7 + t * row * 3) % classes; };
  TokenShift shift;
  for (int64_t look = 0; look < 3; ++look) {
    std::vector<int64_t> words, targets;
    std::vector<float> outputs = numbers(rows * whole * classes), scores;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t t = 0; t < whole; ++t) words.push_back(word(row + look, t));
      for (int64_t t = 0; t < length; ++t) {
        const bool is_out = is_ignored && t % 2 == 0;
        targets.push_back(is_out ? -100 : word(row + look, from + t));
        for (int64_t c = 0; c < classes; ++c)
          scores.push_back(outputs[static_cast<std::size_t>((row * whole + t + cut) * classes + c)]);
      }
    }
    const Words input(words, {rows, whole}), target(targets, {rows * length});
    const Floats output(outputs, {rows, whole, classes}), given(scores, {rows * length, classes});
    KeptInput kept;
    kept.take(input.elements());
    shift.take_output(output.elements());
    shift.take(kept, given.elements(), target.elements(), share_of_guess);
  }
  return shift;
}

std::string said_of(const TokenShift& shift) {
  Model model("");
  model.passing.shift = shift;
  const auto findings = said("target_in_input", model);
  return findings.empty() ? "" : findings[0].message;
}

TEST(TokenShift, IsTwoIfTargetsAreShiftedTwice) {
  const std::string found = said_of(shifted(2, 15, 0));
  EXPECT_NE(found.find("shifted by 2 positions"), std::string::npos) << found;
  EXPECT_NE(said_of(shifted(2, 15, 0, 1, /*is_ignored=*/true)), "");
}

TEST(TokenShift, IsSilentForTheNextWord) {
  EXPECT_EQ(said_of(shifted(1, 15, 0)), "");
  EXPECT_EQ(said_of(shifted(1, 16, 0)), "");
}

TEST(TokenShift, CountsFromWhereTheScoresBegin) {
  EXPECT_EQ(said_of(shifted(2, 14, 1)), "") << "the loss leaves the first place out";
}

TEST(TokenShift, IsFoundIfTimeIsTheFirstDimension) {
  const auto said_of_time_first = [](int64_t moved) {
    TokenShift shift;
    for (int64_t look = 0; look < 3; ++look) {
      std::vector<int64_t> words, targets;
      const auto word = [&](int64_t row, int64_t t) { return (row * 31 + t * t * 7 + t * row * 3 + look) % 11; };
      for (int64_t t = 0; t < 16; ++t) {
        for (int64_t row = 0; row < 8; ++row) words.push_back(word(row, t)), targets.push_back(word(row, t + moved));
      }
      KeptInput kept;
      kept.take(Words(words, {16, 8}).elements());
      shift.take(kept, Floats(numbers(128 * 11), {128, 11}).elements(), Words(targets, {128}).elements(), 0.5);
    }
    return said_of(shift);
  };
  EXPECT_NE(said_of_time_first(2).find("shifted by 2 positions"), std::string::npos) << said_of_time_first(2);
  EXPECT_EQ(said_of_time_first(1), "");
}

TEST(TokenShift, IsNotReportedIfAnotherLossLearnsTheNextWord) {
  TokenShift shift = shifted(2, 15, 0);
  shift.takes_next = true;
  EXPECT_EQ(said_of(shift), "");
}

TEST(TokenShift, IsZeroForAModelThatCopiesItsInput) {
  TokenShift shift = shifted(0, 16, 0, 0.001);
  EXPECT_EQ(said_of(shift), "") << "the model may see the whole text, like an auto-encoder";
  shift.is_causal = true;
  EXPECT_NE(said_of(shift).find("has learned to copy"), std::string::npos);
  shift.sees_all = true;
  EXPECT_EQ(said_of(shift), "");
  TokenShift hard = shifted(0, 16, 0, 0.5);
  hard.is_causal = true;
  EXPECT_EQ(said_of(hard), "");
}

// Inputs of loss functions.

bool is_wrong(const std::vector<float>& targets, int looks = 3) {
  Model model("");
  for (int look = 0; look < looks; ++look)
    model.passing.targets.take(Floats(targets, {static_cast<int64_t>(targets.size())}).elements(), "bce");
  return !said("target_range", model).empty();
}

TEST(TargetRange, IsFromZeroToOne) {
  EXPECT_FALSE(is_wrong({0, 1, 0.5, 1}));
  EXPECT_TRUE(is_wrong({0, 255, 0, 255}));
  EXPECT_TRUE(is_wrong({-1, 1, -1, 1}));
  EXPECT_TRUE(is_wrong({1, 2, 2, 1}));
  EXPECT_TRUE(is_wrong({0, 1, 2, 3})) << "numbers of classes";
  EXPECT_FALSE(is_wrong({0, 255, 0, 255}, 2)) << "too early";
}

TEST(TargetRange, IgnoresValuesThatMayBeAMask) {
  EXPECT_FALSE(is_wrong({0, 1, 255, 1}));
  EXPECT_FALSE(is_wrong({0, 1, -1, 1}));
}

/// Whether the rule reports a model whose scores are `right` for the correct one of 32 classes, and noise otherwise.
bool is_bounded(float right, double loss, int epochs = 3) {
  constexpr int64_t rows = 32, classes = 32;
  Model model("");
  bool any_said = false;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int look = 0; look < 4; ++look) {
      std::vector<float> scores = numbers(rows * classes, [](int64_t place) { return 0.3F * any(place); });
      for (std::size_t row = 0; row < rows; ++row) scores[row * classes + row] = right;
      model.passing.scores.take(Floats(scores, {rows, classes}).elements(), loss, rows, right > 0 ? rows : 0);
    }
    any_said = any_said || !said("bounded_scores", model).empty();
  }
  return any_said;
}

TEST(BoundedScores, AreRightAndKeepTheLossHigh) {
  EXPECT_TRUE(is_bounded(0.97F, 2.6));
  EXPECT_FALSE(is_bounded(0.97F, 2.6, 2)) << "two epochs may be a beginning";
  EXPECT_FALSE(is_bounded(4.F, 2.6)) << "the scores are not bounded";
  EXPECT_FALSE(is_bounded(-0.97F, 2.6)) << "the model has not learned yet";
}

bool is_misread(const std::vector<float>& values) {
  Model model("");
  for (int look = 0; look < 2; ++look)
    model.passing.range.take(Floats(values, {static_cast<int64_t>(values.size())}).elements());
  return !said("misread_input", model).empty();
}

TEST(InputRange, IsReportedForMisreadNumbers) {
  std::vector<float> values = numbers(64);
  EXPECT_FALSE(is_misread(values));
  values[5] = 0;
  EXPECT_FALSE(is_misread(values));
  values[5] = 3e33F;
  EXPECT_TRUE(is_misread(values));
  EXPECT_TRUE(is_misread(numbers(64, [](int64_t place) { return static_cast<float>(place) * 1.4e-45F; })));
}

/// A layer of this type, as the host shows it.
struct Shown {
  explicit Shown(const char* type, uint32_t family = LOUPE_FAMILY_OTHER) {
    raw.struct_size = sizeof raw;
    raw.family = family;
    raw.name = raw.path = "inner";
    raw.type = raw.full_type = type;
    raw.settings = "";
  }
  loupe_module raw{};
  Layer layer() const { return Layer(Module(&raw)); }
};

TEST(TinyInput, IsReportedIfTheLossStays) {
  const Shown linear("Linear", LOUPE_FAMILY_LINEAR), norm("LayerNorm", LOUPE_FAMILY_NORMALIZATION);
  const auto tells = [](double largest, bool is_stuck, const Shown& shown) {
    Model model("");
    const Layer first = shown.layer();
    model.first_layer = &first;
    model.passing.range.largest = largest;
    return !said("tiny_input", model, 0, nullptr, [&](Situation& now) { now.is_stuck = is_stuck; }).empty();
  };
  EXPECT_TRUE(tells(0.004, true, linear));
  EXPECT_FALSE(tells(0.004, false, linear));
  EXPECT_FALSE(tells(1, true, linear)) << "one-hot";
  EXPECT_FALSE(tells(0.004, true, norm));
}

// Softmax over a dimension.

/// Random weights that sum to 1 over each row, or over each column.
std::vector<float> softmax(int64_t rows, int64_t columns, float sharpness, bool over_rows = false) {
  std::vector<float> values = numbers(rows * columns, [&](int64_t place) {
    const bool is_chosen = place % columns == place / columns % columns;
    return std::exp(any(place) + (is_chosen ? sharpness : 0.F));
  });
  const int64_t lines = over_rows ? columns : rows, length = over_rows ? rows : columns;
  for (int64_t line = 0; line < lines; ++line) {
    const auto at = [&](int64_t i) -> float& {
      return values[static_cast<std::size_t>(over_rows ? i * columns + line : line * columns + i)];
    };
    float sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += at(i);
    for (int64_t i = 0; i < length; ++i) at(i) /= sum;
  }
  return values;
}

bool goes_over_batch(const Sizes& sizes, bool over_rows, int64_t targets, int steps = 3, bool is_same_input = false) {
  const Shown shown("softmax");
  const Layer layer = shown.layer();
  Model model("");
  bool any_said = false;
  for (int step = 0; step < steps; ++step) {
    const int64_t columns = std::accumulate(sizes.begin() + 1, sizes.end(), int64_t{1}, std::multiplies<>());
    model.passing.softmax.take(layer, Floats(softmax(sizes[0], columns, 1, over_rows), sizes).elements());
    model.step.input_rows = sizes[0];
    model.step.targets = targets;
    model.step.input.is_known = is_same_input;
    any_said = any_said || !said("softmax_dimension", model).empty();
    model.next_step();
  }
  return any_said;
}

TEST(SoftmaxLook, FindsASoftmaxOverTheSamples) {
  EXPECT_TRUE(goes_over_batch({20, 12}, true, 20));
  EXPECT_FALSE(goes_over_batch({20, 12}, true, 20, 2)) << "too early";
  EXPECT_FALSE(goes_over_batch({20, 12}, false, 20));
  EXPECT_FALSE(goes_over_batch({20, 12}, true, 12)) << "the first dimension is time";
  EXPECT_FALSE(goes_over_batch({20, 20}, true, 20)) << "either dimension may be meant";
  EXPECT_FALSE(goes_over_batch({20, 1}, true, 20)) << "weights of the samples";
  EXPECT_FALSE(goes_over_batch({20, 12}, true, 20, 3, /*is_same_input=*/true)) << "the nodes of one graph";
  EXPECT_TRUE(goes_over_batch({20, 2, 6, 6}, true, 120)) << "attention, and a target for each place";
}

// Clipping between backward and step.

/// Reports steps whose gradients had norms about `before`, and were all clipped to `after`.
std::string said_of_clip(double scale, double before, double after, bool is_one_norm = true, bool is_by_value = false) {
  Model model("");
  Passes passes;
  passes.scale = scale;
  ClippedSteps& clipped = model.window.clipped;
  for (int step = 0; step < 4; ++step) {
    ++clipped.looks;
    const double changes = 1 + 0.1 * step;
    clipped.take(before * changes, is_one_norm ? after : after * changes, is_by_value ? after / 4 : after * changes);
  }
  clipped.shrinks_steps = true;
  const auto findings = said("scaled_clip", model, 0, &passes);
  return findings.empty() ? "" : findings[0].message;
}

TEST(ScaledClip, IsKnownByBothNormsAndTheScale) {
  const std::string found = said_of_clip(65536, 65536 * 2.0, 1.0 / 65536);
  EXPECT_NE(found.find("clipped to a norm of 1 while they still contain the loss scale of 6.55e+04"), std::string::npos)
      << found;
  EXPECT_EQ(said_of_clip(65536, 65536 * 2.0, 1.0), "") << "clipped after the division";
  EXPECT_EQ(said_of_clip(65536, 65536 * 2.0, 0.001), "") << "a limit that is too small";
  EXPECT_EQ(said_of_clip(65536, 65536 * 2.0, 1.0 / 65536, /*is_one_norm=*/false), "");
  EXPECT_EQ(said_of_clip(1, 2.0, 1e-5), "") << "the loss scale is unknown";
  const std::string by_value = said_of_clip(65536, 65536 * 2.0, 2.0 / 65536, false, /*is_by_value=*/true);
  EXPECT_NE(by_value.find("clipped to elements of 0.5"), std::string::npos) << by_value;
}

/// Several passes per step: losses with means over `counts` targets, times `factor`, and gradients that grow.
std::string said_of_passes(const std::function<double(int64_t count)>& factor, const std::vector<int64_t>& counts,
                           double growth = 2) {
  Model model("");
  Passes passes;
  std::string text;
  for (int step = 0; step < 6; ++step) {
    uint32_t pass = 0;
    for (const int64_t count : counts) {
      const double mean = 1 + 0.1 * static_cast<double>(step + pass);
      passes.expect({mean, count});
      passes.take(mean * factor(count));
      ++pass;
      model.passing.take_gradient(pass, std::pow(growth, pass / 3.0));
    }
    const auto findings = said("accumulation", model, 0, &passes);
    if (!findings.empty()) text = findings[0].message;
    model.next_step();
  }
  return text;
}

TEST(Accumulation, IsUnevenIfFewAndManyTargetsWeighTheSame) {
  const std::vector<int64_t> counts{2, 2, 2, 20};
  const std::string found = said_of_passes([](int64_t) { return 0.25; }, counts);
  EXPECT_NE(found.find("over 2 to 20 targets each"), std::string::npos) << found;
  EXPECT_EQ(said_of_passes([](int64_t count) { return static_cast<double>(count) / 26; }, counts), "");
  EXPECT_EQ(said_of_passes([](int64_t) { return 0.25; }, {20, 20, 19, 20}), "");
}

TEST(Accumulation, IsReportedAsASumIfThePassesAreNotDivided) {
  const std::vector<int64_t> counts{20, 20, 20, 20};
  const std::string found = said_of_passes([](int64_t) { return 1; }, counts);
  EXPECT_NE(found.find("without dividing them by 4"), std::string::npos) << found;
  EXPECT_EQ(said_of_passes([](int64_t) { return 0.25; }, counts), "");
  EXPECT_EQ(said_of_passes([](int64_t) { return 1; }, counts, 1), "") << "gradients are cleared between them";
}

TEST(MeanLoss, IsOverTheTargetsThatCount) {
  const Floats scores({0, 0, 3, 0, 0, 0}, {3, 2});
  const Words targets({1, -100, 0}, {3});
  const MeanLoss found = mean_cross_entropy(scores.elements(), targets.elements());
  EXPECT_EQ(found.count, 2);
  EXPECT_NEAR(found.mean, std::log(2.0), 1e-6);
}

// Repeated rows and initial weights.

/// Batches of 12 rows with only `distinct` different rows; targets repeat with the rows, or are all different.
bool repeats(int64_t distinct, int batches = 8, bool has_own_targets = false, bool is_whole = false) {
  Model model("");
  bool any_said = false;
  for (int batch = 0; batch < batches; ++batch) {
    const auto of_row = [&](int64_t row) { return 1000 * batch + 10 * (row % distinct); };
    std::vector<float> rows, targets;
    for (int64_t row = 0; row < 12; ++row) {
      for (int64_t i = 0; i < 6; ++i)
        rows.push_back(is_whole ? std::round(9 * any(of_row(row) + i)) : any(of_row(row) + i));
      targets.push_back(any(has_own_targets ? row : row % distinct));
    }
    Passing& passing = model.passing;
    passing.repeats.take(Floats(rows, {12, 6}).elements());
    const Floats target(targets, {12});
    passing.repeats.take_targets(target.elements());
    model.step.input.is_known = true;
    any_said = any_said || !said("copied_rows", model).empty();
    model.next_step();
  }
  return any_said;
}

TEST(RepeatedRows, AreReportedIfEachRepeatsEquallyOften) {
  EXPECT_TRUE(repeats(3));
  EXPECT_FALSE(repeats(3, 7)) << "too early";
  EXPECT_FALSE(repeats(12));
  EXPECT_FALSE(repeats(5)) << "some rows repeat more often than others";
  EXPECT_FALSE(repeats(1)) << "repeated_rows reports this";
  EXPECT_FALSE(repeats(3, 8, /*has_own_targets=*/true)) << "two views of one sample";
  EXPECT_FALSE(repeats(3, 8, false, /*is_whole=*/true)) << "states and words may repeat";
}

TEST(RepeatedRows, AreAnInfoIfTheModelIsRandom) {
  const auto severity = [](float noise) {
    Model model("");
    RepeatedRows& repeats = model.passing.repeats;
    uint32_t told = 0;
    for (int batch = 0; batch < 8; ++batch) {
      const auto value = [&](int64_t row, int64_t i) { return any(1000 * batch + 10 * (row % 3) + i); };
      repeats.take(Floats(numbers(72, [&](int64_t at) { return value(at / 6, at % 6); }), {12, 6}).elements());
      repeats.take_output(
          Floats(numbers(24, [&](int64_t at) { return value(at / 2, at % 2) + noise * any(at); }), {12, 2}).elements());
      repeats.take_targets(Floats(numbers(12, [&](int64_t row) { return value(row, 0); }), {12}).elements());
      model.step.input.is_known = true;
      for (const Finding& each : said("copied_rows", model)) told = each.severity;
    }
    return told;
  };
  EXPECT_EQ(severity(0), uint32_t{LOUPE_SEVERITY_WARNING});
  EXPECT_EQ(severity(0.1F), uint32_t{LOUPE_SEVERITY_INFO}) << "several codes may be drawn for one sample";
}

TEST(RepeatedRows, AreSearchedInTheFirstBatchesOnly) {
  RepeatedRows repeats;
  const auto take = [&](int64_t distinct) {
    repeats.take(
        Floats(numbers(72, [&](int64_t at) { return any(10 * (at / 6 % distinct) + at % 6); }), {12, 6}).elements());
    return repeats.times;
  };
  for (int batch = 0; batch < 32; ++batch) ASSERT_EQ(take(12), 0);
  EXPECT_EQ(take(3), 0);
}

TEST(HeldFrozen, IsReportedWithItsShare) {
  const Shown words("Embedding", LOUPE_FAMILY_EMBEDDING);
  const int64_t sizes[] = {30, 1};
  const auto told = [&](uint32_t more_flags) {
    Model model("");
    loupe_parameter frozen{}, trained{};
    frozen.dim = trained.dim = 2;
    frozen.sizes = trained.sizes = sizes;
    frozen.numel = 30;
    trained.numel = 90;
    frozen.flags = LOUPE_PARAMETER_OPTIMIZED | more_flags;
    trained.flags = LOUPE_PARAMETER_OPTIMIZED | LOUPE_PARAMETER_TRAINABLE;
    for (const loupe_parameter* each : {&frozen, &trained}) {
      ParameterState& state = model.parameters.emplace_back();
      state.module = &words.raw;
      state.parameter = each;
    }
    model.steps = 5;
    const auto findings = said("held_frozen", model);
    return findings.empty() ? "" : findings[0].message + findings[0].advice;
  };
  EXPECT_NE(told(0).find("25 % of the elements in its groups"), std::string::npos) << told(0);
  EXPECT_NE(told(0).find("freeze(false)"), std::string::npos);
  EXPECT_EQ(told(LOUPE_PARAMETER_TRAINABLE), "");
}

// Validation losses.

std::string said_of_losses(const std::vector<double>& trained, const std::vector<double>& held_out, bool of_others,
                           bool has_batch_norm = false) {
  Model model("");
  Losses losses;
  Passes passes;
  passes.has_batch_norm = has_batch_norm;
  passes.evaluates_losses = true;
  passes.evaluates_models = !of_others;
  for (std::size_t epoch = 0; epoch < trained.size(); ++epoch) {
    for (int i = 0; i < 10; ++i) losses.training.add(trained[epoch]);
    losses.validation.add(held_out[epoch]);
    losses.end_epoch();
  }
  const auto findings = said("unrelated_validation", model, 0, &passes, [&](Situation& now) { now.losses = &losses; });
  return findings.empty() ? "" : findings[0].message;
}

TEST(UnrelatedValidation, IsReportedIfTheValidationLossNeverFell) {
  const std::vector<double> falls{2, 1, 0.5, 0.3, 0.2};
  EXPECT_NE(said_of_losses(falls, {2.1, 2.2, 2.1, 2.2, 2.3}, false).find("does not use what was learned"),
            std::string::npos);
  EXPECT_EQ(said_of_losses(falls, {1.5, 1.6, 1.7, 1.8, 1.9}, false), "") << "overfitting";
  EXPECT_EQ(said_of_losses({2, 1.9, 1.8, 1.7, 1.6}, {2.1, 2.2, 2.1, 2.2, 2.3}, false), "");
  const std::vector<double> halves{2, 1.4, 1.1, 1, 0.8};
  EXPECT_NE(said_of_losses(halves, {2.1, 2.1, 2.099, 2.099, 2.098}, false), "") << "it hardly moves";
  EXPECT_EQ(said_of_losses(halves, {2.1, 2.09, 2.11, 2.07, 2.12}, false), "");
}

TEST(UnrelatedValidation, IsReportedForAnotherModelThatFallsBehind) {
  const std::vector<double> falls{1.3, 1, 0.8, 0.7, 0.5}, grows{1.25, 1.5, 1.8, 2, 3};
  const std::string found = said_of_losses(falls, grows, true, /*has_batch_norm=*/true);
  EXPECT_NE(found.find("the validation runs another model"), std::string::npos) << found;
  EXPECT_NE(found.find("never have seen a batch"), std::string::npos) << found;
  EXPECT_EQ(said_of_losses(falls, grows, false, true), "") << "the model itself overfits";
  EXPECT_EQ(said_of_losses(falls, {1.2, 1, 0.9, 0.8, 0.7}, true, true), "") << "an average follows the model";
}

}  // namespace
}  // namespace loupe::health
