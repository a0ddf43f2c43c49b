#ifndef LOUPE_CORE_HOST_INTERFACE_H
#define LOUPE_CORE_HOST_INTERFACE_H

#include <loupe/abi.h>

namespace loupe {

/// The host as components see it.
const loupe_host& host_interface();

/// Offers a service, such as LOUPE_TENSORS_ID, to components. The table must live for good.
void offer_interface(const char* id, const void* table);

}  // namespace loupe

#endif
