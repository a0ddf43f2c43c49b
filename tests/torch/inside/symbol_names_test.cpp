#include "paths.h"
#include "torch/redirect/symbols.h"

#include <ATen/Operators.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace loupe {
namespace {

std::string name_by_dladdr(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_sname == nullptr || info.dli_saddr != function) return "";
  return info.dli_sname;
}

template <class Member>
const void* address_of(Member member) {
  const void* address = nullptr;
  std::memcpy(&address, &member, sizeof address);
  return address;
}

int nobodys(int x) {
  return x + 1;
}

TEST(SymbolNames, AreEqualToThoseOfDladdr) {
  const std::vector<const void*> functions = {
      address_of(&torch::nn::LinearImpl::forward), address_of(&torch::nn::LSTMImpl::forward),
      reinterpret_cast<const void*>(&at::_ops::relu::call), reinterpret_cast<const void*>(&at::_ops::linear::call),
      reinterpret_cast<const void*>(&std::malloc)};
  for (const void* function : functions) {
    EXPECT_NE(symbol_of(function), "");
    EXPECT_EQ(symbol_of(function), name_by_dladdr(function));
  }
  forget_symbol_names();
  EXPECT_EQ(symbol_of(functions.front()), name_by_dladdr(functions.front())) << "after the cache was cleared";
}

TEST(SymbolNames, AreFoundInAnObjectWithoutTheGnuHashTable) {
  void* const library = dlopen(LOUPE_MODELS_WITHOUT_GNU_HASH.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(symbol_of(dlsym(library, "make_model")), "make_model");
  EXPECT_EQ(symbol_of(dlsym(library, "run_model")), "run_model");
}

TEST(SymbolNames, AreEmptyForAddressesOfNoExportedFunction) {
  const auto* inside = reinterpret_cast<const char*>(&at::_ops::relu::call) + 1;
  EXPECT_EQ(symbol_of(inside), "");
  EXPECT_EQ(symbol_of(reinterpret_cast<const void*>(&nobodys)), "");
  const int on_the_stack = nobodys(1);
  EXPECT_EQ(symbol_of(&on_the_stack), "");
  EXPECT_EQ(symbol_of(nullptr), "");
}

}  // namespace
}  // namespace loupe
