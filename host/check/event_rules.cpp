// What an event costs: it comes thousands of times a second, on the thread that trains.

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "check/allocations.h"
#include "check/libtorch.h"
#include "check/session.h"

namespace loupe::check {
namespace {

constexpr int events_a_tick = 16;
/// An event has a dozen numbers here, so that even a slow machine needs a hundredth of it.
constexpr int64_t too_slow_nanoseconds = 500'000;

/// Bytes that are in use, large blocks too.
std::size_t bytes_in_use() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

long waits_of_this_thread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

void feed_and_tick(Session& session, int ticks) {
  for (int tick = 0; tick < ticks; ++tick) {
    for (int event = 0; event < events_a_tick; ++event) session.feed();
    session.tick();
  }
}

/// What is lost in each round, and not what a table grows by now and then.
std::size_t least_growth(Session& session, int ticks) {
  std::size_t least = ~std::size_t{0};
  for (int round = 0; round < 3; ++round) {
    const std::size_t before = bytes_in_use();
    feed_and_tick(session, ticks);
    const std::size_t after = bytes_in_use();
    least = std::min(least, after > before ? after - before : 0);
  }
  return least;
}

std::string times(uint64_t count, std::size_t events) {
  return std::to_string(count) + (count == 1 ? " time in " : " times in ") + std::to_string(events) + " events";
}

}  // namespace

void check_measured(const Subject& subject) {
  const auto numbers_with = [&](double unasked) {
    Session session(subject);
    session.begin();
    Data data = session.usual_data();
    data.unasked = unasked;
    for (int event = 0; event < events_a_tick; ++event) session.feed(data);
    return session.numbers();
  };
  const std::vector<double> numbers = numbers_with(0), again = numbers_with(0), others = numbers_with(1e6);
  if (!same(numbers, again)) return;  // what differs by itself cannot be told
  if (!same(numbers, others))
    throw Broken(
        "it reads a member of loupe_measurement that it did not ask for, and which is 0 unless another lens asks: ask "
        "for it, by Watch::measure or in request()");
}

void check_events(const Subject& subject) {
  Session session(subject);
  session.begin();
  // LibTorch takes memory for all that it computes.
  const bool counts_allocations = tensor_lending() == nullptr && count_allocations();
  Meter meter;
  session.set_meter(&meter);
  feed_and_tick(session, 4);                                       // what is made once, such as room for a series
  if (meter.events() == 0 || !session.failures().empty()) return;  // other rules tell

  constexpr int ticks = 4;
  const std::size_t growth = least_growth(session, ticks);
  const auto events = static_cast<std::size_t>(ticks * events_a_tick);
  const bool keeps_tensors = session.host().retained() > 0;  // that is what it is for
  if (growth >= 16 * events && !keeps_tensors) {
    throw Broken("its memory grows by " + std::to_string(growth / events) +
                 " bytes an event, ticks included; free what an event or a tick allocates");
  }

  meter = {};
  const long waits_before = waits_of_this_thread();
  for (std::size_t event = 0; event < events; ++event) session.feed();
  const auto waits = static_cast<uint64_t>(waits_of_this_thread() - waits_before);
  const std::string rests = "; " + std::string(kind_name(subject.kind)) + "s are called by the thread that trains";
  if (2 * waits >= events)
    throw Broken("it waits in an event, " + times(waits, events) + ": for a lock, a file or a while" + rests +
                 ", so wait on a thread of its own or at the tick");
  if (counts_allocations && 2 * meter.allocations() >= meter.events() && !session.host().has_copied()) {
    throw Broken("it allocates in an event, " + times(meter.allocations(), meter.events()) +
                 " when it has seen many already; keep the memory from one to the next");
  }
  if (meter.median_nanoseconds() >= too_slow_nanoseconds) {
    throw Broken("an event of " + std::to_string(session.usual_data().numel()) + " elements takes " +
                 std::to_string(meter.median_nanoseconds() / 1000) +
                 " us of its time; do what takes long at the tick, or on a thread of its own" + rests);
  }
  note_remark("an event takes " + std::to_string(meter.median_nanoseconds()) + " ns" +
              (counts_allocations ? "" : "; its allocations cannot be counted here"));
}

}  // namespace loupe::check
