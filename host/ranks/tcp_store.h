#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "ranks/rank_store.h"

namespace loupe {

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
