#ifndef LOUPE_TORCH_RANKS_C10D_STORE_H
#define LOUPE_TORCH_RANKS_C10D_STORE_H

#include <chrono>
#include <cstdint>
#include <string>

#include "ranks/rank_store.h"

namespace c10d {
class Store;
}

namespace loupe {

// The exchange's store on c10d's. Where LibTorch was built without distributed training, opening one throws.

/// In files of a folder that all processes reach; it is this run's alone.
OpenRankStore store_in_folder(const std::string& folder);
/// On a TCPStore that listens there.
/// @param prefix  begins all keys: the same in all processes of a run, and in no other run
/// @param serves  begins a server there where none listens yet
OpenRankStore store_at(const std::string& host, uint16_t port, const std::string& prefix, bool serves,
                       std::chrono::milliseconds timeout);
/// On the trainer's own. Of a TCPStore and a FileStore another client is opened: calls of one wait for each other.
OpenRankStore store_beside(c10d::Store& store, const std::string& prefix, std::chrono::milliseconds timeout);

}  // namespace loupe

#endif
