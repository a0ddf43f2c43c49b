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

/// One stream that the host measures, by its name: "conv1 parameter_gradient weight".
struct StreamSteps {
  std::string name;
  LastSteps steps;

  void event(const Event& event) noexcept { steps.add(*event.raw()); }
};
/// A module, once it is visited, and its streams: in the order in which they began, those of one name together.
struct WatchedModule {
  const loupe_module* module = nullptr;
  std::list<StreamSteps> streams;
};
/// One group of an optimizer's: "generator Adam group 0".
struct Rates {
  std::string name;
  LastSteps steps;
};
using GroupKey = std::pair<uint64_t, std::size_t>;  ///< the optimizer's id, and which of its groups

/// The kept data of a run.
struct KeptSteps {
  std::map<std::string, LastSteps, std::less<>> pushes;
  std::map<GroupKey, Rates> rates;
  std::map<uint64_t, WatchedModule> modules;  ///< by their ids, which ascend in the model's order
};

/// Writes LOUPE_DRAFT_INCIDENT_FOLDER and the step, or `incident-STEP-2` if that exists, into the run's folder, and
/// returns it. Waits for no other thread: data in use by one is left out. Throws std::exception where the folder cannot
/// be written.
/// @param saves  also the parameters and gradients of the module blamed
std::string write_incident_folder(const loupe_draft_incident& incident, const loupe_run& run, const KeptSteps& kept,
                                  const Host& host, bool saves);

/// Why an incident was written, as far as its folder says so.
struct Earlier {
  std::string how, rule;
};
/// Those that are in a run's folder.
std::vector<Earlier> incidents_in(const std::string& directory);

}  // namespace loupe::incidents
