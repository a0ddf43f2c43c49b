// With LOUPE_CHECK=strict, Loupe detects a write to a lent tensor even if only one element changes.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <loupe/log.h>
#include <loupe/plugin.h>
#include <loupe/register_plugin.h>
#include <loupe/torch.h>
#include <torch/torch.h>

#include <cstdlib>
#include <string>

namespace {

namespace nn = torch::nn;

/// Changes one element of each output through LibTorch.
class Meddler : public loupe::Lens {
 public:
  static constexpr const char* name = "meddler";
  static constexpr const char* help = "changes a lent tensor";
  static std::vector<loupe::Option> options() { return {}; }
  explicit Meddler(const loupe::Options&) {}
  void visit(const loupe::Module& module) override {
    if (module.is_leaf()) watch(module, {"forward"}, writer_);
  }
  void report(loupe::Report&) override {}

 private:
  struct Writer : loupe::Preprocessor {
    loupe::Request request() const override {
      loupe::Request request;
      request.wants_tensor = true;
      return request;
    }
    void process(const loupe::Event& event) override {
      const torch::NoGradGuard no_grad;
      loupe::as_torch(event.tensor().raw()).view({-1})[3].fill_(0);
    }
  } writer_;
};
LOUPE_STATIC_PLUGIN(meddlers, "meddlers", "1.0", Meddler);

TEST(LentTensors, ThatALensChangesThroughLibTorchAreDetected) {
  const char* check = std::getenv("LOUPE_CHECK");
  if (check == nullptr || std::string(check) != "strict") GTEST_SKIP() << "LOUPE_CHECK is not strict";
  loupe::register_plugin(meddlers);
  std::string told;
  loupe::set_log([&](loupe::LogLevel, const std::string& message) { told += message + "\n"; });
  {
    auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [meddler]\n");
    nn::Sequential model(nn::Linear(4, 100'000));
    inspector.attach(*model);
    const torch::NoGradGuard no_grad;
    model->forward(torch::ones({2, 4}));
  }
  loupe::set_log({});
  EXPECT_NE(told.find("it wrote to a lent tensor"), std::string::npos) << told;
}

}  // namespace
