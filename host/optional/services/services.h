#pragma once

#include <loupe/draft/abi/tensor_math.h>

#include "torch/tensor/services.h"

namespace loupe {

extern const ServicesTable services_table;

// What components ask for, by its id. The tables live for good.

/// LOUPE_DRAFT_TENSOR_MATH_ID
const loupe_draft_tensor_math_service& tensor_math_service();
/// LOUPE_DRAFT_TENSOR_FILES_ID
const loupe_draft_tensor_file_service& tensor_files_service();
/// LOUPE_DRAFT_FINGERPRINTS_ID
const loupe_draft_fingerprint_service& fingerprint_service();
/// LOUPE_DRAFT_GRAPH_ID
const loupe_draft_graph_service& graph_service();
/// LOUPE_DRAFT_OPTIMIZER_STATES_ID
const loupe_draft_optimizer_state_service& optimizer_state_service();
/// LOUPE_DRAFT_OPTIMIZER_DEFAULTS_ID
const loupe_draft_optimizer_defaults_service& optimizer_defaults_service();

}  // namespace loupe
