#pragma once

#include <memory>
#include <string>
#include <vector>

#include "black_box/incidents.h"
#include "pipeline/module_node.h"
#include "show/display.h"

namespace loupe {

/// What an incident's folder is made of. Borrows everything.
struct Incident {
  const IncidentCause& cause;
  const RunDescription& run;
  uint64_t step;
  double epoch, time;
  const Incidents& numbers;
  const std::vector<std::shared_ptr<ModuleNode>>& modules;
  const std::vector<const loupe_finding*>& findings;
  const std::vector<const loupe_optimizer*>& optimizers;
  const SaveTensor& save;  ///< empty where no tensors are asked for
};

/// Writes `run.directory/incident-STEP`, or `incident-STEP-2` where that is there already, and returns it. Waits for no
/// other thread: what one is at work on is left out. Throws std::exception when the folder cannot be written.
std::string write_incident_folder(const Incident& incident);

/// Why the incidents that are in a run's folder were written, as far as they say so.
std::vector<IncidentCause> causes_of_incidents_in(const std::string& directory);

}  // namespace loupe
