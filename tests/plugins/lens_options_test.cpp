// Tests of the options `output` and `inplace`, which several lenses have.

#include "built_in.h"

namespace {

struct Case {
  const char* lens;
  const char* options;
};

class OutputOption : public testing::TestWithParam<Case> {
 protected:
  /// Whether a lens shows anything of a module with numbers in output 1 only.
  static bool shows(const std::string& output) {
    LensBench bench(GetParam().lens, std::string("{include: [MultiheadAttention]") + GetParam().options + output + "}");
    const lt::Module attention = bench.add("attention", "MultiheadAttention");
    bench.forward(attention, {}, {tensor({}, {0, 2}), tensor({3, 4}, {1, 2})});
    bench.output_gradient(attention, tensor({3, 4}, {1, 2}), 1);
    bench.tick();
    return !bench.is_silent();
  }
};

TEST_P(OutputOption, ChoosesTheWatchedOutput) {
  EXPECT_TRUE(shows(", output: 1"));
  EXPECT_FALSE(shows(", output: 2"));
  EXPECT_FALSE(shows(""));
}

INSTANTIATE_TEST_SUITE_P(Lenses, OutputOption,
                         testing::Values(Case{"output_activation", ""}, Case{"output_norm", ""},
                                         Case{"output_gradient_geometry", ""},
                                         Case{"histograms", ", parameters: none"}),
                         [](const auto& info) { return std::string(info.param.lens); });

// Preprocessors that replace the built-in ones, and store their options.
constexpr const char* preprocessors[] = {
    "output_activation",   "output_norm",    "output_gradient_geometry",      "gradient_geometry",
    "gradient_activation", "parameter_norm", "parameter_difference_geometry", "parameter_condition",
    "change_ratio",        "loss_module"};
std::optional<bool> is_inplace;

template <std::size_t place>
struct Noting : loupe::Preprocessor {
  static constexpr const char *name = preprocessors[place], *help = "for a test";
  static std::vector<loupe::Option> options() {
    return {loupe::inplace_option(),
            loupe::quantiles_option(),
            {"death", true, "?"},
            {"eps", 0.0, "?"},
            {"normalize", false, "?"},
            {"record_eval", false, "?"},
            {"evaluation_from_grad", false, "?"},
            {"channel_last", false, "?"},
            {"correlation", true, "?"},
            {"first", false, "?"},
            {"train_loss", "?", "?"},
            {"val_loss", "?", "?"}};
  }
  explicit Noting(const loupe::Options& options) { is_inplace = options.get<bool>("inplace"); }
  loupe::Request request() const override { return {}; }
  void process(const loupe::Event&) override {}
};
LOUPE_STATIC_PLUGIN(noting_plugin, "noting", "1.0", Noting<0>, Noting<1>, Noting<2>, Noting<3>, Noting<4>, Noting<5>,
                    Noting<6>, Noting<7>, Noting<8>, Noting<9>);

class InplaceOption : public testing::TestWithParam<const char*> {};

TEST_P(InplaceOption, IsHandedOn) {
  const std::string lens = GetParam(), option = lens == "loss_metrics" ? "loss_fn_inplace" : "inplace";
  for (const std::string value : {"", "true", "false"}) {
    is_inplace.reset();
    lt::Bench bench("lenses: [" + lens + ": {" + (value.empty() ? "" : option + ": " + value) + "}]", {},
                    {&noting_plugin});
    bench.module("act", "ReLU");
    bench.module("fc", "Linear", weight_and_bias);
    bench.module("loss", "MSELoss", {}, LOUPE_MODULE_LEAF | LOUPE_MODULE_LOSS);
    EXPECT_EQ(is_inplace, value != "false") << value;
  }
}

INSTANTIATE_TEST_SUITE_P(Lenses, InplaceOption,
                         testing::Values("output_activation", "output_norm", "output_gradient_geometry",
                                         "gradient_geometry", "parameter_gradient_activation", "parameter_norm",
                                         "parameter_difference", "parameter_condition", "update_ratio", "loss_metrics"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
