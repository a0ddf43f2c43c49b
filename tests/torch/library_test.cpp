#include "libraries/model_library.h"

#include <dlfcn.h>
#include <loupe/tapped.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "paths.h"
#include "torch/probed.h"

namespace nn = torch::nn;
using namespace loupe::testing;

namespace {

/// A library with a model's code. It is never unloaded, as models need its code when they are destroyed.
class Library {
 public:
  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  std::shared_ptr<nn::Module> make() const {
    std::shared_ptr<nn::Module> model;
    reinterpret_cast<decltype(&make_model)>(dlsym(handle_, "make_model"))(&model);
    return model;
  }
  at::Tensor run(nn::Module& model, const at::Tensor& input) const {
    at::Tensor output;
    reinterpret_cast<decltype(&run_model)>(dlsym(handle_, "run_model"))(&model, &input, &output);
    return output;
  }

 private:
  void* handle_;
};

const Lines all_of_it = {"forward|linear", "forward|linear:relu", "forward|norm", "forward|norm:tanh"};

bool refuse_mprotect = false;

}  // namespace

/// Replaces the C library's mprotect for all libraries, to simulate a system that keeps memory read-only.
extern "C" int mprotect(void* address, size_t size, int protection) noexcept {
  if (refuse_mprotect && (protection & PROT_WRITE) != 0) {
    errno = EACCES;
    return -1;
  }
  return static_cast<int>(syscall(SYS_mprotect, address, size, protection));
}

TEST(Libraries, WhosePathLooksLikeLibTorchsAreNotTakenForIt) {
  for (int time = 0; time < 2; ++time) {  // the second time follows a detach
    const Library library(LOUPE_MODELS_IN_LIBTORCH_FOLDER);
    const auto model = library.make();
    auto inspector = probed();
    inspector.attach(*model);
    library.run(*model, torch::randn({5, 3}));
    EXPECT_EQ(fields(take("forward"), 2), all_of_it);
    inspector.detach();
  }
}

TEST(Libraries, LoadedBeforeASecondAttachAreSeenImmediately) {
  const Library early(LOUPE_MODELS_IN_LIBTORCH_FOLDER);
  const auto model = early.make();
  auto inspector = probed();
  inspector.attach(*model);
  told().clear();
  const Library late(LOUPE_MODELS_LOADED_LATE);
  const auto other = late.make();
  inspector.attach(*other, "late");
  late.run(*other, torch::randn({5, 3}));
  EXPECT_EQ(take("forward").size(), 4U);
}

TEST(Libraries, LoadedLateThatRunAnAttachedModelAreSeenAfterTheNextTick) {
  struct Net : nn::Module {
    nn::Linear fc = register_module("fc", nn::Linear(3, 3));
  } model;
  auto inspector = probed();
  inspector.attach(model);
  const Library late(LOUPE_FUNCTIONS_LOADED_LATE);
  inspector.tick_epoch();
  told().clear();
  late.run(model, torch::randn({5, 3}));
  EXPECT_EQ(fields(take("forward"), 2), (Lines{"forward|fc", "forward|fc:relu"}));
}

TEST(Libraries, WithoutSymbolsAreReportedInTheSummary) {
  const Library whole(LOUPE_MODELS_LOADED_LATE), stripped(LOUPE_MODELS_STRIPPED);
  const auto summary = [](const Library& library) {
    const auto model = library.make();
    auto inspector = probed();
    ::testing::internal::CaptureStderr();
    inspector.attach(*model);
    std::string text = ::testing::internal::GetCapturedStderr();
    library.run(*model, torch::randn({5, 3}));
    EXPECT_EQ(fields(take("forward"), 2), all_of_it);
    return text;
  };
  EXPECT_EQ(summary(whole).find("stripped"), std::string::npos);
  EXPECT_NE(summary(stripped).find("symbols are stripped"), std::string::npos);
}

TEST(RefusedRedirections, DoNotCountAsTapped) {
  const Library library(LOUPE_MODELS_BOUND_AT_ONCE);
  const auto model = library.make();
  auto inspector = probed();
  ::testing::internal::CaptureStderr();
  refuse_mprotect = true;
  inspector.attach(*model);
  refuse_mprotect = false;
  const std::string summary = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(summary.find("0 of 2 modules tapped"), std::string::npos) << summary;
  EXPECT_NE(summary.find("norm (BatchNorm1d): the system refuses to redirect"), std::string::npos) << summary;
  EXPECT_NE(summary.find("mprotect: Permission denied"), std::string::npos) << summary;
  inspector.detach();
  inspector.attach(*model);
  told().clear();
  library.run(*model, torch::randn({5, 3}));
  EXPECT_EQ(fields(take("forward"), 2), all_of_it);
}
