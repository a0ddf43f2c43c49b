#include "torch/taps/script_calls.h"

#include <torch/csrc/jit/api/method.h>

#include <atomic>
#include <utility>

#include "torch/model/registry.h"
#include "torch/redirect/redirections.h"

namespace loupe {

using torch::jit::Method;

namespace {

const ScriptTable* listening() {
  return active_attachments.load(std::memory_order_relaxed) != 0 ? part<ScriptTable>(without_scripts) : nullptr;
}

c10::IValue call_tap(const Method* method, std::vector<c10::IValue> stack, const ScriptKwargs& more) {
  const ScriptTable* scripts = listening();
  return scripts != nullptr ? scripts->call(method, std::move(stack), more) : real_call(method, std::move(stack), more);
}

void run_tap(Method* method, std::vector<c10::IValue>& stack) {
  if (const ScriptTable* scripts = listening()) return scripts->run(method, stack);
  real_run(method, stack);
}

}  // namespace

void declare_script_taps() {
  Redirections::instance().declare(LOUPE_METHOD_CALL, reinterpret_cast<void*>(&call_tap), false);
  Redirections::instance().declare(LOUPE_METHOD_RUN, reinterpret_cast<void*>(&run_tap), false);
}

bool reaches_script_calls() {
  return Redirections::instance().reaches(LOUPE_METHOD_CALL);
}

}  // namespace loupe
