#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace loupe {

/// A store that all processes of a run reach, divided into boxes. Calls come on one thread; each may block as long as
/// the store does not answer, and throws std::exception if the store is lost.
class RankStore {
 public:
  virtual ~RankStore() = default;
  virtual void put(const std::string& box, const std::string& key, const std::string& bytes) = 0;
  /// The message with this key; nullopt if it has not come.
  virtual std::optional<std::string> read(const std::string& box, const std::string& key) = 0;
  /// Removes it, if it is there.
  virtual void remove(const std::string& box, const std::string& key) = 0;
  /// The run is over: cleans up, if that is this store's task.
  virtual void remove_all() = 0;
};

/// Opens a store. On the thread that then uses it; throws std::exception.
using OpenRankStore = std::function<std::unique_ptr<RankStore>()>;

/// The longest message that any store takes, in bytes. Sizes given by a file or peer are checked against it.
inline constexpr std::size_t longest_rank_message = std::size_t{256} << 20;

/// A store in the folder `name` of `parent`: each message is a file, which appears whole by a rename, so that nobody
/// waits for a lock. Both folders are created if missing. Opening throws Error if the folder of the messages is a link,
/// or not private to this user (mode 0700).
OpenRankStore store_in_folder(const std::string& parent, const std::string& name);

/// The folder where processes of this machine meet: $XDG_RUNTIME_DIR if that is a folder of this user, else the folder
/// for temporary files.
std::string parent_of_meeting_folder();

}  // namespace loupe
