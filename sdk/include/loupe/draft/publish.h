#ifndef LOUPE_DRAFT_PUBLISH_H
#define LOUPE_DRAFT_PUBLISH_H

// A draft: it may change or go without notice. Findings of components that have no Report at hand.

#include <loupe/draft/abi/findings.h>
#include <loupe/host.h>

namespace loupe::draft {

/// Any thread. Does nothing where the host does not offer this draft.
inline void publish(const Host& host, const loupe_finding& finding) {
  const auto* table = static_cast<const loupe_draft_finding_service*>(host.get_interface(LOUPE_DRAFT_FINDINGS_ID));
  if (table == nullptr) return;
  detail::ErrorBuffer error;
  error.check(table->publish(host.context(), &finding, error.get()));
}

}  // namespace loupe::draft

#endif
