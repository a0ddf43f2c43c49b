#pragma once

// A draft: it may change or go without notice. Actions of a plugin when the process ends in an unsafe state.

#include <loupe/draft/abi/last_words.h>
#include <loupe/host.h>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// While it lives, `speak` is called with `place` as the process ends; see the service. Does nothing where the host
/// does not offer it.
class LastWords {
 public:
  /// @param speak  safe in a signal handler  @param place  in static memory
  LastWords(const Host& host, loupe_draft_last_words speak, void* place)
      : service_(static_cast<const loupe_draft_last_words_service*>(host.get_extension(LOUPE_DRAFT_LAST_WORDS_ID))),
        context_(host.context()),
        place_(place) {
    if (service_ != nullptr) service_->add(context_, speak, place);
  }
  ~LastWords() {
    if (service_ != nullptr) service_->remove(context_, place_);
  }
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  const loupe_draft_last_words_service* service_;
  void *context_, *place_;
};

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe
