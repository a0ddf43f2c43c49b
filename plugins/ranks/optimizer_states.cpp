#include "ranks/optimizer_states.h"

#include <loupe/draft/tensor_math.h>

#include <algorithm>
#include <utility>

namespace loupe::ranks {
namespace {

/// Whether it was not there yet.
bool add_new(std::vector<uint64_t>& ids, uint64_t id) {
  if (std::find(ids.begin(), ids.end(), id) != ids.end()) return false;
  ids.push_back(id);
  return true;
}

void note(Replica::States& states, const std::string& state, std::size_t tensor, uint64_t fingerprint) {
  std::vector<uint64_t>& of = states[state];
  of.resize(std::max(of.size(), tensor + 1), 0);
  of[tensor] = fingerprint;
}

}  // namespace

uint64_t OptimizerStates::Kept::fingerprint(Prints& prints) const {
  const Host& host = memory.get_deleter().host;
  return prints.take(TensorView(host.tensors().view(host.context(), memory.get())));
}

void OptimizerStates::stepped(const Host& host, uint64_t optimizer, const std::deque<ModelTensor>& tensors,
                              Prints& prints) {
  if (!add_new(stepped_, optimizer)) return;
  const bool is_first = add_new(known_, optimizer);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_buffer) continue;
    host.lend_parameter(tensors[i].module, tensors[i].name.c_str(), false, [&](const loupe_tensor& parameter) {
      draft::lend_optimizer_states(host, parameter, [&](const char* name, const loupe_tensor& state) {
        loupe_retained* kept = nullptr;
        detail::ErrorBuffer error;
        error.check(host.tensors().retain(host.context(), &state, &kept, error.get()));
        kept_.push_back({i, name, {kept, Release{host}}});
        if (is_first) note(start_, name, i, kept_.back().fingerprint(prints));
      });
    });
  }
}

void OptimizerStates::say(Replica& replica, Prints& prints) {
  for (const Kept& kept : kept_) note(replica.states, kept.state, kept.tensor, kept.fingerprint(prints));
  release();
}

void OptimizerStates::fill(Replica& replica, const Prints& prints) {
  for (auto& [name, numbers] : start_) prints.fill(numbers);
  for (auto& [name, numbers] : replica.states) prints.fill(numbers);
  replica.first_states = start_;
}

void OptimizerStates::release() {
  kept_.clear();
  stepped_.clear();
}

}  // namespace loupe::ranks
