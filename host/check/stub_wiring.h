#pragma once

#include <loupe/abi.h>

namespace loupe::check {

/// What gatherers and lenses are given besides the host. The context of each is the Session.
loupe_taps stub_taps(void* session);
loupe_wiring stub_wiring(void* session);
loupe_sink stub_sink(void* session);

}  // namespace loupe::check
