#pragma once

#include <cstdlib>
#include <cstring>

#include "core/built_with.h"
#include "core/find.h"

// The interface between libloupe_run.so, which can be preloaded into any program, and the library that watches, which
// is loaded only once the program uses LibTorch. It has plain C types, because libloupe_run.so has neither LibTorch nor
// C++'s library.

namespace loupe {

/// Callbacks of the watching library. Any thread; none of them throws.
struct RunListener {
  /// The program requested the parameters of a torch::nn::Module, which is alive during the call.
  void (*module_used)(const void* module);
  /// A torch::nn::Module is about to be switched between training and evaluation.
  void (*mode_set)(void* module, bool trains);
  /// A torch::optim::Optimizer, perhaps still under construction, is about to get a group of parameters.
  void (*group_added)(const void* optimizer, const void* group);
  /// The program ends.
  void (*finish)();
  /// Its main thread has ended by pthread_exit while others run on.
  void (*main_ended)();
};

/// Begins to watch this process. Null, with the reason in `why`, if it cannot.
using RunStart = const RunListener* (*)(char* why, unsigned long size);
/// The table of the part `run`, which libloupe_run.so opens beside the host itself.
struct RunTable : FindTable {
  RunStart start;
};
constexpr const char* run_host_name = "libloupe_host.so.1";
constexpr const char* run_part_name = "loupe/optional/run.so";
constexpr const char* built_with_mark = LOUPE_BUILT_WITH_MARK;

/// Environment variables through which `loupe run`, or a job script, passes its options.
constexpr const char* run_config_variable = "LOUPE_RUN_CONFIG";    ///< a YAML file; the default monitor where unset
constexpr const char* run_folder_variable = "LOUPE_RUN_FOLDER";    ///< the folder for the default monitor's runs
constexpr const char* run_name_variable = "LOUPE_RUN_NAME";        ///< the name of the run
constexpr const char* run_require_variable = "LOUPE_RUN_REQUIRE";  ///< "1": exit with 2 if nothing can be watched
constexpr const char* run_trace_variable = "LOUPE_RUN_TRACE";      ///< the number of steps to trace
constexpr const char* run_follow_variable = "LOUPE_RUN_FOLLOW";    ///< "no": children are not watched
constexpr const char* run_every_step_variable = "LOUPE_RUN_EVERY_STEP";  ///< "1": without a budget
constexpr const char* run_process_variable = "LOUPE_RUN_PROCESS";  ///< the process that was started, not its children
constexpr const char* run_hosts_variable = "LOUPE_RUN_HOSTS";      ///< folders of further installations, by ':'

constexpr int exit_unwatched = 2;

/// Whether a variable of the environment has this value.
inline bool is_set(const char* variable, const char* value) {
  const char* text = std::getenv(variable);
  return text != nullptr && std::strcmp(text, value) == 0;
}

}  // namespace loupe
