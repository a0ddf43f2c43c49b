// Structs of every size, and data of every sort.

#include <cmath>
#include <limits>
#include <memory>

#include "check/session.h"

namespace loupe::check {
namespace {

/// Up to twice the known size. Members end at multiples of 4; visualizers, whose life is longer, get fewer.
std::vector<std::size_t> sizes_about(std::size_t known, Kind kind) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= 2 * known; size += kind == Kind::visualizer ? 8 : 4) sizes.push_back(size);
  for (const std::size_t size : {std::size_t{1}, known - 1, known, known + 1}) sizes.push_back(size);
  return sizes;
}

/// A life in which every T has another size each time. Beyond its known size nothing may fail that did not fail before.
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
                 "; read a member where struct_size reaches it, and demand no size");
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

/// Numbers, names and counts as lenses may tell them.
void check_shown(const Subject& subject) {
  Session session(subject);
  session.begin();
  const auto& shows = session.table<loupe_visualizer>();
  uint64_t number = 0;
  const auto tell = [&](double value, const std::string& tag, const char* layer) {
    const bool tagged = LOUPE_OFFERS(shows, tag);
    if (tagged) {
      session.call("tag", Turn::none, [&](LentMemory& memory, loupe_error* error) {
        return shows.tag(session.self(), lend_tag(memory, tag, layer == nullptr), error);
      });
    }
    session.call("begin_tick", Turn::none, [&](LentMemory& memory, loupe_error* error) {
      return shows.begin_tick(session.self(), lend_tick(memory, number++), error);
    });
    const Answer answer = session.call("row", Turn::none, [&](LentMemory& memory, loupe_error* error) {
      return shows.row(session.self(), lend_row(memory, tag, layer, {{"mean", value}}, value), error);
    });
    if (!answer.ok()) {
      throw Broken("row with " + std::to_string(value) +
                   " fails: " + (answer.message.empty() ? "without a message" : answer.message));
    }
    if (LOUPE_OFFERS(shows, histogram)) {
      for (const std::size_t bins : {0u, 1u, 1000u}) {
        session.call("histogram", Turn::none, [&](LentMemory& memory, loupe_error* error) {
          return shows.histogram(session.self(), lend_histogram(memory, tag, bins, value), error);
        });
      }
    }
    if (LOUPE_OFFERS(shows, end_tick)) {
      session.call("end_tick", Turn::none,
                   [&](LentMemory&, loupe_error* error) { return shows.end_tick(session.self(), error); });
    }
  };
  for (const double value : {0.0, -0.0, 1e308, 5e-324, -1e-300, std::nan(""), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
    tell(value, "Norm", "0");
    tell(value, "Loss", nullptr);
  }
  tell(1, "a \"quoted\" \\ tag, with {braces};\ttabs\nand lines", "0/1.2 <b>");
  tell(1, std::string(2000, 'x'), "");
  tell(1, "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\xA5", "\xE5\xB1\xA4");
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

}  // namespace loupe::check
