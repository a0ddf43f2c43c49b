#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "ranks/rank_store.h"

namespace c10d {
class Store;
}

namespace loupe {

// The exchange's store on c10d's. Where LibTorch was built without distributed training, opening one throws.

/// On a TCPStore of c10d's that listens there, as the launcher's.
/// @param prefix  begins all keys: the same in all processes of a run, and in no other run
OpenRankStore store_at(const std::string& host, uint16_t port, const std::string& prefix,
                       std::chrono::milliseconds timeout);
/// On the trainer's own. Of a TCPStore another client is opened, as calls of one wait for each other; beside the file
/// of a FileStore the ranks meet in a folder.
OpenRankStore store_beside(c10d::Store& store, const std::string& prefix, std::chrono::milliseconds timeout);

}  // namespace loupe
