#include "ranks/rank_record.h"

#include <loupe/detail/state.h>

namespace loupe::ranks {
namespace {

void write(StateWriter& state, const std::vector<uint64_t>& numbers) {
  state.number(numbers.size());
  for (const uint64_t number : numbers) state.number(number);
}

std::vector<uint64_t> read_numbers(StateReader& state) {
  std::vector<uint64_t> numbers(static_cast<std::size_t>(state.count()));
  for (uint64_t& number : numbers) number = state.number();
  return numbers;
}

void write(StateWriter& state, const Replica::States& states) {
  state.number(states.size());
  for (const auto& [name, numbers] : states) {
    state.text(name);
    write(state, numbers);
  }
}

Replica::States read_states(StateReader& state) {
  Replica::States states;
  for (uint64_t left = state.count(); left > 0; --left) {
    std::string name = state.text();
    states[std::move(name)] = read_numbers(state);
  }
  return states;
}

}  // namespace

std::string Replica::bytes() const {
  StateWriter state;
  write(state, start);
  write(state, parameters);
  state.number(gradients.size());
  for (const Gradients& each : gradients) {
    state.number(each.step);
    write(state, each.used);
    state.number(each.shape.signs);
    state.real(each.shape.norm);
    state.real(each.shape.largest);
  }
  write(state, first_states);
  write(state, states);
  return state.bytes();
}

Replica Replica::read(std::string_view bytes) {
  Replica replica;
  if (bytes.empty()) return replica;
  StateReader state(bytes);
  replica.start = read_numbers(state);
  replica.parameters = read_numbers(state);
  for (uint64_t left = state.count(); left > 0; --left) {
    const uint64_t step = state.number();
    replica.gradients.push_back({step, read_numbers(state), {}});
    GradientShape& shape = replica.gradients.back().shape;
    shape.signs = state.number();
    shape.norm = state.real();
    shape.largest = state.real();
  }
  replica.first_states = read_states(state);
  replica.states = read_states(state);
  state.finish();
  return replica;
}

std::string RankRecord::bytes() const {
  StateWriter state;
  for (const uint64_t number : {model, config, steps, forwards, all_steps}) state.number(number);
  for (const double number : {learning_rate, batch_size, loss, gradient, input, step_seconds, waited_seconds})
    state.real(number);
  state.text(loupe_version);
  state.text(libtorch_version);
  write(state, batches);
  state.number(masks.size());
  for (const auto& [module, mask] : masks) {
    state.text(module);
    state.text(mask);
  }
  state.number(evaluated.size());
  for (const std::string& module : evaluated) state.text(module);
  state.number(has_non_finite ? 1 : 0);
  state.number(non_finite.step);
  state.text(non_finite.module);
  state.text(non_finite.what);
  return state.bytes();
}

RankRecord RankRecord::read(std::string_view bytes) {
  RankRecord record;
  if (bytes.empty()) return record;
  StateReader state(bytes);
  for (uint64_t* number : {&record.model, &record.config, &record.steps, &record.forwards, &record.all_steps})
    *number = state.number();
  for (double* number : {&record.learning_rate, &record.batch_size, &record.loss, &record.gradient, &record.input,
                         &record.step_seconds, &record.waited_seconds})
    *number = state.real();
  record.loupe_version = state.text();
  record.libtorch_version = state.text();
  record.batches = read_numbers(state);
  for (uint64_t left = state.count(); left > 0; --left) {
    std::string module = state.text();
    record.masks.emplace_back(std::move(module), state.text());
  }
  for (uint64_t left = state.count(); left > 0; --left) record.evaluated.push_back(state.text());
  record.has_non_finite = state.number() != 0;
  record.non_finite.step = state.number();
  record.non_finite.module = state.text();
  record.non_finite.what = state.text();
  state.finish();
  return record;
}

}  // namespace loupe::ranks
