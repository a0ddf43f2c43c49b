// What a lens's sources hold, as bytes that other processes of the run merge with theirs.

#include <loupe/draft/abi/ranks.h>

#include <string>
#include <utility>

#include "pipeline/lens_node.h"

namespace loupe {
namespace {

constexpr std::size_t size_without_series = 16;  // a version, and how many there are

/// FNV-1a.
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash;
}

/// Under its module's lock.
std::string state_of(const loupe_source& source) {
  const loupe_write append = [](void* bytes, const void* piece, std::size_t size, loupe_error* error) {
    return detail::guarded(error, [&] {
      if (size > 0) static_cast<std::string*>(bytes)->append(static_cast<const char*>(piece), size);
    });
  };
  std::string bytes;
  detail::ErrorBuffer error;
  error.check(source.table->save_state(source.self, append, &bytes, error.get()));
  return bytes;
}

}  // namespace

uint64_t LensNode::key_of(const loupe_source& source, const ModuleNode& module) {
  const std::string text =
      name() + '\n' + module.description().name + '\n' + source.gatherer->key() + '\n' + source.preprocessor + '\n';
  for (int number = 0;; ++number) {
    const uint64_t key = hash_of(text + std::to_string(number));
    if (by_key_.count(key) == 0) return key;
  }
}

bool LensNode::takes_all_ranks() const {
  const loupe_lens& table = instance_.table<loupe_lens>();
  return LOUPE_OFFERS(table, get_extension) && table.get_extension(instance_.self(), LOUPE_DRAFT_RANKS_ID) != nullptr;
}

std::string LensNode::cannot_merge() const {
  if (!tallies_.empty() || (LOUPE_OFFERS(instance_.table<loupe_lens>(), step) && !takes_all_ranks()))
    return "they follow steps";
  for (const auto& [id, sources] : sources_) {
    for (const loupe_source& source : sources) {
      if (!LOUPE_OFFERS(*source.table, save_state) || !LOUPE_OFFERS(*source.table, merge_state))
        return "the preprocessor '" + source.preprocessor + "' has no state to merge";
    }
  }
  return "";
}

void LensNode::save(LensStates& states) try {
  states.lens = name();
  states.unable = guard_.quarantined() ? "it failed" : cannot_merge();
  if (!states.unable.empty()) return;
  const bool takes_all = takes_all_ranks();
  for (auto& [id, sources] : sources_) {
    for (const loupe_source& source : sources) {
      const std::lock_guard lock(*source.mutex);
      std::string bytes = state_of(source);
      // The state of a preprocessor of the lens's own that has no series, and keeps its numbers elsewhere.
      const bool lacks_state = !takes_all && source.is_own && source.gatherer->unticked() > 0 &&
                               source.table->series_count(source.self) == 0 && bytes.size() <= size_without_series;
      if (!lacks_state) {
        states.sources.push_back({source.key, std::move(bytes), !takes_all && source.gatherer->sees_replicas()});
      } else {
        states.unable = "the preprocessor '" + source.preprocessor + "' has no state to merge";
        return states.sources.clear();
      }
    }
  }
} catch (const Error& e) {
  states.unable = std::string("saving its state failed: ") + e.what();
  states.sources.clear();
}

bool LensNode::merge(const LensStates& states, bool replicas) {
  const bool takes_all = replicas || takes_all_ranks();
  bool all = true;
  for (const SourceState& state : states.sources) {
    const auto known = by_key_.find(state.key);
    if (known == by_key_.end()) continue;
    const loupe_source& source = *known->second;
    if (!takes_all && source.gatherer->sees_replicas()) continue;
    detail::ErrorBuffer error;
    const std::lock_guard lock(*source.mutex);
    all = call_component(guard_.speaker(), error.get(),
                         [&] {
                           return source.table->merge_state(source.self, state.bytes.data(), state.bytes.size(),
                                                            error.get());
                         }) == LOUPE_OK &&
          all;
  }
  return all;
}

LensStates LensNode::take_states() {
  LensStates states;
  save(states);
  reset_all();
  return states;
}

}  // namespace loupe
