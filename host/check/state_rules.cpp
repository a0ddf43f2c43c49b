// Numbers that leave the process.

#include <loupe/error.h>

#include <cstring>

#include "check/session.h"

namespace loupe::check {
namespace {

constexpr const char* no_room = "there is no room for a state";

struct Writer {
  std::string bytes;
  std::size_t left = ~std::size_t{0};  // so many more pieces are taken
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
  return session.call("save_state", Turn::none, [&](LentMemory&, loupe_error* error) {
    return session.table<loupe_preprocessor>().save_state(session.self(), &write, &writer, error);
  });
}
/// Throws Broken when nothing can be saved.
std::string save(Session& session) {
  Writer writer;
  const Answer answer = save(session, writer);
  if (!answer.ok()) throw Broken("save_state fails: " + answer.message);
  return writer.bytes;
}

/// What a writer says that takes no more must come out.
void check_full(Session& session) {
  Writer full{"", 0};
  const Answer answer = save(session, full);
  if (answer.status != LOUPE_INVALID || answer.message != no_room) {
    throw Broken(
        "save_state does not return what its writer does where that takes no more; stop there, and return "
        "the writer's status and message as they are");
  }
}

Answer merge(Session& session, const std::string& state) {
  return session.call("merge_state", Turn::none, [&](LentMemory& memory, loupe_error* error) {
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
  if (!same(other.numbers(), numbers)) throw Broken("what was saved and merged into none gives other numbers");
  if (save(other).size() != state.size()) throw Broken("what was saved and merged into none saves another size");

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
