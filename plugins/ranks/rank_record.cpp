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

namespace {

void write(StateWriter& state, const MeasuredStep& measured) {
  for (const uint64_t number : {measured.step, measured.forwards, measured.rows}) state.number(number);
  for (const double number :
       {measured.input_squares, measured.input_elements, measured.gradient_squares, measured.seconds, measured.waited})
    state.real(number);
  write(state, measured.batches);
  write(state, measured.evaluated);
}

MeasuredStep read_measured(StateReader& state) {
  MeasuredStep measured;
  for (uint64_t* number : {&measured.step, &measured.forwards, &measured.rows}) *number = state.number();
  for (double* number : {&measured.input_squares, &measured.input_elements, &measured.gradient_squares,
                         &measured.seconds, &measured.waited})
    *number = state.real();
  measured.batches = read_numbers(state);
  measured.evaluated = read_numbers(state);
  return measured;
}

void write(StateWriter& state, const RankRecord::NonFinite& non_finite) {
  state.number(non_finite.step);
  state.text(non_finite.module);
  state.text(non_finite.what);
  state.number(non_finite.finite_before);
}

RankRecord::NonFinite read_non_finite(StateReader& state) {
  RankRecord::NonFinite non_finite;
  non_finite.step = state.number();
  non_finite.module = state.text();
  non_finite.what = state.text();
  non_finite.finite_before = state.number();
  return non_finite;
}

}  // namespace

std::string RankRecord::bytes() const {
  StateWriter state;
  for (const uint64_t number : {model, config, steps, losses, all_steps}) state.number(number);
  for (const double number : {learning_rate, loss, device_gradient}) state.real(number);
  state.text(loupe_version);
  state.text(framework_version);
  state.number(measured.size());
  for (const MeasuredStep& each : measured) write(state, each);
  state.number(masks.size());
  for (const auto& [module, mask] : masks) {
    state.text(module);
    state.text(mask);
  }
  write(state, non_finite);
  write(state, bad_loss);
  return state.bytes();
}

RankRecord RankRecord::read(std::string_view bytes) {
  RankRecord record;
  if (bytes.empty()) return record;
  StateReader state(bytes);
  for (uint64_t* number : {&record.model, &record.config, &record.steps, &record.losses, &record.all_steps})
    *number = state.number();
  for (double* number : {&record.learning_rate, &record.loss, &record.device_gradient}) *number = state.real();
  record.loupe_version = state.text();
  record.framework_version = state.text();
  for (uint64_t left = state.count(); left > 0; --left) record.measured.push_back(read_measured(state));
  for (uint64_t left = state.count(); left > 0; --left) {
    std::string module = state.text();
    record.masks.emplace_back(std::move(module), state.text());
  }
  record.non_finite = read_non_finite(state);
  record.bad_loss = read_non_finite(state);
  state.finish();
  return record;
}

}  // namespace loupe::ranks
