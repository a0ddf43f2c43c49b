#ifndef LOUPE_DETAIL_TOLD_BATCH_H
#define LOUPE_DETAIL_TOLD_BATCH_H

// What a visualizer is to be told later. A tick may hold a hundred thousand values, so that each takes a copy in a
// block and no allocation.

#include <loupe/detail/whole.h>
#include <loupe/visualizer.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace loupe {
namespace detail {

/// Memory that is given back as a whole, or used again as a whole.
class Blocks {
 public:
  void* take(std::size_t size, std::size_t alignment) {
    std::size_t at = (used_ + alignment - 1) / alignment * alignment;
    while (place_ == blocks_.size() || at + size > blocks_[place_].size) {
      at = 0;
      if (place_ < blocks_.size()) ++place_;
      if (place_ == blocks_.size()) add(size > block_size ? size : block_size);
    }
    used_ = at + size;
    return blocks_[place_].bytes.get() + at;
  }
  /// All that was taken ends.
  void clear() { place_ = used_ = 0; }
  /// A copy of a text; null of null.
  const char* keep(const char* text) {
    if (text == nullptr) return nullptr;
    const std::size_t size = std::strlen(text) + 1;
    return static_cast<const char*>(std::memcpy(take(size, 1), text, size));
  }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size;
  };
  static constexpr std::size_t block_size = std::size_t{1} << 16;

  /// Not by make_unique, which writes zeros.
  void add(std::size_t size) { blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[size]), size}); }

  std::vector<Block> blocks_;
  std::size_t place_ = 0, used_ = 0;  // the block that is filled, and how far
};

/// What becomes of a message when the tick has failed already.
enum class MessageKind {
  begin_tick,  ///< another tick, another try
  passing,     ///< left out, as by a host
  end_tick,
  standing,  ///< told again at the next tick, for it holds on
  always     ///< told all the same
};

struct Message {
  MessageKind kind;
  void (*tell)(Visualizer& visualizer, const void* what);
  const void* what;
  std::shared_ptr<const void> owner;  // of `what`, where it is not in the batch
};

/// Messages that are handed over together.
class Batch {
 public:
  using Call = std::function<void(Visualizer&)>;

  std::vector<Message> messages;
  bool ends_tick = false;

  /// Keeps its memory for the next messages.
  void clear() {
    messages.clear();
    blocks_.clear();
    ends_tick = false;
  }

  void add(MessageKind kind, Call call) {
    const auto kept = std::make_shared<const Call>(std::move(call));
    messages.push_back({kind,
                        [](Visualizer& visualizer, const void* what) { (*static_cast<const Call*>(what))(visualizer); },
                        kept.get(), kept});
  }
  /// A copy of a value or range, with these of its texts.
  template <auto function, class Shown, class... Texts>
  void add_shown(const Shown& shown, Texts Shown::*... texts) {
    static_assert(std::is_trivially_destructible_v<Shown>);
    auto* const copy = new (blocks_.take(sizeof(Shown), alignof(Shown))) Shown(known_part(shown));
    ((copy->*texts = blocks_.keep(copy->*texts)), ...);
    messages.push_back(
        {MessageKind::passing,
         [](Visualizer& visualizer, const void* what) { (visualizer.*function)(*static_cast<const Shown*>(what)); },
         copy, nullptr});
  }

 private:
  Blocks blocks_;
};

}  // namespace detail
}  // namespace loupe

#endif
