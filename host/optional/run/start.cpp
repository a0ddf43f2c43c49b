// Starts the part for libloupe_run.so, and passes events to the watched program's object: faults of Loupe never reach
// the program, and events of Loupe's own work are ignored.

#include "run/start.h"

#include <cxxabi.h>
#include <torch/optim/optimizer.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/forks.h"
#include "core/log.h"
#include "core/threads.h"
#include "core/work.h"
#include "inspector/program_inspector.h"
#include "loupe/config_error.h"
#include "preload/boundary.h"
#include "run/found_losses.h"
#include "run/program_section.h"
#include "run/program_taps.h"
#include "run/watched_program.h"
#include "torch/all_taps.h"
#include "torch/model/registry.h"
#include "torch/redirect/redirections.h"
#include "torch/taps/optimizer_taps.h"

namespace loupe {
namespace {

std::atomic<WatchedProgram*> watched{nullptr};  // null once Loupe has given up, or the program ends
std::atomic<WatchedProgram*> kept{nullptr};     // never reset: threads may still use it
thread_local bool is_inside = false;            // calls are Loupe's own, not the program's

void give_up(WatchedProgram& program, const std::string& why) {
  watched.store(nullptr);
  set_hooks_of_program(nullptr);
  try {
    program.give_up(why);
  } catch (...) {  // the call may fail again
  }
}

/// Reports a wrong configuration. With `--require`, the program ends, as it must not run unwatched.
void refuse(WatchedProgram& program, const ConfigError& error) {
  log(LOUPE_LOG_ERROR, std::string("the configuration is wrong\n") + error.what());
  if (is_set(run_require_variable, "1")) ::_exit(exit_unwatched);
  give_up(program, "no configuration can be used");
}

template <class Call>
void guarded(Call&& call) {
  WatchedProgram* program = watched.load(std::memory_order_acquire);
  if (program == nullptr || is_inside) return;
  const std::lock_guard lock(program->mutex());
  if (watched.load(std::memory_order_acquire) != program) return;
  is_inside = true;
  try {
    in_loupe_time([&] {
      program->leave_parent();
      call(*program);
    });
  } catch (const abi::__forced_unwind&) {  // the thread is being cancelled
    is_inside = false;
    throw;
  } catch (const ConfigError& e) {
    refuse(*program, e);
  } catch (const c10::Error& e) {
    give_up(*program, e.what_without_backtrace());
  } catch (const std::exception& e) {
    give_up(*program, e.what());
  } catch (...) {
    give_up(*program, "Loupe failed");
  }
  is_inside = false;
}

torch::nn::Module& module_at(const void* address) {
  return *const_cast<torch::nn::Module*>(static_cast<const torch::nn::Module*>(address));
}

void finish() {
  constexpr std::chrono::seconds patience(10);
  WatchedProgram* program = watched.load();
  if (program == nullptr || is_inside || !program->mutex().try_lock_for(patience)) return;
  watched.store(nullptr);
  set_hooks_of_program(nullptr);
  is_inside = true;
  try {
    program->leave_parent();
    program->finish();
  } catch (const std::exception& e) {
    log(LOUPE_LOG_ERROR, std::string("the end of the run is not shown: ") + e.what());
  }
  is_inside = false;
  program->mutex().unlock();
}

const RunListener run_listener = {
    [](const void* module) { guarded([&](WatchedProgram& program) { program.module_used(module_at(module)); }); },
    [](void* module, bool trains) {
      guarded([&](WatchedProgram& program) { program.mode_set(module_at(module), trains); });
    },
    [](const void* optimizer, const void* group) {
      guarded([&](WatchedProgram& program) {
        program.group_added(static_cast<const torch::optim::Optimizer*>(optimizer),
                            *static_cast<const torch::optim::OptimizerParamGroup*>(group));
      });
    },
    &finish, &main_thread_ended};

/// A member of the watched program as a plain function.
template <auto Member>
struct Guarded;
template <class... Arguments, void (WatchedProgram::*Member)(Arguments...)>
struct Guarded<Member> {
  static void call(Arguments... arguments) {
    guarded([&](WatchedProgram& program) { (program.*Member)(arguments...); });
  }
  /// Calls the member only while an optimizer waits for its models.
  static void call_if_waiting(Arguments... arguments) {
    const WatchedProgram* waiting = watched.load(std::memory_order_acquire);
    if (waiting != nullptr && waiting->waits()) call(arguments...);
  }
};

using Program = WatchedProgram;
const ProgramHooks hooks = {&Guarded<&Program::before_forward>::call_if_waiting,
                            &Guarded<&Program::before_script>::call_if_waiting,
                            &Guarded<&Program::before_clearing>::call, &Guarded<&Program::before_step>::call,
                            &Guarded<&Program::after_step>::call};

const ProgramListener program_listener = {
    &Guarded<&Program::before_backward>::call, &Guarded<&Program::after_backward>::call,
    &Guarded<&Program::computed>::call,        &Guarded<&Program::evaluated>::call,
    &Guarded<&Program::order_begins>::call,    &Guarded<&Program::scheduled>::call};

/// Call it in a process that was just forked: other threads do not exist, so nobody will release their locks.
void begin_anew() {
  WatchedProgram* program = watched.load();
  if (program == nullptr) return;
  is_inside = false;
  if (is_set(run_follow_variable, "no")) {
    watched.store(nullptr);
    set_hooks_of_program(nullptr);
    return;
  }
  watched.store(new (std::nothrow) WatchedProgram(std::unique_ptr<WatchedProgram>(program)));
}

const RunListener* begin() {
  look_for_parts();
  declare_program_taps(program_listener);
  declare_all_taps();
  Redirections::instance().hold();
  await_optimizers();
  kept.store(new WatchedProgram());
  watched.store(kept.load());
  set_hooks_of_program(&hooks);
  leave_models_at_forks();
  at_fork(&begin_anew);
  return &run_listener;
}

const RunListener* start(char* why, unsigned long size) {
  try {
    return begin();
  } catch (const std::exception& e) {
    std::snprintf(why, size, "%s", e.what());
  } catch (...) {
    std::snprintf(why, size, "Loupe failed at its start");
  }
  return nullptr;
}

}  // namespace

const RunTable run_table = {{&find_losses_for, &forget_losses_for, &check_run_program}, &start};

}  // namespace loupe
