#include "torch/tensor/services.h"

#include <loupe/draft/abi/tensor_math.h>

#include "loader/component_instance.h"
#include "pipeline/gatherer_node.h"

namespace loupe {
namespace {

/// The service of the part.
const void* optional_service(const char* id) {
  const auto* services = part<ServicesTable>(ServicesTable::without);
  return services != nullptr ? services->service(id) : nullptr;
}

std::unique_ptr<DeviceMeasurer> make_device_measurer(const loupe_request& request, int64_t history) {
  const auto* services = part<ServicesTable>(ServicesTable::without);
  return services != nullptr ? services->measurer(request, history) : nullptr;
}

uint64_t print_of(const loupe_event& event) {
  const auto* services = part<ServicesTable>(ServicesTable::without);
  return services != nullptr ? services->print(event) : 0;
}

}  // namespace

void offer_tensor_services() {
  for (const char* id :
       {LOUPE_TENSORS_ID, LOUPE_DRAFT_TENSOR_MATH_ID, LOUPE_DRAFT_TENSOR_FILES_ID, LOUPE_DRAFT_FINGERPRINTS_ID,
        LOUPE_DRAFT_GRAPH_ID, LOUPE_DRAFT_OPTIMIZER_STATES_ID, LOUPE_DRAFT_OPTIMIZER_DEFAULTS_ID})
    offer_interface(id, &optional_service);
  set_device_measurer_factory(&make_device_measurer);
  set_event_print(&print_of);
}

}  // namespace loupe
