#include "ranks/lens_states.h"

#include <loupe/draft/abi/ranks.h>
#include <loupe/error.h>
#include <loupe/preprocessor.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>

namespace loupe {
namespace {

constexpr std::size_t size_without_series = 16;  // a version, and the number of series

/// Saves the state of a source under its module's lock.
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

/// Whether its events are the same in every process that trains a replica of the model: parameters, and gradients as an
/// optimizer uses them.
bool sees_replicas(const GathererNode& gatherer) {
  const auto& streams = gatherer.streams();
  return !streams.empty() && std::all_of(streams.begin(), streams.end(), [](const Stream* stream) {
    return stream->tap() == LOUPE_TAP_STEP_GRADIENT || stream->tap() == LOUPE_TAP_OPTIMIZER_STEP ||
           stream->tap() == LOUPE_TAP_TICK;
  });
}

}  // namespace

bool LensStatesOf::takes_all_ranks() const {
  const loupe_lens& table = lens_.instance_.table<loupe_lens>();
  return LOUPE_OFFERS(table, get_extension) &&
         table.get_extension(lens_.instance_.self(), LOUPE_DRAFT_RANKS_ID) != nullptr;
}

std::string LensStatesOf::cannot_merge() const {
  if (!lens_.tallies_.empty() || (LOUPE_OFFERS(lens_.instance_.table<loupe_lens>(), step) && !takes_all_ranks()))
    return "they follow steps";
  for (const auto& [id, sources] : lens_.sources_) {
    for (const loupe_source& source : sources) {
      if (!LOUPE_OFFERS(*source.table, save_state) || !LOUPE_OFFERS(*source.table, merge_state))
        return "the preprocessor '" + source.preprocessor + "' has no state to merge";
    }
  }
  return "";
}

LensStates LensStatesOf::save() const {
  LensStates states;
  states.lens = lens_.name();
  states.unable = lens_.quarantined() ? "it failed" : cannot_merge();
  try {
    if (states.unable.empty()) save_sources(states);
  } catch (const Error& e) {
    states.unable = std::string("saving its state failed: ") + e.what();
  }
  if (!states.unable.empty()) states.sources.clear();
  return states;
}

void LensStatesOf::save_sources(LensStates& states) const {
  const bool takes_all = takes_all_ranks();
  for (const auto& [id, sources] : lens_.sources_) {
    for (const loupe_source& source : sources) {
      const std::lock_guard lock(*source.mutex);
      std::string bytes = state_of(source);
      // This preprocessor of the lens has no series, and keeps its values elsewhere.
      if (!takes_all && source.is_own && source.gatherer->unticked() > 0 &&
          source.table->series_count(source.self) == 0 && bytes.size() <= size_without_series) {
        states.unable = "the preprocessor '" + source.preprocessor + "' has no state to merge";
        return;
      }
      states.sources.push_back({source.key, std::move(bytes), !takes_all && sees_replicas(*source.gatherer)});
    }
  }
}

bool LensStatesOf::merge(const LensStates& states, bool replicas) const {
  const bool takes_all = replicas || takes_all_ranks();
  bool all = true;
  for (const SourceState& state : states.sources) {
    const auto known = lens_.by_key_.find(state.key);
    if (known == lens_.by_key_.end()) continue;
    const loupe_source& source = *known->second;
    if (!takes_all && sees_replicas(*source.gatherer)) continue;
    detail::ErrorBuffer error;
    const std::lock_guard lock(*source.mutex);
    all = call_component_for_part(lens_.guard_.speaker(), error.get(),
                                  [&] {
                                    return source.table->merge_state(source.self, state.bytes.data(),
                                                                     state.bytes.size(), error.get());
                                  }) == LOUPE_OK &&
          all;
  }
  return all;
}

LensStates LensStatesOf::take() const {
  LensStates states = save();
  lens_.reset_all();
  return states;
}

}  // namespace loupe
