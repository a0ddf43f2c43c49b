// Taps that are declared after other functions were redirected.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "torch/redirect/redirections.h"

namespace loupe {
namespace {

/// Declares a tap that calls the original function and changes nothing.
void declare_untouched(const std::string& symbol) {
  void* const function = ::dlsym(RTLD_DEFAULT, symbol.c_str());
  ASSERT_NE(function, nullptr) << symbol;
  Redirections::instance().declare(symbol, function, true);
}

TEST(TapsThatAreDeclaredLate, AreReachedByTheNextHold) {
  // Both functions are exported by libc10 and called by LibTorch's other library.
  const std::string early = "_ZN3c1015GetCPUAllocatorEv", late = "_ZN3c1012GetAllocatorERKNS_10DeviceTypeE";
  Redirections& redirections = Redirections::instance();
  declare_untouched(early);
  redirections.hold();
  EXPECT_TRUE(redirections.reaches(early));
  declare_untouched(late);
  EXPECT_FALSE(redirections.reaches(late));
  redirections.hold();
  EXPECT_TRUE(redirections.reaches(late));
  EXPECT_TRUE(redirections.reaches(early));
  redirections.release();
  redirections.release();
}

}  // namespace
}  // namespace loupe
