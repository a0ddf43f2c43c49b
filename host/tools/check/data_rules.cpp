// Rules on structs of every size, data of every kind, forbidden calls, and states that are saved.

#include <loupe/draft/abi/lens_query.h>
#include <loupe/error.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>

#include "check/session.h"

namespace loupe::check {
namespace {

/// Sizes up to twice the known one. Members end at multiples of 4; visualizers, which take longer, get fewer sizes.
std::vector<std::size_t> sizes_about(std::size_t known, Kind kind) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= 2 * known; size += kind == Kind::visualizer ? 8 : 4) sizes.push_back(size);
  // Many structs end with a pointer: include sizes that cut it in half or cut its highest byte.
  for (const std::size_t size : {std::size_t{1}, known - 4, known - 1, known, known + 1}) sizes.push_back(size);
  return sizes;
}

/// Lives in which every T has another size. With sizes above the known one, nothing may fail that did not fail before.
template <class T>
void check_sizes(const Subject& subject, const char* name, std::size_t usual_failures) {
  struct Restore {
    ~Restore() { LentMemory::resize_nothing(); }
  } restore;
  for (const std::size_t size : sizes_about(sizeof(T), subject.kind)) {
    note_context(std::string(" with a ") + name + " of " + std::to_string(size) + " bytes");
    LentMemory::resize<T>(size);
    Session session(subject);
    session.begin();
    session.feed();
    session.tick();
    session.finish();
    session.destroy();
    if (size < sizeof(T) || session.failures().size() <= usual_failures) continue;
    const Answer& answer = session.failures().back();
    throw Broken(answer.function + " fails with a " + name + " of " + std::to_string(size) + " bytes where " +
                 std::to_string(sizeof(T)) + " are known: " + answer.message +
                 "; read a member only if struct_size covers it, and demand no size");
  }
  note_context("");
}

std::vector<Data> sorts() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto of = [](uint8_t code, uint8_t bits, uint16_t lanes = 1) {
    Data data;
    data.code = code;
    data.bits = bits;
    data.lanes = lanes;
    return data;
  };
  std::vector<Data> types{Data{},
                          of(LOUPE_DTYPE_FLOAT, 64),
                          of(LOUPE_DTYPE_FLOAT, 16),
                          of(LOUPE_DTYPE_BFLOAT, 16),
                          of(LOUPE_DTYPE_INT, 8),
                          of(LOUPE_DTYPE_INT, 16),
                          of(LOUPE_DTYPE_INT, 32),
                          of(LOUPE_DTYPE_INT, 64),
                          of(LOUPE_DTYPE_UINT, 8),
                          of(LOUPE_DTYPE_BOOL, 8),
                          of(LOUPE_DTYPE_COMPLEX, 64),
                          of(LOUPE_DTYPE_COMPLEX, 128),
                          of(LOUPE_DTYPE_FLOAT8_E4M3FN, 8),
                          of(LOUPE_DTYPE_FLOAT8_E5M2, 8),
                          of(LOUPE_DTYPE_OPAQUE, 8),
                          of(LOUPE_DTYPE_FLOAT, 32, 4),
                          of(LOUPE_DTYPE_INT, 4, 2),
                          of(200, 32)};
  std::vector<Data> sorts;
  const auto add = [&](const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, double element) {
    for (Data data : types) {
      data.sizes = sizes;
      data.strides = strides;
      data.element = element;
      sorts.push_back(data);
    }
  };
  add({4, 3}, {}, 0.5);
  add({}, {}, 0.5);
  add({0}, {}, 0.5);
  add({0, 3}, {}, 0.5);
  add({3, 0, 2}, {}, 0.5);
  add({4, 3}, {7, 2}, 0.5);
  add({4, 3}, {0, 0}, 0.5);
  types.resize(2);
  add({3, 4}, {1, 3}, 0);
  add({64, 128}, {}, 1e30);
  add({2, 3, 4, 5, 2, 1, 2}, {}, -1);
  for (const double element : {nan, infinity, -infinity}) {
    add({4, 3}, {}, element);
    add({}, {}, element);
  }
  types.resize(1);
  for (Data data : types) {
    data.has_tensor = false;
    sorts.push_back(data);
    data.has_measurement = false;
    sorts.push_back(data);
    data.has_tensor = true;
    sorts.push_back(data);
    for (const int32_t device : {int32_t{LOUPE_DEVICE_CUDA}, int32_t{LOUPE_DEVICE_METAL}, 99}) {
      Data there;
      there.device = device;
      sorts.push_back(there);
    }
  }
  return sorts;
}

/// Numbers, names and counts as lenses may show them.
void check_shown(const Subject& subject) {
  Session session(subject);
  session.begin();
  uint64_t number = 0;
  const auto show = [&](double value, const std::string& tag, const char* layer) {
    using Shows = loupe_visualizer;
    const std::vector<std::pair<const char*, double>> mean{{"mean", value}};
    session.ask("tag", Phase::none, &Shows::tag, lent(lend_tag, tag, layer == nullptr));
    session.ask("begin_tick", Phase::none, &Shows::begin_tick, lent(lend_tick, number++));
    const Answer answer = session.ask("row", Phase::none, &Shows::row, lent(lend_row, tag, layer, mean, value));
    if (!answer.ok()) {
      throw Broken("row with " + std::to_string(value) +
                   " fails: " + (answer.message.empty() ? "without a message" : answer.message));
    }
    for (const std::size_t bins : {0u, 1u, 1000u})
      session.ask("histogram", Phase::none, &Shows::histogram, lent(lend_histogram, tag, bins, value));
    session.ask("end_tick", Phase::none, &Shows::end_tick);
  };
  for (const double value : {0.0, -0.0, 1e308, 5e-324, -1e-300, std::nan(""), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
    show(value, "Norm", "0");
    show(value, "Loss", nullptr);
  }
  show(1, "a \"quoted\" \\ tag, with {braces};\ttabs\nand lines", "0/1.2 <b>");
  show(1, std::string(2000, 'x'), "");
  show(1, "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\xA5", "\xE5\xB1\xA4");
  session.finish();
  for (const Answer& answer : session.failures()) {
    if (answer.function == "flush" || answer.function == "end" || answer.threw)
      throw Broken("after odd numbers and names " + answer.function + " fails: " + answer.message);
  }
}

}  // namespace

void check_struct_sizes(const Subject& subject) {
  std::size_t usual = 0;
  {
    Session session(subject);
    session.begin();
    session.feed();
    session.tick();
    session.finish();
    usual = session.failures().size();
  }
#define LOUPE_CHECK_SIZES(STRUCT) check_sizes<STRUCT>(subject, #STRUCT, usual)
  LOUPE_CHECK_SIZES(loupe_host);
  LOUPE_CHECK_SIZES(loupe_options);
  LOUPE_CHECK_SIZES(loupe_option_value);
  LOUPE_CHECK_SIZES(loupe_module);
  LOUPE_CHECK_SIZES(loupe_parameter);
  if (subject.kind != Kind::visualizer) {
    LOUPE_CHECK_SIZES(loupe_event);
    LOUPE_CHECK_SIZES(loupe_tensor);
    LOUPE_CHECK_SIZES(loupe_measurement);
  }
  if (subject.kind == Kind::gatherer) LOUPE_CHECK_SIZES(loupe_taps);
  if (subject.kind == Kind::preprocessor) {
    LOUPE_CHECK_SIZES(loupe_request);
    LOUPE_CHECK_SIZES(loupe_series);
  }
  if (subject.kind == Kind::lens) {
    LOUPE_CHECK_SIZES(loupe_wiring);
    LOUPE_CHECK_SIZES(loupe_sink);
    LOUPE_CHECK_SIZES(loupe_step);
  }
  if (subject.kind == Kind::lens || subject.kind == Kind::visualizer) {
    LOUPE_CHECK_SIZES(loupe_tick);
    LOUPE_CHECK_SIZES(loupe_optimizer);
    LOUPE_CHECK_SIZES(loupe_parameter_group);
  }
  if (subject.kind != Kind::visualizer) return;
  LOUPE_CHECK_SIZES(loupe_run);
  LOUPE_CHECK_SIZES(loupe_model);
  LOUPE_CHECK_SIZES(loupe_tag);
  LOUPE_CHECK_SIZES(loupe_row);
  LOUPE_CHECK_SIZES(loupe_histogram);
  LOUPE_CHECK_SIZES(loupe_finding);
  LOUPE_CHECK_SIZES(loupe_note);
  LOUPE_CHECK_SIZES(loupe_progress);
  LOUPE_CHECK_SIZES(loupe_ending);
#undef LOUPE_CHECK_SIZES
}

void check_data(const Subject& subject) {
  if (subject.kind == Kind::visualizer) return check_shown(subject);
  for (const Data& data : sorts()) {
    note_context(" with " + data.text());
    Session session(subject);
    session.begin();
    const std::size_t before = session.failures().size();
    session.feed(data);
    const Data usual = session.usual_data();
    const bool refused = session.failures().size() > before;
    session.tick();
    session.finish();
    session.destroy();
    for (const Answer& answer : session.failures()) {
      if (!answer.threw && !answer.message.empty()) continue;
      throw Broken(answer.function + (answer.threw ? " throws" : " fails without a message") + " for " + data.text());
    }
    const bool plain = data.has_tensor && data.has_measurement && data.code == LOUPE_DTYPE_FLOAT && data.bits >= 32 &&
                       data.lanes == 1 && data.device == LOUPE_DEVICE_CPU && data.sizes == usual.sizes &&
                       data.strides.empty();
    if (plain && refused) {
      throw Broken(session.failures().back().function + " fails for " + data.text() + ": " +
                   session.failures().back().message);
    }
  }
}

namespace {

/// Makes every call in a wrong state or with senseless arguments. Returns those that failed.
std::vector<Answer> misuse(const Subject& subject, std::size_t message_capacity) {
  const Session::Conditions conditions{false, message_capacity, true};
  std::vector<Answer> failed;
  const auto with_fresh = [&](const std::function<void(Session&)>& body) {
    Session session(subject, conditions);
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
        session.ask("open", Phase::opening, &loupe_gatherer::open, session.taps(), nullptr, label);
      }
    });
  }
  if (subject.kind == Kind::preprocessor) {
    with_fresh([](Session& session) {
      const auto& table = session.table<loupe_preprocessor>();
      session.begin();
      session.feed();
      const double half = 0.5;
      std::vector<double> values(8);
      for (const std::size_t series : {std::size_t{1000}, ~std::size_t{0}}) {
        loupe_series row{};
        row.struct_size = sizeof row;
        std::size_t count = 0;
        session.ask("read", Phase::none, &loupe_preprocessor::read, series, &row);
        session.ask("quantiles", Phase::none, &loupe_preprocessor::quantiles, series, &half, std::size_t{1},
                    values.data());
        session.ask("values", Phase::none, &loupe_preprocessor::values, series, values.data(), values.size(), &count);
      }
      for (const double q : {-0.5, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
        if (table.series_count(session.self()) == 0) break;
        session.ask("quantiles", Phase::none, &loupe_preprocessor::quantiles, std::size_t{0}, &q, std::size_t{1},
                    values.data());
      }
    });
  }
  if (subject.kind == Kind::lens) {
    with_fresh(
        [](Session& session) { session.ask("visit", Phase::visiting, &loupe_lens::visit, session.modules()[1]); });
    with_fresh([](Session& session) {
      const auto& lens = session.table<loupe_lens>();
      if (!LOUPE_OFFERS(lens, get_extension)) return;
      session.begin();
      const auto* table =
          static_cast<const loupe_draft_lens_query*>(lens.get_extension(session.self(), LOUPE_DRAFT_LENS_QUERY_ID));
      if (table == nullptr || !LOUPE_OFFERS(*table, query)) return;
      for (const char* key : {"", "no such number"}) {
        session.call("query", Phase::none, [&](LentMemory& memory, loupe_error* error) {
          return table->query(session.self(), key, memory.buffer<double>(1, "the place for a number"), error);
        });
      }
    });
  }
  if (subject.kind == Kind::visualizer) {
    with_fresh([&](Session& session) {
      const std::vector<std::pair<const char*, double>> mean{{"mean", 1}};
      session.ask("row", Phase::none, &loupe_visualizer::row, lent(lend_row, "Norm", nullptr, mean, std::nullopt));
      session.ask("end_tick", Phase::none, &loupe_visualizer::end_tick);
    });
    with_fresh([&](Session& session) {
      if (!LOUPE_OFFERS(session.table<loupe_visualizer>(), begin)) return;
      session.ask("begin", Phase::none, &loupe_visualizer::begin, lent(lend_run, subject.folder + "/no/such/folder"));
      session.tick();
      session.finish();
    });
  }
  return failed;
}

/// The component's answer to an unknown id.
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
      throw Broken("get_extension accepts an unknown id; compare the whole id, and return null for others");
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
        throw Broken(answer.function + " leaves a message without a terminating null in a buffer of " +
                     std::to_string(capacity));
    }
  }
}

namespace {

constexpr const char* no_room = "there is no room for a state";

struct Writer {
  std::string bytes;
  std::size_t left = ~std::size_t{0};  // the number of pieces that it still takes
};

loupe_status write(void* writer, const void* bytes, std::size_t size, loupe_error* error) {
  return detail::guarded(error, [&] {
    Writer& to = *static_cast<Writer*>(writer);
    if (to.left == 0) throw Error(no_room, LOUPE_INVALID);
    --to.left;
    if (size > 0) to.bytes.append(static_cast<const char*>(bytes), size);
  });
}

Answer save(Session& session, Writer& writer) {
  if (session.self() == nullptr) throw Broken("it cannot be created");
  return session.call("save_state", Phase::none, [&](LentMemory&, loupe_error* error) {
    return session.table<loupe_preprocessor>().save_state(session.self(), &write, &writer, error);
  });
}
/// Throws Broken if saving fails.
std::string save(Session& session) {
  Writer writer;
  const Answer answer = save(session, writer);
  if (!answer.ok()) throw Broken("save_state fails: " + answer.message);
  return writer.bytes;
}

/// Checks that the error of a full writer is passed on.
void check_full(Session& session) {
  Writer full{"", 0};
  const Answer answer = save(session, full);
  if (answer.status != LOUPE_INVALID || answer.message != no_room) {
    throw Broken(
        "save_state does not return its writer's failure; stop there, and return the writer's status and message "
        "unchanged");
  }
}

Answer merge(Session& session, const std::string& state) {
  return session.call("merge_state", Phase::none, [&](LentMemory& memory, loupe_error* error) {
    void* bytes = memory.guarded(state.size(), "the state to merge");
    std::memcpy(bytes, state.data(), state.size());
    return session.table<loupe_preprocessor>().merge_state(session.self(), bytes, state.size(), error);
  });
}

}  // namespace

void check_state(const Subject& subject) {
  const auto& table = *static_cast<const loupe_preprocessor*>(subject.component->table);
  if (!LOUPE_OFFERS(table, save_state) || !LOUPE_OFFERS(table, merge_state))
    throw Broken("it offers one of save_state and merge_state without the other; offer both or none");
  Session whole(subject);
  whole.begin();
  for (int i = 0; i < 3; ++i) whole.feed();
  const std::vector<double> numbers = whole.numbers();
  const std::string state = save(whole);
  if (!state.empty()) check_full(whole);
  Session other(subject);
  other.begin();
  const Answer merged = merge(other, state);
  if (!merged.ok()) throw Broken("merge_state refuses what save_state wrote: " + merged.message);
  if (!same(other.numbers(), numbers)) throw Broken("a state merged into an empty preprocessor gives other numbers");
  if (save(other).size() != state.size()) throw Broken("a state merged into an empty preprocessor has another size");

  std::vector<std::string> garbage{std::string(64, '\xFF'), "garbage, and no state", state + "x"};
  const std::size_t step = state.size() / 40 + 1;
  for (std::size_t size = 0; size < state.size(); size += step) garbage.push_back(state.substr(0, size));
  for (const std::string& bytes : garbage) {
    note_step("merge_state with " + std::to_string(bytes.size()) + " wrong bytes");
    const Answer answer = merge(other, bytes);
    if (answer.ok()) {
      throw Broken("merge_state takes " + std::to_string(bytes.size()) +
                   " bytes that save_state never wrote, whose are " + std::to_string(state.size()) +
                   "; begin them with a mark, and refuse another mark or length");
    }
    if (!same(other.numbers(), numbers)) throw Broken("merge_state refuses bytes and has changed its numbers");
  }
  // Corrupt bytes may still be valid numbers; only crashes are checked.
  for (std::size_t at = 0; at < state.size(); at += step) {
    std::string turned = state;
    turned[at] = static_cast<char>(turned[at] ^ 0x80);
    Session victim(subject);
    victim.begin();
    merge(victim, turned);
  }
}

}  // namespace loupe::check
