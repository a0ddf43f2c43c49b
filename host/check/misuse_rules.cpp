// What must not be done, and what is said of it.

#include <loupe/draft/abi/lens_query.h>
#include <functional>
#include <iterator>
#include <limits>

#include "check/session.h"

namespace loupe::check {
namespace {

/// Every call at a time when it may not be made, or with what makes no sense. Returns those that failed.
std::vector<Answer> misuse(const Subject& subject, std::size_t message_capacity) {
  const Session::Habits habits{false, message_capacity, true};
  std::vector<Answer> failed;
  const auto with_fresh = [&](const std::function<void(Session&)>& body) {
    Session session(subject, habits);
    if (!session.created()) throw Broken("create fails");
    body(session);
    session.destroy();
    failed.insert(failed.end(), session.failures().begin(), session.failures().end());
  };
  {
    Session session(subject, {false, message_capacity, false});  // created without options
    session.destroy();
    failed.insert(failed.end(), session.failures().begin(), session.failures().end());
  }
  with_fresh([](Session& session) { session.feed(); });
  with_fresh([](Session& session) { session.tick(); });
  with_fresh([](Session& session) { session.finish(); });
  with_fresh([](Session& session) { session.begin(), session.begin(); });
  with_fresh([](Session& session) { session.begin(), session.finish(), session.finish(), session.tick(); });
  if (subject.kind == Kind::gatherer) {
    with_fresh([](Session& session) {
      for (const char* label : {static_cast<const char*>(nullptr), "", "no such parameter"}) {
        session.call("open", Turn::opening, [&](LentMemory&, loupe_error* error) {
          return session.table<loupe_gatherer>().open(session.self(), session.taps(), nullptr, label, error);
        });
      }
    });
  }
  if (subject.kind == Kind::preprocessor) {
    with_fresh([](Session& session) {
      const auto& table = session.table<loupe_preprocessor>();
      session.begin();
      session.feed();
      for (const std::size_t series : {std::size_t{1000}, ~std::size_t{0}}) {
        session.call("read", Turn::none, [&](LentMemory&, loupe_error* error) {
          loupe_series row{};
          row.struct_size = sizeof row;
          return table.read(session.self(), series, &row, error);
        });
        if (LOUPE_OFFERS(table, quantiles)) {
          session.call("quantiles", Turn::none, [&](LentMemory&, loupe_error* error) {
            const double q[] = {0.5};
            double values[std::size(q)];
            return table.quantiles(session.self(), series, q, std::size(q), values, error);
          });
        }
        if (!LOUPE_OFFERS(table, values)) continue;
        session.call("values", Turn::none, [&](LentMemory&, loupe_error* error) {
          double values[8];
          std::size_t count = 0;
          return table.values(session.self(), series, values, std::size(values), &count, error);
        });
      }
      for (const double q : {-0.5, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
        if (!LOUPE_OFFERS(table, quantiles) || table.series_count(session.self()) == 0) break;
        session.call("quantiles", Turn::none, [&](LentMemory&, loupe_error* error) {
          double value = 0;
          return table.quantiles(session.self(), 0, &q, 1, &value, error);
        });
      }
    });
  }
  if (subject.kind == Kind::lens) {
    with_fresh([](Session& session) {
      const auto& table = session.table<loupe_lens>();
      session.call("visit", Turn::visiting, [&](LentMemory&, loupe_error* error) {
        return table.visit(session.self(), session.modules()[1], error);
      });
    });
    with_fresh([](Session& session) {
      const auto& lens = session.table<loupe_lens>();
      if (!LOUPE_OFFERS(lens, get_extension)) return;
      session.begin();
      const auto* table =
          static_cast<const loupe_draft_lens_query*>(lens.get_extension(session.self(), LOUPE_DRAFT_LENS_QUERY_ID));
      if (table == nullptr || !LOUPE_OFFERS(*table, query)) return;
      for (const char* key : {"", "no such number"}) {
        session.call("query", Turn::none, [&](LentMemory& memory, loupe_error* error) {
          return table->query(session.self(), key, memory.buffer<double>(1, "the place for a number"), error);
        });
      }
    });
  }
  if (subject.kind == Kind::visualizer) {
    with_fresh([&](Session& session) {
      const auto& table = session.table<loupe_visualizer>();
      session.call("row", Turn::none, [&](LentMemory& memory, loupe_error* error) {
        return table.row(session.self(), lend_row(memory, "Norm", nullptr, {{"mean", 1}}), error);
      });
      if (!LOUPE_OFFERS(table, end_tick)) return;
      session.call("end_tick", Turn::none,
                   [&](LentMemory&, loupe_error* error) { return table.end_tick(session.self(), error); });
    });
    with_fresh([&](Session& session) {
      const auto& table = session.table<loupe_visualizer>();
      if (!LOUPE_OFFERS(table, begin)) return;
      session.call("begin", Turn::none, [&](LentMemory& memory, loupe_error* error) {
        return table.begin(session.self(), lend_run(memory, subject.folder + "/no/such/folder"), error);
      });
      session.tick();
      session.finish();
    });
  }
  return failed;
}

/// What it answers to an id that nobody knows.
const void* unknown_extension(const Subject& subject, void* self) {
  const auto ask = [&](const auto& table) -> const void* {
    return LOUPE_OFFERS(table, get_extension) ? table.get_extension(self, "loupe.no_such_extension/1") : nullptr;
  };
  const void* table = subject.component->table;
  switch (subject.kind) {
    case Kind::gatherer:
      return ask(*static_cast<const loupe_gatherer*>(table));
    case Kind::preprocessor:
      return ask(*static_cast<const loupe_preprocessor*>(table));
    case Kind::lens:
      return ask(*static_cast<const loupe_lens*>(table));
    default:
      return ask(*static_cast<const loupe_visualizer*>(table));
  }
}

}  // namespace

void check_wrong_calls(const Subject& subject) {
  {
    const Session session(subject);
    if (session.created() && unknown_extension(subject, session.self()) != nullptr)
      throw Broken("get_extension answers an id that nobody knows; compare the whole id, and answer no other");
  }
  for (const Answer& answer : misuse(subject, 1000)) {
    if (answer.threw) throw Broken(answer.function + ", called wrongly, throws: " + answer.message);
    if (answer.status < LOUPE_OK || answer.status > LOUPE_FAILED)
      throw Broken(answer.function + ", called wrongly, returns the unknown status " + std::to_string(answer.status));
  }
}

void check_messages(const Subject& subject) {
  for (const std::size_t capacity : {std::size_t{1000}, std::size_t{8}}) {
    for (const Answer& answer : misuse(subject, capacity)) {
      if (answer.message.empty())
        throw Broken(answer.function + " fails with status " + std::to_string(answer.status) +
                     " and says nothing; write one sentence into its loupe_error");
      if (answer.message.size() >= capacity)
        throw Broken(answer.function + " leaves a message without an end in a buffer of " + std::to_string(capacity));
    }
  }
}

}  // namespace loupe::check
