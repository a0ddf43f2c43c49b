#include "ranks/c10d_store.h"

#if __has_include(<torch/csrc/distributed/c10d/TCPStore.hpp>)

#include <filesystem>
#include <string>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "ranks/rank_store.h"

namespace loupe {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

void put_into(c10d::Store& store, const std::string& key, const std::string& bytes) {
  store.set(key, std::vector<uint8_t>(bytes.begin(), bytes.end()));
}

/// Reads without waiting: a client of LibTorch 1.13 that timed out takes the late answer for that of its next call.
std::optional<std::string> read_from(c10d::Store& store, const std::string& key) {
  if (!store.check({key})) return std::nullopt;
  const std::vector<uint8_t> bytes = store.get(key);
  return std::string(bytes.begin(), bytes.end());
}

/// A RankStore on any store of c10d. Its keys begin with a prefix.
class KeyStore final : public RankStore {
 public:
  KeyStore(StorePointer store, const std::string& prefix)
      : store_(c10::make_intrusive<c10d::PrefixStore>("loupe/" + prefix, std::move(store))) {}

  void put(const std::string& box, const std::string& key, const std::string& bytes) override {
    put_into(*store_, box + "/" + key, bytes);
  }
  std::optional<std::string> read(const std::string& box, const std::string& key) override {
    return read_from(*store_, box + "/" + key);
  }
  void remove(const std::string& box, const std::string& key) override { store_->deleteKey(box + "/" + key); }
  void remove_all() override {}

 private:
  StorePointer store_;
};

/// Newer versions of LibTorch use libuv by default, and fail if they were built without it, like Debian's.
template <typename Options>
void take_the_server_that_each_has(Options& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

}  // namespace

OpenRankStore store_at(const std::string& host, uint16_t port, const std::string& prefix,
                       std::chrono::milliseconds timeout) {
  return [=] {
    c10d::TCPStoreOptions options;
    take_the_server_that_each_has(options);
    options.port = port;
    options.isServer = false;
    options.waitWorkers = false;
    options.timeout = timeout;
    return std::make_unique<KeyStore>(c10::make_intrusive<c10d::TCPStore>(host, options), prefix);
  };
}

OpenRankStore store_beside(c10d::Store& store, const std::string& prefix, std::chrono::milliseconds timeout) {
  if (const auto* server = dynamic_cast<const c10d::TCPStore*>(&store))
    return store_at(server->getHost(), server->getPort(), prefix, timeout);
  if (const auto* file = dynamic_cast<const c10d::FileStore*>(&store)) {
    const std::filesystem::path path = std::filesystem::absolute(file->getPath());
    return store_in_folder(path.parent_path().string(), path.filename().string() + "-loupe-" + prefix);
  }
  return [kept = StorePointer::reclaim_copy(&store), prefix] { return std::make_unique<KeyStore>(kept, prefix); };
}

}  // namespace loupe

#else

#include "loupe/error.h"

namespace loupe {
namespace {

OpenRankStore no_store() {
  return []() -> std::unique_ptr<RankStore> {
    throw Error("this LibTorch was built without distributed training", LOUPE_UNSUPPORTED);
  };
}

}  // namespace

OpenRankStore store_at(const std::string&, uint16_t, const std::string&, std::chrono::milliseconds) {
  return no_store();
}
OpenRankStore store_beside(c10d::Store&, const std::string&, std::chrono::milliseconds) {
  return no_store();
}

}  // namespace loupe

#endif
