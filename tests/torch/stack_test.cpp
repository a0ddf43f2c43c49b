// Models that run on stacks that the trainer allocates, as fibers do, and unmaps after use.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <sys/mman.h>
#include <torch/torch.h>
#include <ucontext.h>

#include <alloca.h>

#include <functional>
#include <memory>

namespace {

namespace nn = torch::nn;

constexpr std::size_t stack_size = 2 << 20;

class Stack {
 public:
  Stack() : memory_(::mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack() { ::munmap(memory_, stack_size); }
  char* begin() const { return static_cast<char*>(memory_); }

 private:
  void* memory_;
};

std::function<void()> work;
ucontext_t outside;

void run_on(const Stack& stack, std::function<void()> call) {
  work = std::move(call);
  ucontext_t fiber;
  ::getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack.begin();
  fiber.uc_stack.ss_size = stack_size;
  fiber.uc_link = &outside;
  ::makecontext(
      &fiber, [] { work(); }, 0);
  ::swapcontext(&outside, &fiber);
}

#if defined(__x86_64__)
std::function<void()> body;
void call_body() {
  body();
}
/// Calls call_body() on another stack. A debugger can still find the caller on this stack.
__attribute__((noinline)) void call_on(char* top) {
  // The unknown size makes the compiler address this frame by its base pointer, which does not change.
  volatile std::size_t size = 16;
  static_cast<void>(*static_cast<volatile char*>(alloca(size)) = 0);
  void (*function)() = &call_body;
  asm volatile(
      "mov %%rsp, %%rbx\n\t"
      "mov %0, %%rsp\n\t"
      "call *%1\n\t"
      "mov %%rbx, %%rsp\n\t"
      : "+D"(top), "+S"(function)
      :
      : "rbx", "memory", "cc", "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
        "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

struct HopperImpl : nn::Module {
  explicit HopperImpl(const Stack& stack) : stack(stack) { layer = register_module("layer", nn::Linear(4, 4)); }
  __attribute__((noinline)) at::Tensor forward(const at::Tensor& input) {
    at::Tensor output;
    body = [&] { output = torch::relu(layer->forward(torch::tanh(input))); };
    call_on(stack.begin() + stack_size - 256);
    return output;
  }
  nn::Linear layer{nullptr};
  const Stack& stack;
};
TORCH_MODULE(Hopper);

TEST(ModelsOnStacksOfTheTrainers, MayHopToAnotherStackThatOutlivesTheirCallers) {
  const Stack inner;
  Hopper model(inner);
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [output_norm: {include: [relu]}]\n");
  inspector.attach(*model);
  auto outer = std::make_unique<Stack>();
  for (int i = 0; i < 40; ++i) {
    run_on(*outer, [&] { model->forward(torch::ones({2, 4})); });
    outer = std::make_unique<Stack>();  // at a new address, as the old stack is unmapped after the new one is mapped
  }
  inspector.tick_epoch();
  EXPECT_TRUE(inspector.value("Output Norm", "layer:relu", "mean"));
}
#endif

struct FiberNetImpl : nn::Module {
  FiberNetImpl() { layer = register_module("layer", nn::Linear(4, 4)); }
  __attribute__((noinline)) at::Tensor forward(const at::Tensor& input) {
    return torch::relu(layer->forward(torch::tanh(input)));
  }
  nn::Linear layer{nullptr};
};
TORCH_MODULE(FiberNet);

TEST(ModelsOnStacksOfTheTrainers, AreSeenAsOnTheStackOfTheThread) {
  FiberNet model;
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [output_norm: {include: [relu]}]\n");
  inspector.attach(*model);
  for (int i = 0; i < 20; ++i) {
    const Stack stack;
    run_on(stack, [&] { model->forward(torch::ones({2, 4})); });
    model->forward(torch::ones({2, 4}));
  }
  inspector.tick_epoch();
  EXPECT_TRUE(inspector.value("Output Norm", "layer:relu", "mean"));
  EXPECT_FALSE(inspector.value("Output Norm", "layer:relu#2", "mean")) << "each forward counts separately";
}

}  // namespace
