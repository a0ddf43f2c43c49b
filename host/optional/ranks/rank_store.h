#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace loupe {

/// A store that all processes of a run reach, divided into boxes. Calls come on one thread; each may block as long as
/// the store does not answer, and throws std::exception where it is lost.
class RankStore {
 public:
  virtual ~RankStore() = default;
  virtual void put(const std::string& box, const std::string& key, const std::string& bytes) = 0;
  /// The messages so far; nothing if none has come.
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
/// waits for a lock. Both folders are created if missing. That of the messages must be this user's alone (mode 0700)
/// and no link, or opening it throws Error.
OpenRankStore store_in_folder(const std::string& parent, const std::string& name);

/// Where processes of this machine meet: $XDG_RUNTIME_DIR where that is a folder of this user's, else the folder for
/// temporary files.
std::string parent_of_meeting_folder();

}  // namespace loupe
