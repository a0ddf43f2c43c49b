#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "ranks/rank_store.h"

namespace c10d {
class Store;
}

namespace loupe {

// Stores of the exchange on stores of c10d. Opening one throws if LibTorch was built without distributed training.

/// A store on the TCPStore of c10d that listens at this host and port, for example the launcher's.
/// @param prefix  begins all keys: the same in all processes of a run, and in no other run
OpenRankStore store_at(const std::string& host, uint16_t port, const std::string& prefix,
                       std::chrono::milliseconds timeout);
/// A store on the trainer's own. For a TCPStore it opens a second client, since calls of one client wait for each
/// other; for a FileStore the ranks meet in a folder beside its file.
OpenRankStore store_beside(c10d::Store& store, const std::string& prefix, std::chrono::milliseconds timeout);

}  // namespace loupe
