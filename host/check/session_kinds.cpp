// What each kind of component goes through in its life.

#include <loupe/detail/series_reading.h>
#include <loupe/preprocessor.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "check/session.h"

namespace loupe::check {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (x != x && y != y); });
}

void Session::begin() {
  if (self_ == nullptr) return;
  const std::size_t failed_before = failures_.size();
  if (subject_.kind == Kind::gatherer) begin_gatherer();
  if (subject_.kind == Kind::preprocessor) begin_preprocessor();
  if (subject_.kind == Kind::lens) begin_lens();
  if (subject_.kind == Kind::visualizer) begin_visualizer();
  failed_to_begin_ = failures_.size() > failed_before;
}

/// What a gatherer watches, only it knows: a module, a parameter of one, or what is pushed. One of these must do.
void Session::begin_gatherer() {
  struct Place {
    const loupe_module* module;
    const char* label;
  };
  const loupe_module* linear = network_.modules[1];
  const Place places[] = {{linear, nullptr}, {linear, "weight"}, {nullptr, nullptr}, {nullptr, "accuracy"}};
  const std::vector<Answer> before = failures_;
  for (const Place& place : places) {
    if (self_ == nullptr) create();  // one that failed to open is of no more use
    if (self_ == nullptr) return;
    label_ = place.label != nullptr ? place.label : "";
    opened_on_ = place.module;
    const Answer answer = call("open", Turn::opening, [&](LentMemory& memory, loupe_error* error) {
      const char* label = place.label != nullptr ? memory.text(place.label) : nullptr;
      return table<loupe_gatherer>().open(self_, taps_, place.module, label, error);
    });
    open_ = answer.ok();
    if (open_) {
      failures_ = before;
      return;
    }
    if (answer.threw) return;
    destroy();
  }
}

void Session::begin_preprocessor() {
  call("request", Turn::none, [&](LentMemory& memory, loupe_error* error) {
    loupe_request* asked = memory.lend_to_fill<loupe_request>(loupe_request{});
    const loupe_status status = table<loupe_preprocessor>().request(self_, asked, error);
    request_ = loupe_request{};
    std::memcpy(&request_, asked, std::min<std::size_t>(asked->struct_size, sizeof request_));
    StubHost::note_draft_measures(request_.measures);
    return status;
  });
}

void Session::begin_lens() {
  call("attach", Turn::attaching,
       [&](LentMemory&, loupe_error* error) { return table<loupe_lens>().attach(self_, wiring_, error); });
  for (const loupe_module* module : network_.modules) {
    call("visit", Turn::visiting,
         [&](LentMemory&, loupe_error* error) { return table<loupe_lens>().visit(self_, module, error); });
  }
}

void Session::begin_visualizer() {
  const auto& shows = table<loupe_visualizer>();
  if (LOUPE_OFFERS(shows, begin)) {
    call("begin", Turn::none,
         [&](LentMemory& memory, loupe_error* error) { return shows.begin(self_, lend_run(memory, folder_), error); });
  }
  if (LOUPE_OFFERS(shows, model)) {
    call("model", Turn::none,
         [&](LentMemory& memory, loupe_error* error) { return shows.model(self_, lend_network(memory).model, error); });
  }
}

Answer Session::process(const Data& data) {
  return call("process", Turn::event, [&](LentMemory& memory, loupe_error* error) {
    const loupe_event* event = lend_event(memory, data, network_.modules[1], nullptr, events_++, request_.measures);
    return metered([&] { return table<loupe_preprocessor>().process(self_, event, error); });
  });
}

void Session::feed(const Data& data) {
  if (self_ == nullptr || failed_to_begin_) return;
  if (subject_.kind == Kind::gatherer && open_ && LOUPE_OFFERS(table<loupe_gatherer>(), event)) {
    call("event", Turn::event, [&](LentMemory& memory, loupe_error* error) {
      const char* label = label_.empty() ? nullptr : label_.c_str();
      const loupe_event* event = lend_event(memory, data, opened_on_, label, events_++, ~0u);
      return metered([&] { return table<loupe_gatherer>().event(self_, event, error); });
    });
  }
  if (subject_.kind == Kind::preprocessor) process(data);
  if (subject_.kind == Kind::lens) feed_lens(data);
}

void Session::process_own(Watched& watched, const Data& data) {
  call("process of its own preprocessor", Turn::event, [&](LentMemory& memory, loupe_error* error) {
    const char* label = watched.label.empty() ? nullptr : watched.label.c_str();
    const loupe_event* event = lend_event(memory, data, watched.module, label, events_++, watched.request.measures);
    const auto process = [&] { return watched.own->process(watched.own_self, event, error); };
    return watched.comes_at_ticks ? process() : metered(process);
  });
}

void Session::feed_lens(const Data& data) {
  for (Watched& watched : watched_) {
    if (watched.own == nullptr || watched.forgotten) continue;
    // While events are measured, those of ticks come with the tick alone.
    if (!watched.comes_at_ticks || meter_ == nullptr) process_own(watched, data);
  }
  if (!LOUPE_OFFERS(table<loupe_lens>(), step)) return;
  call("step", Turn::stepping, [&](LentMemory& memory, loupe_error* error) {
    return table<loupe_lens>().step(self_, lend_step(memory, ++events_), sink_, error);
  });
}

void Session::tick() {
  if (self_ == nullptr || failed_to_begin_) return;
  if (subject_.kind == Kind::preprocessor) tick_preprocessor();
  if (subject_.kind == Kind::lens) tick_lens();
  if (subject_.kind == Kind::visualizer) tick_visualizer();
  ++ticks_;
}

std::vector<double> Session::numbers() {
  std::vector<double> numbers;
  if (subject_.kind == Kind::preprocessor) add_numbers(table<loupe_preprocessor>(), self_, numbers);
  for (const Watched& watched : watched_) {
    if (watched.own != nullptr && !watched.forgotten) add_numbers(*watched.own, watched.own_self, numbers);
  }
  return numbers;
}

bool Session::keeps_name(void* preprocessor, std::size_t series, const char* name) {
  if (name == nullptr) return false;
  const auto& known = names_.try_emplace({preprocessor, series}, name, name).first->second;
  return known.first == name && known.second == name;
}

void Session::add_numbers(const loupe_preprocessor& counts, void* self, std::vector<double>& numbers) {
  call("series", Turn::none, [&](LentMemory& memory, loupe_error* error) -> loupe_status {
    const std::size_t count = counts.series_count(self);
    for (std::size_t i = 0; i < count; ++i) {
      // The host's own struct, to be written to: a copy that ends where no one may write.
      auto* lent = const_cast<loupe_series*>(memory.lend(loupe_series{}));
      const loupe_status status = counts.read(self, i, lent, error);
      if (status != LOUPE_OK) return status;
      loupe_series row{};
      std::memcpy(&row, lent, std::min<std::size_t>(lent->struct_size, sizeof row));
      if (LOUPE_REACHES(*lent, name) && !keeps_name(self, i, row.name)) {
        loupe::detail::write_error(error, "the name of a series is null, or has moved or changed; keep it as it is");
        return LOUPE_INVALID;
      }
      for (const uint64_t number : {row.count, row.nan_count, row.inf_count})
        numbers.push_back(static_cast<double>(number));
      for (const double number : {row.sum, row.mean, row.standard_deviation, row.minimum, row.maximum, row.last})
        numbers.push_back(number);
      if (LOUPE_OFFERS(counts, quantiles)) {
        constexpr double q[] = {0, 0.25, 0.5, 0.75, 1};
        double values[std::size(q)] = {NAN, NAN, NAN, NAN, NAN};  // what the call leaves where there are none
        const loupe_status status = counts.quantiles(self, i, q, std::size(q), values, error);
        for (const double value : values) numbers.push_back(status == LOUPE_OK ? value : infinity);
      }
      if (!LOUPE_OFFERS(counts, values)) continue;
      try {
        const std::vector<double> values = loupe::detail::series_values(counts, self, i);
        numbers.insert(numbers.end(), values.begin(), values.end());
      } catch (const Error&) {  // they are folded, not kept
      }
    }
    return LOUPE_OK;
  });
}

void Session::tick_preprocessor() {
  numbers();
  call("reset", Turn::none,
       [&](LentMemory&, loupe_error* error) { return table<loupe_preprocessor>().reset(self_, error); });
}

bool Session::is_blind() const {
  return subject_.kind == Kind::lens && watched_.empty() && !has_shown_ && !LOUPE_OFFERS(table<loupe_lens>(), step);
}

void Session::tick_lens() {
  const auto& lens = table<loupe_lens>();
  for (Watched& watched : watched_) {
    if (meter_ != nullptr && watched.own != nullptr && !watched.forgotten && watched.comes_at_ticks)
      process_own(watched, usual_data());
  }
  for (LastValues* told : {&values_, &ranges_, &histograms_}) told->begin_tick();
  call("report", Turn::reporting, [&](LentMemory& memory, loupe_error* error) {
    return lens.report(self_, lend_tick(memory, ticks_), sink_, error);
  });
  for (const Watched& watched : watched_) {
    if (watched.own == nullptr || watched.forgotten) continue;
    call("reset of its own preprocessor", Turn::none,
         [&](LentMemory&, loupe_error* error) { return watched.own->reset(watched.own_self, error); });
  }
}

void Session::tick_visualizer() {
  const auto& shows = table<loupe_visualizer>();
  const loupe_module* linear = network_.modules[1];
  const auto tell = [&](const char* function, auto member, auto&& lend) {
    const auto& told = shows.*member;
    const auto end = reinterpret_cast<const char*>(&told + 1) - reinterpret_cast<const char*>(&shows);
    if (shows.struct_size < static_cast<std::size_t>(end) || told == nullptr) return;
    call(function, Turn::none,
         [&](LentMemory& memory, loupe_error* error) { return told(self_, lend(memory), error); });
  };
  const auto tell_nothing = [&](const char* function, auto member) {
    const auto& told = shows.*member;
    const auto end = reinterpret_cast<const char*>(&told + 1) - reinterpret_cast<const char*>(&shows);
    if (shows.struct_size < static_cast<std::size_t>(end) || told == nullptr) return;
    call(function, Turn::none, [&](LentMemory&, loupe_error* error) { return told(self_, error); });
  };
  tell("tag", &loupe_visualizer::tag, [&](LentMemory& memory) { return lend_tag(memory, "Norm", false); });
  for (uint32_t type = LOUPE_TYPE_BOOLEAN; type <= LOUPE_TYPE_STRINGS; ++type) {
    tell("hyperparameter", &loupe_visualizer::hyperparameter,
         [&](LentMemory& memory) { return lend_hyperparameter(memory, type); });
  }
  tell("begin_tick", &loupe_visualizer::begin_tick, [&](LentMemory& memory) { return lend_tick(memory, ticks_); });
  tell("tag", &loupe_visualizer::tag, [&](LentMemory& memory) { return lend_tag(memory, "Loss", true); });
  tell("row", &loupe_visualizer::row, [&](LentMemory& memory) {
    return lend_row(memory, "Norm", "0", {{"mean", 0.5}, {"min", -2}}, 1);
  });
  tell("row", &loupe_visualizer::row, [&](LentMemory& memory) {
    return lend_row(memory, "Loss", nullptr, {{"mean", 0.5}});
  });
  tell("histogram", &loupe_visualizer::histogram,
       [&](LentMemory& memory) { return lend_histogram(memory, "Norm", 5, 3); });
  tell("finding", &loupe_visualizer::finding, [&](LentMemory& memory) { return lend_finding(memory, linear); });
  tell_nothing("end_tick", &loupe_visualizer::end_tick);
  tell("progress", &loupe_visualizer::progress, [&](LentMemory& memory) {
    return memory.lend(
        loupe_progress{.at = {20, 1, 1.7e9, 2}, .epochs = 4, .steps = 10, .steps_before = 10, .seconds = 0.5});
  });
  tell("note", &loupe_visualizer::note, [&](LentMemory& memory) {
    return memory.lend(
        loupe_note{.kind = LOUPE_NOTE_INCIDENT, .text = memory.text("a note"), .at = {3, 0.3, 1.7e9, 2}, .finding = 7});
  });
}

void Session::finish() {
  if (self_ == nullptr || failed_to_begin_) return;
  if (subject_.kind == Kind::lens) {
    for (const loupe_module* module : network_.modules) {
      if (LOUPE_OFFERS(table<loupe_lens>(), forget)) {
        call("forget", Turn::none, [&](LentMemory&, loupe_error*) {
          table<loupe_lens>().forget(self_, module);
          return LOUPE_OK;
        });
      }
      for (Watched& watched : watched_) watched.forgotten |= watched.module == module;
    }
    if (habits_.takes_away) models_->take_away();
  }
  if (subject_.kind != Kind::visualizer) return;
  const auto& shows = table<loupe_visualizer>();
  if (LOUPE_OFFERS(shows, flush)) {
    call("flush", Turn::none, [&](LentMemory&, loupe_error* error) { return shows.flush(self_, error); });
  }
  if (LOUPE_OFFERS(shows, end)) {
    call("end", Turn::none, [&](LentMemory& memory, loupe_error* error) {
      const loupe_ending* ending = memory.lend(
          loupe_ending{.how = LOUPE_END_COMPLETED, .at = {20, 2, 1.7e9, 2}, .message = memory.text("All is told.")});
      return shows.end(self_, ending, error);
    });
  }
}

}  // namespace loupe::check
