#include "config/sections.h"

#include <loupe/detail/option_table.h>

namespace loupe {
namespace {

const detail::OptionStorage& run_options() {
  static const auto& options = *new detail::OptionStorage({
      {"name", "", "the run's name; the file's when empty"},
      {"dir", "", "where visualizers put their files; the working directory when empty"},
      {"resume", false, "go on with the files of the run before, which are otherwise kept in a folder older-1"},
      {"incidents", 3,
       "how many folders incident-STEP a run may write into dir, with the last 64 steps of all that is measured: at "
       "the first error of a rule, where on_finding says dump, at an abnormal end, and as many by inspector.dump()",
       0, 1000},
      {"incident_tensors", false, "put the parameters and gradients of the module blamed there too, for torch.load"},
      Option::map("tick",
                  "when to tick: epoch (as the trainer says; the default), {steps: 500} of the first attached "
                  "optimizer, {steps: 500, of: MODEL} of that model's, or {seconds: 30}"),
  });
  return options;
}

const detail::OptionStorage& attach_options() {
  static const auto& options = *new detail::OptionStorage({
      {"depth", -1, "how deep to look: -1 the leaves, 0 the model itself, n cut there", -1, 1e6},
      {"separator", ".", "what stands between the parts of a layer's name"},
      {"active", 1, "look at every n-th epoch only", 1, 1e6},
      {"every", 1, "look at one step in so many: of each 2n steps at the first two, so that each has a neighbour", 1,
       1e6},
      {"budget", "", "how much of the time looking may take, such as 1%: chooses every by itself; empty: any"},
      {"history", 65536,
       "compare with earlier steps only so many elements, in fixed random places, of each tensor that has more; 0: "
       "all, which takes 12 to 16 bytes of memory for each element. What compares is estimated of a larger tensor: of "
       "normally distributed numbers and 65536 elements, norms of updates to about 0.3 % and correlations to 0.004 (a "
       "standard error each)",
       0, 1e12},
      {"taps", "auto", "auto, or explicit: only loupe::Tapped modules", {"auto", "explicit"}},
      {"summary", true, "print a line at attach on what is tapped and what is not"},
      {"list_modules", false, "print one line a module at attach"},
      {"train_loss", "train_loss", "the name of the training loss"},
      {"val_loss", "val_loss", "the name of the validation loss"},
  });
  return options;
}

const Strings& answers() {
  static const auto& names = *new Strings{"tell", "stop", "throw", "dump"};
  return names;
}

const detail::OptionStorage& finding_options() {
  static const auto& options = *new detail::OptionStorage({
      {"info", "tell",
       "tell: show it; stop: end the loop over epochs(); throw: out of the next call; dump: write an incident into "
       "run.dir, as errors do anyway",
       answers()},
      {"warning", "tell", "the same for warnings", answers()},
      {"error", "tell", "the same for errors", answers()},
  });
  return options;
}

const detail::OptionStorage& run_program_options() {
  static const auto& options = *new detail::OptionStorage({
      {"models", Strings{},
       "the types whose modules are watched, names or globs; those that optimizers hold when empty"},
      {"epoch", "auto",
       "where an epoch ends: 'eval' (where train() follows eval()), '100 steps', '30 seconds', or auto: where train() "
       "is called again, a data loader or a shuffled order begins anew, or steps go on behind a validation or a step "
       "of "
       "a scheduler, and after 100 steps in a program that does none of that"},
      {"loss", Strings{},
       "names for what backward() is called on, by the order in which the program first does so; '-' leaves one out"},
      {"first_epoch", 0,
       "the number of the first epoch; 0: 1, or with 'resume: true' under run the one behind the last in the record", 0,
       1e9},
  });
  return options;
}

const detail::OptionStorage& trace_options() {
  static const auto& options = *new detail::OptionStorage({
      {"steps", 0,
       "how many steps, one after the other, to write into trace.json in run.dir, for Perfetto or chrome://tracing: "
       "modules as they ran within each other, forward and backward, and findings as marks",
       0, 1000},
      {"after", 10, "how many steps come before", 1, 1e12},
  });
  return options;
}

const detail::OptionStorage& every_lens_options() {
  static const auto& options = *new detail::OptionStorage({
      {"active", 1, "look at every n-th epoch only, of those that attach.active looks at", 1, 1e6},
  });
  return options;
}

}  // namespace

OptionTable lens_options() {
  return {every_lens_options().pointers(), every_lens_options().size()};
}

const std::vector<std::pair<std::string, OptionTable>>& host_sections() {
  static const auto& sections = *new std::vector<std::pair<std::string, OptionTable>>{
      {"run", {run_options().pointers(), run_options().size()}},
      {"attach", {attach_options().pointers(), attach_options().size()}},
      {"on_finding", {finding_options().pointers(), finding_options().size()}},
      {"run_program", {run_program_options().pointers(), run_program_options().size()}},
      {"trace", {trace_options().pointers(), trace_options().size()}},
  };
  return sections;
}

}  // namespace loupe
