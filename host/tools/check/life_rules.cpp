// Rules on the life of a component without faults, and on the cost of an event.

#include <loupe/draft/abi/history.h>
#include <loupe/draft/abi/incidents.h>
#include <loupe/draft/abi/lens_query.h>
#include <loupe/draft/abi/measured.h>
#include <loupe/draft/abi/ranks.h>
#include <loupe/draft/abi/rows.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "check/allocations.h"
#include "check/session.h"

namespace loupe::check {
namespace {

std::string told(const Answer& answer) {
  return answer.function + (answer.threw ? " throws: " : " fails: ") +
         (answer.message.empty() ? "without a message" : answer.message);
}

std::string joined(const std::set<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

/// The growth in each of three rounds; a table that sometimes grows is not a leak.
template <class InUse, class Body>
std::size_t least_growth(InUse&& in_use, Body&& body) {
  std::size_t least = ~std::size_t{0};
  for (int round = 0; round < 3; ++round) {
    const std::size_t before = in_use();
    body();
    const std::size_t after = in_use();
    least = std::min(least, after > before ? after - before : 0);
  }
  return least;
}

void need_no_failure(const Session& session, const std::string& where = "") {
  if (!session.failures().empty()) throw Broken(where + told(session.failures().front()));
}

}  // namespace

void check_life(const Subject& subject) {
  Session session(subject);
  if (session.created()) session.live();
  session.destroy();
  need_no_failure(session);
  if (session.is_blind()) {
    std::set<std::string> types;
    for (const loupe_module* module : session.modules()) types.insert(module->type);
    throw Broken(
        "it watches nothing and reports nothing, so none of its events can be examined; the modules here are of the "
        "types " +
        joined(types) + ": let it watch one, for example by --options '{include: [Linear]}'");
  }
  if (session.host().retained() != 0) {
    throw Broken("it destroyed itself without releasing " + std::to_string(session.host().retained()) +
                 " tensors that it had retained or cloned; release each");
  }
}

void check_creation(const Subject& subject) {
  constexpr std::size_t count = 12;
  std::vector<std::unique_ptr<Session>> sessions;
  for (std::size_t i = 0; i < count; ++i) {
    sessions.push_back(std::make_unique<Session>(subject));
    if (!sessions.back()->failures().empty()) throw Broken(told(sessions.back()->failures().front()));
    if (!sessions.back()->created()) throw Broken("create leaves no instance; set *self if it returns LOUPE_OK");
  }
  for (const std::size_t i : {5u, 0u, 11u, 3u, 4u}) {
    sessions[i]->destroy();
    need_no_failure(*sessions[i]);
    sessions[i] = std::make_unique<Session>(subject);
    need_no_failure(*sessions[i]);
  }
  for (const auto& session : sessions) {
    session->destroy();
    need_no_failure(*session);
  }
}

void check_exceptions(const Subject& subject) {
  std::vector<Data> kinds(4);
  kinds[1].has_tensor = kinds[1].has_measurement = false;
  kinds[2].sizes = {};
  kinds[3].sizes = {0, 3};
  for (const Data& data : kinds) {
    for (const bool options : {true, false}) {
      Session session(subject, {false, 1000, options});
      session.begin();
      session.feed(data);
      session.tick();
      session.finish();
      session.destroy();
      for (const Answer& answer : session.failures()) {
        if (answer.threw)
          throw Broken((answer.status == LOUPE_FAILED && answer.message.rfind("it panicked: ", 0) == 0
                            ? "a panic ends " + answer.function
                            : "an exception leaves " + answer.function) +
                       ": " + answer.message + "; catch it there, and return LOUPE_FAILED with one sentence");
      }
    }
  }
}

void check_two_instances(const Subject& subject) {
  Session alone(subject);
  alone.live();
  Session one(subject), two(subject);
  one.begin(), two.begin();
  Data other = one.usual_data();
  if (!other.sizes.empty()) other.sizes[0] *= 2;
  other.element = -3;
  std::vector<double> numbers[2];
  for (int i = 0; i < 2; ++i) {
    one.feed(), two.feed(other);
    one.feed();
    if (subject.kind == Kind::preprocessor) numbers[i] = one.numbers();
    one.tick(), two.tick();
  }
  one.finish(), two.finish();
  two.destroy();
  one.destroy();
  if (one.failures().size() > alone.failures().size()) throw Broken("beside another, " + told(one.failures().back()));
  if (two.failures().size() > alone.failures().size()) throw Broken("beside another, " + told(two.failures().back()));
  if (subject.kind != Kind::preprocessor) return;
  Session again(subject);
  again.begin();
  again.feed(), again.feed();
  const std::vector<double> expected = again.numbers();
  if (!same(expected, numbers[0])) throw Broken("its numbers change beside a second instance; keep nothing in globals");
}

void check_threads(const Subject& subject) {
  Session alone(subject);
  alone.live();
  Session session(subject);
  const auto elsewhere = [](auto&& body) { std::thread(body).join(); };
  session.begin();
  for (int i = 0; i < 4; ++i) elsewhere([&] { session.feed(); });
  session.tick();
  elsewhere([&] { session.feed(), session.tick(); });
  session.finish();
  session.destroy();
  if (session.failures().size() > alone.failures().size())
    throw Broken("on another thread than it was created on, " + told(session.failures().back()));
  for (const Session* each : {&alone, &session}) {
    const std::vector<std::string> complaints = each->host().complaints();
    if (!complaints.empty()) throw Broken("it " + complaints.front());
  }
}

void check_nothing_kept(const Subject& subject) {
  Session session(subject, {true, 1000, true});
  if (!session.created()) return;
  session.live();
  // Lenses outlive their models; the others end here.
  if (subject.kind == Kind::lens) session.tick();
  if (subject.kind == Kind::gatherer || subject.kind == Kind::preprocessor) session.feed(), session.tick();
  session.destroy();
}

void check_leaks(const Subject& subject) {
  // Create and destroy by direct calls in this session: a new session would allocate memory, too.
  Session session(subject);
  const auto create_and_destroy = [&] {
    void* self = nullptr;
    const Answer made = session.call("create", Phase::none, [&](LentMemory& memory, loupe_error* error) {
      return subject.component->create(subject.component, session.lent_host(), session.lend_default_options(memory),
                                       &self, error);
    });
    if (!made.ok() || self == nullptr) throw Broken("create fails when it is repeated");
    session.call("destroy", Phase::none, [&](LentMemory&, loupe_error*) {
      subject.component->destroy(self);
      return LOUPE_OK;
    });
  };
  const auto live = [&] {
    Session other(subject);
    other.live();
    other.destroy();
  };
  const auto need_no_growth = [](int times, const char* what, auto&& body) {
    for (int i = 0; i < 8; ++i) body();  // makes one-time allocations, such as a table
    const std::size_t least = least_growth([] { return ::mallinfo2().uordblks; },
                                           [&] {
                                             for (int i = 0; i < times; ++i) body();
                                           });
    if (least < static_cast<std::size_t>(times) * 16) return;  // malloc's minimum is 32
    throw Broken(std::to_string(least) + " bytes are lost in " + std::to_string(times) + " " + what +
                 "; free its memory in destroy");
  };
  need_no_growth(1000, "times create and destroy", create_and_destroy);
  need_no_growth(subject.kind == Kind::visualizer ? 10 : 100, "lives", live);
}

void check_drafts(const Subject& subject) {
  Session session(subject);
  session.live();
  // Note the tables that the host would find by asking the component.
  const auto note_offered = [&](const auto& table, const char* id) {
    if (LOUPE_OFFERS(table, get_extension) && table.get_extension(session.self(), id) != nullptr)
      StubHost::note_draft_id(id);
  };
  if (session.created() && subject.kind == Kind::lens) {
    for (const char* id : {LOUPE_DRAFT_INCIDENTS_ID, LOUPE_DRAFT_MEASURED_ID, LOUPE_DRAFT_RANKS_ID, LOUPE_DRAFT_ROWS_ID,
                           LOUPE_DRAFT_LENS_QUERY_ID})
      note_offered(session.table<loupe_lens>(), id);
  }
  if (session.created() && subject.kind == Kind::visualizer)
    note_offered(session.table<loupe_visualizer>(), LOUPE_DRAFT_HISTORY_ID);
  const OptionTable options{subject.component->options, subject.component->option_count};
  for (const loupe_option* option : options) {
    if ((option->flags & LOUPE_OPTION_DRAFTS) != 0) StubHost::note_draft("options of LOUPE_OPTION_DRAFTS");
  }
  std::string used;
  for (const std::string& draft : StubHost::take_drafts()) used += (used.empty() ? "" : ", ") + draft;
  if (!used.empty()) note_remark("it uses " + used + ", which may change or disappear without notice");
}

namespace {

constexpr int events_a_tick = 16;
/// An event has a dozen numbers here, so that even a slow machine needs a hundredth of this.
constexpr int64_t too_slow_nanoseconds = 500'000;

/// Bytes in use, including large blocks.
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
  const std::vector<double> numbers = numbers_with(0), again = numbers_with(0);
  if (!same(numbers, again)) return;  // cannot be decided if the numbers differ anyway
  // Both signs find a number that is only compared.
  if (!same(numbers, numbers_with(1e6)) || !same(numbers, numbers_with(-1e6)))
    throw Broken(
        "it reads a member of loupe_measurement that it did not ask for, and which is 0 unless another lens asks: ask "
        "for it, by Watch::measure or in request()");
}

void check_events(const Subject& subject) {
  Session session(subject);
  session.begin();
  // LibTorch allocates for every computation.
  const bool counts_allocations = tensor_lending() == nullptr && count_allocations();
  Meter meter;
  session.set_meter(&meter);
  feed_and_tick(session, 4);                                       // one-time allocations, such as room for a series
  if (meter.events() == 0 || !session.failures().empty()) return;  // other rules report that

  constexpr int ticks = 4;
  const std::size_t growth = least_growth(&bytes_in_use, [&] { feed_and_tick(session, ticks); });
  const auto events = static_cast<std::size_t>(ticks * events_a_tick);
  const bool keeps_tensors = session.host().retained() > 0;  // keeping them is its purpose
  if (growth >= 16 * events && !keeps_tensors) {
    throw Broken("its memory grows by " + std::to_string(growth / events) +
                 " bytes per event, ticks included; free the memory that an event or a tick allocates");
  }

  meter = {};
  const long waits_before = waits_of_this_thread();
  for (std::size_t event = 0; event < events; ++event) session.feed();
  const auto waits = static_cast<uint64_t>(waits_of_this_thread() - waits_before);
  const std::string rests = "; " + std::string(kind_name(subject.kind)) + "s are called by the thread that trains";
  if (2 * waits >= events)
    throw Broken("it waits in an event, " + times(waits, events) + ": for a lock, a file or a while" + rests +
                 ", so wait on a separate thread or at the tick");
  if (counts_allocations && 2 * meter.allocations() >= meter.events() && !session.host().has_copied()) {
    throw Broken("it allocates in an event, " + times(meter.allocations(), meter.events()) +
                 " after it has seen many; reuse the memory in the next event");
  }
  if (meter.median_nanoseconds() >= too_slow_nanoseconds) {
    throw Broken("an event of " + std::to_string(session.usual_data().numel()) + " elements takes " +
                 std::to_string(meter.median_nanoseconds() / 1000) +
                 " us of its time; do slow work at the tick, or on a separate thread" + rests);
  }
  note_remark("an event takes " + std::to_string(meter.median_nanoseconds()) + " ns" +
              (counts_allocations ? "" : "; its allocations cannot be counted here"));
}

}  // namespace loupe::check
