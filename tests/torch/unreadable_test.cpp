#include <gtest/gtest.h>
#include <loupe/tapped.h>

#include <algorithm>
#include <sstream>

#include "torch/probed.h"

using namespace loupe;
using namespace loupe::testing;

namespace {

/// A module whose forward applies a function to its input.
struct MakesImpl : torch::nn::Module {
  using Function = at::Tensor (*)(const at::Tensor&);
  explicit MakesImpl(Function made_by) : function(made_by) {}
  torch::Tensor forward(const torch::Tensor& x) { return function(x); }
  Function function;
};
using Makes = torch::nn::ModuleHolder<Tapped<MakesImpl>>;

at::Tensor complex(const at::Tensor& x) {
  return at::complex(x, x);
}
at::Tensor quantized(const at::Tensor& x) {
  return at::quantize_per_tensor(x, 0.1, 0, at::kQInt8);
}
at::Tensor on_meta(const at::Tensor& x) {
  return at::empty(x.sizes(), x.options().device(at::kMeta));
}
at::Tensor sparse(const at::Tensor& x) {
  return x.to_sparse();
}
at::Tensor none(const at::Tensor&) {
  return {};
}

/// The messages about outputs of modules with these functions, after this many forwards of each.
Lines said_of(const std::vector<MakesImpl::Function>& functions, int forwards = 3) {
  auto inspector = probed("tensors: false");
  ::testing::internal::CaptureStderr();
  std::vector<Makes> modules;
  struct Holder : torch::nn::Module {};
  const auto holder = std::make_shared<Holder>();
  for (std::size_t i = 0; i < functions.size(); ++i) {
    modules.emplace_back(functions[i]);
    holder->register_module("m" + std::to_string(i), modules.back());
  }
  inspector.attach(*holder);
  for (int i = 0; i < forwards; ++i) {
    for (Makes& module : modules) module->forward(torch::rand({2, 3}));
  }
  std::istringstream text(::testing::internal::GetCapturedStderr());
  Lines lines;
  for (std::string line; std::getline(text, line);) {
    const auto has = [&](const char* words) { return line.find(words) != std::string::npos; };
    if (has("cannot be measured") || has("sparse values")) lines.push_back(line);
  }
  return lines;
}

bool says(const Lines& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

TEST(Unreadable, ReportsAnElementTypeThatCannotBeMeasuredOnce) {
  const Lines lines = said_of({&complex, &complex});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(says(lines, "the outputs of 'm0' are complex64, which cannot be measured")) << lines[0];
}

TEST(Unreadable, ReportsEachElementTypeAndDeviceSeparately) {
  const Lines lines = said_of({&complex, &quantized, &on_meta});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(says(lines, "the outputs of 'm1' are qint8, which")) << lines[1];
  EXPECT_TRUE(says(lines, "the outputs of 'm2' are on the device 'meta', which")) << lines[2];
}

TEST(Unreadable, ReportsItAgainForTheNextModel) {
  EXPECT_EQ(said_of({&complex}).size(), 1u);
  EXPECT_EQ(said_of({&complex}).size(), 1u);
}

TEST(Unreadable, ReportsNothingForValuesThatAreNoTensor) {
  EXPECT_EQ(said_of({&none}), Lines{});
}

TEST(Unreadable, ReportsALensThatDoesNotAskForSparseTensorsOnce) {
  const Lines lines = said_of({&sparse});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(says(lines, "'probe'")) << lines[0];
  EXPECT_TRUE(says(lines, "LOUPE_REQUEST_SPARSE")) << lines[0];
}
