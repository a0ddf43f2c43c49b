#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace loupe {

/// A store that all processes of a run reach, divided into boxes. Calls come on one thread; each may block as long as
/// the store does not answer, and throws std::exception where it is lost.
class RankStore {
 public:
  virtual ~RankStore() = default;
  virtual void put(const std::string& box, const std::string& key, const std::string& bytes) = 0;
  /// What is there by now; nothing where there is none yet.
  virtual std::optional<std::string> read(const std::string& box, const std::string& key) = 0;
  /// Removes it, if it is there.
  virtual void remove(const std::string& box, const std::string& key) = 0;
  /// The run is over: leaves nothing behind, where that is this store's to do.
  virtual void remove_all() = 0;
};

/// A store that cannot be opened yet, as rank 0 has not made it, and may be later.
struct StoreNotThereYet : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Opens a store. On the thread that then uses it; throws std::exception.
using OpenRankStore = std::function<std::unique_ptr<RankStore>()>;

/// The longest message that any store takes, in bytes. What a file or a peer says of its size is held against it.
inline constexpr std::size_t longest_rank_message = std::size_t{256} << 20;

}  // namespace loupe
