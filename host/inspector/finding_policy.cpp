#include "inspector/finding_policy.h"

#include <loupe/text/words.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/log.h"

namespace loupe {

void FindingPolicy::answer(const loupe_finding& finding) {
  if (finding.state == LOUPE_FINDING_RAISED) {
    const std::string& answer = monitor_.config().answer_to(finding.severity);
    const std::string words = "the finding '" + std::string(finding.rule) + "'";
    if (answer == "stop" && !std::exchange(should_stop_, true))
      log(LOUPE_LOG_WARNING,
          "training is asked to stop, as on_finding says, because of " + words + ": " + message_with_place(finding));
    if (answer == "throw")
      monitor_.outbox()->keep(std::make_exception_ptr(
          std::runtime_error("loupe: " + words + ", which on_finding says to throw: " + message_with_place(finding))));
  }
  monitor_.outbox()->queue_for_delivery(finding);
}

}  // namespace loupe
