#ifndef LOUPE_PIPELINE_INCIDENT_H
#define LOUPE_PIPELINE_INCIDENT_H

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/black_box.h"
#include "pipeline/module_node.h"
#include "show/display.h"

namespace loupe {

/// Writes a tensor into a file that torch.load reads. Made by the part of the host that knows LibTorch.
using SaveTensor = std::function<void(const loupe_tensor& tensor, const std::filesystem::path& file)>;

/// What an incident's folder is made of. Borrows everything.
struct Incident {
  const IncidentCause& cause;
  const RunDescription& run;
  uint64_t step;
  double epoch, time;
  const BlackBox& box;
  const std::vector<std::shared_ptr<ModuleNode>>& modules;
  const std::vector<const loupe_finding*>& findings;
  const std::vector<const loupe_optimizer*>& optimizers;
  const SaveTensor& save;  ///< empty where no tensors are asked for
};

/// Writes `run.directory/incident-STEP`, or `incident-STEP-2` where that is there already, and returns it. Waits for no
/// other thread: what one is at work on is left out. Throws std::exception when the folder cannot be written.
std::string write_incident(const Incident& incident);

}  // namespace loupe

#endif
