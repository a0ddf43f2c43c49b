#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <string>
#include <vector>

namespace loupe {
namespace {

torch::nn::Sequential small_model() {
  torch::manual_seed(3);
  return torch::nn::Sequential(torch::nn::Linear(5, 8), torch::nn::ReLU(), torch::nn::Linear(8, 4), torch::nn::Tanh());
}

/// Trains two epochs of three batches, with a tick after each.
void train(Inspector& inspector, torch::nn::Sequential& model) {
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  inspector.attach(*model, optimizer);
  for (int epoch = 1; epoch <= 2; ++epoch) {
    for (int batch = 0; batch < 3; ++batch) {
      optimizer.zero_grad();
      model->forward(torch::randn({6, 5})).pow(2).sum().backward();
      optimizer.step();
    }
    inspector.tick_epoch();
  }
}

Inspector inspector_of(const std::string& lenses) {
  return Inspector::from_text("loupe: 1\nlenses:\n" + lenses + "visualizers: []\n");
}

void expect_equal(const Inspector& inspector, const std::string& built_in, const std::string& own,
                  const std::vector<std::string>& layers) {
  for (const std::string& layer : layers) {
    for (const char* line : {"mean", "median", "max", "min", "std"}) {
      const auto expected = inspector.value(built_in, layer, line);
      ASSERT_TRUE(expected) << built_in << ' ' << layer << ' ' << line;
      EXPECT_EQ(inspector.value(own, layer, line), expected) << own << ' ' << layer << ' ' << line;
    }
  }
}

TEST(PipelineLens, DoesWhatOutputNormDoes) {
  auto model = small_model();
  auto inspector = inspector_of(
      "  - output_norm: {line: [mean, median, max, min, std]}\n"
      "  - pipeline: {families: [activation], preprocess: output_norm, line: [mean, median, max, min, std], tag: 'Own "
      "{series}'}\n"
      "  - pipeline: {families: [activation], type: relation, tag: Own Share}\n    as: shares\n");
  train(inspector, model);
  expect_equal(inspector, "Output Norm", "Own Norm", {"1", "3"});
  for (const char* layer : {"1", "3"}) {
    const auto share = inspector.value("Mean Output Norm Comparison", "Mean Output Norm Comparison", layer);
    ASSERT_TRUE(share);
    EXPECT_EQ(inspector.value("Own Share (shares)", "Own Share (shares)", layer), share);
  }
  EXPECT_FALSE(inspector.value("Own Norm", "0", "mean"));
}

TEST(PipelineLens, DoesWhatParameterGradientGeometryDoes) {
  auto model = small_model();
  auto inspector = inspector_of(
      "  - parameter_gradient_geometry: {line: [mean, median, max, min, std], normalize_by_size: true}\n"
      "  - pipeline: {gather: parameter_gradient, parameters: [weight, bias], preprocess: gradient_geometry,\n"
      "               preprocessor_options: {normalize: true}, line: [mean, median, max, min, std], tag: 'Own "
      "{parameter} {series}'}\n");
  train(inspector, model);
  for (const char* what : {"Weight", "Bias"}) {
    const std::string parameter = what;
    expect_equal(inspector, parameter + " Gradient Norm", "Own " + parameter + " Norm", {"0", "2"});
    expect_equal(inspector, parameter + " Gradient Correlation", "Own " + parameter + " Correlation", {"0", "2"});
  }
}

TEST(PipelineLens, ShowsOnlySelectedSeriesAndModules) {
  auto model = small_model();
  auto inspector = inspector_of(
      "  - pipeline: {gather: parameter_gradient, parameters: [weight], preprocess: gradient_geometry,\n"
      "               series: [norm], include: [Linear], exclude: ['2'], big: true, tag: Gradient}\n");
  train(inspector, model);
  EXPECT_TRUE(inspector.value("Gradient", "Gradient", "0"));
  EXPECT_FALSE(inspector.value("Gradient", "Gradient", "2"));
}

TEST(PipelineLens, AcceptsGlobsForParametersAndReportsUnknownNames) {
  auto model = small_model();
  auto inspector = inspector_of(
      "  - pipeline: {gather: parameter_gradient, parameters: ['w*', '?ias'], preprocess: gradient_geometry,\n"
      "               series: [nrom, norm], tag: 'Own {parameter}'}\n");
  testing::internal::CaptureStderr();
  train(inspector, model);
  const std::string told = testing::internal::GetCapturedStderr();
  const std::string once = "no series fits 'nrom' given in series; did you mean 'norm'?\n";
  EXPECT_NE(told.find(once), std::string::npos) << told;
  EXPECT_EQ(told.find("warning", told.find(once)), std::string::npos) << told;
  for (const char* layer : {"0", "2"}) {
    EXPECT_TRUE(inspector.value("Own Weight", layer, "mean"));
    EXPECT_TRUE(inspector.value("Own Bias", layer, "mean"));
  }
}

TEST(PipelineLens, TellsParametersApartWhoseTagDoesNot) {
  auto model = small_model();
  auto inspector = inspector_of(
      "  - pipeline: {gather: parameter_gradient, parameters: ['*'], preprocess: gradient_geometry, series: [norm],\n"
      "               tag: Own, line: [mean, mean]}\n");
  train(inspector, model);
  for (const char* layer : {"0", "2"}) {
    EXPECT_TRUE(inspector.value("Own Weight", layer, "mean"));
    EXPECT_TRUE(inspector.value("Own Bias", layer, "mean"));
  }
}

TEST(PipelineLens, ReadsAnAttributeAroundTheForward) {
  torch::nn::Sequential model(torch::nn::BatchNorm1d(torch::nn::BatchNorm1dOptions(2).momentum(0.5)));
  auto inspector = inspector_of(
      "  - pipeline: {gather: attribute, parameters: [running_mean], preprocess: parameter_norm, tag: After}\n");
  inspector.attach(*model);
  model->forward(torch::tensor({{3.0F, 4.0F}, {9.0F, 12.0F}}));
  inspector.tick_epoch();
  EXPECT_FLOAT_EQ(inspector.value("After", "0", "mean").value_or(-1), 5);  // half of (6, 8)
}

TEST(PipelineLens, RefusesATagWithAnUnknownWord) {
  EXPECT_THROW(inspector_of("  - pipeline: {tag: '{layer} Norm'}\n"), ConfigError);
}

TEST(PipelineLens, IsCheckedBeforeTrainingWithItsComponents) {
  try {
    inspector_of(
        "  - pipeline: {gather: foward, preprocess: output_nrm}\n"
        "  - pipeline: {preprocess: output_norm, preprocessor_options: {normalise: true}}\n    as: second\n");
    FAIL() << "a misspelt component was accepted";
  } catch (const ConfigError& error) {
    const std::string told = error.what();
    EXPECT_NE(told.find(":3:24: error: there is no gatherer 'foward'; did you mean 'forward'?"), std::string::npos)
        << told;
    EXPECT_NE(told.find(":3:44: error: there is no preprocessor 'output_nrm'; did you mean 'output_norm'?"),
              std::string::npos)
        << told;
    EXPECT_NE(told.find(":4:64: error: 'output_norm' has no option 'normalise'"), std::string::npos) << told;
  }
}

}  // namespace
}  // namespace loupe
