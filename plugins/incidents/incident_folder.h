#pragma once

#include <loupe/draft/incidents.h>

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "incidents/last_steps.h"

namespace loupe::incidents {

/// One stream that the host measures; its name is like "conv1 parameter_gradient weight".
struct StreamSteps {
  std::string name;
  LastSteps steps;

  void event(const Event& event) noexcept { steps.add(*event.raw()); }
};
/// A module, null until it is visited, and its streams in order of their start, those with the same name together.
struct WatchedModule {
  const loupe_module* module = nullptr;
  std::list<StreamSteps> streams;
};
/// The learning rates of one parameter group; its name is like "generator Adam group 0".
struct Rates {
  std::string name;
  LastSteps steps;
};
using GroupKey = std::pair<uint64_t, std::size_t>;  ///< the optimizer's id and the index of the group

/// The kept steps of a run.
struct KeptSteps {
  std::map<std::string, LastSteps, std::less<>> pushes;
  std::map<GroupKey, Rates> rates;
  std::map<uint64_t, WatchedModule> modules;  ///< by module id; ids ascend in the model's order
};

/// Writes the folder LOUPE_DRAFT_INCIDENT_FOLDER plus the step, or `incident-STEP-2` if that exists, into the run's
/// folder, and returns its path. Does not wait for other threads: leaves out data that one of them is using. Throws
/// std::exception if the folder cannot be written.
/// @param saves  whether to save the parameters and gradients of the blamed module, too
std::string write_incident_folder(const loupe_draft_incident& incident, const loupe_run& run, const KeptSteps& kept,
                                  const Host& host, bool saves);

/// The reason for an earlier incident, as its folder states it.
struct Earlier {
  std::string how, rule;
};
/// The incidents in a run's folder.
std::vector<Earlier> incidents_in(const std::string& directory);

}  // namespace loupe::incidents
