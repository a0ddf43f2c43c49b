#pragma once

#include <chrono>
#include <cstdint>
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

/// A store in the folder `name` of `parent`: each message is a file, which appears whole by a rename, so that nobody
/// waits for a lock. Both folders are made where they are not there. That of the messages must be this user's alone
/// (mode 0700) and no link, or opening it throws Error.
OpenRankStore store_in_folder(const std::string& parent, const std::string& name);

/// Where processes of this machine meet: $XDG_RUNTIME_DIR where that is a folder of this user's, else the folder for
/// temporary files.
std::string parent_of_meeting_folder();

/// Where a server is, and how its clients prove that they are of its job.
struct TcpPlace {
  std::string host;
  uint16_t port = 0;
  std::string prefix;  ///< begins all keys: the same in all processes of a run, and in no other run
  std::chrono::milliseconds timeout{10000};  ///< for each call
  std::string token;                         ///< that all know, see token_of; empty: rank 0 makes one up
  OpenRankStore secrets;                     ///< where rank 0 then leaves it for the others
};

/// The store that rank 0 of a run serves there. Inspectors of one process that name the same place share the server.
OpenRankStore store_of_server(TcpPlace place);
/// The same for other ranks, which opening throws StoreNotThereYet for until rank 0 is there.
OpenRankStore store_of_client(TcpPlace place);

/// Whether the name is one by which a machine reaches itself alone.
bool is_loopback_name(const std::string& host);
/// A token from what all processes of a job know.
std::string token_of(const std::string& text);

}  // namespace loupe
