#include "torch/ranks/c10d_store.h"

#if __has_include(<torch/csrc/distributed/c10d/TCPStore.hpp>)

#include <deque>
#include <exception>
#include <filesystem>
#include <string>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

namespace loupe {
namespace {

namespace fs = std::filesystem;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

void put_into(c10d::Store& store, const std::string& key, const std::string& bytes) {
  store.set(key, std::vector<uint8_t>(bytes.begin(), bytes.end()));
}

/// Never by waiting: a client of LibTorch 1.13 that timed out takes the late answer for that of its next call.
std::optional<std::string> read_from(c10d::Store& store, const std::string& key) {
  if (!store.check({key})) return std::nullopt;
  const std::vector<uint8_t> bytes = store.get(key);
  return std::string(bytes.begin(), bytes.end());
}

/// On any store, whose keys begin with a prefix.
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
  void close(const std::string&) override {}  // whoever reads a message removes it
  void remove_all() override {}

 private:
  StorePointer store_;
};

/// Each box in a file: one process reads it, once, and removes it. In one file for all, each process would read the
/// messages of all others, and keep them.
class FolderStore final : public RankStore {
 public:
  explicit FolderStore(std::string folder) : folder_(std::move(folder)) { fs::create_directories(folder_); }

  void put(const std::string& box, const std::string& key, const std::string& bytes) override {
    put_into(*open(box), key, bytes);
  }
  std::optional<std::string> read(const std::string& box, const std::string& key) override {
    if (!fs::exists(file_of(box))) return std::nullopt;
    return read_from(*open(box), key);
  }
  void remove(const std::string& box, const std::string& key) override {
    if (fs::exists(file_of(box))) open(box)->deleteKey(key);
  }
  void close(const std::string& box) override {
    for (auto each = open_.begin(); each != open_.end(); ++each) {
      if (each->first != box) continue;
      open_.erase(each);
      break;
    }
    fs::remove(file_of(box));
  }
  void remove_all() override {
    open_.clear();
    fs::remove_all(folder_);
  }

 private:
  using File = c10::intrusive_ptr<c10d::FileStore>;
  fs::path file_of(const std::string& box) const { return folder_ / box; }

  File open(const std::string& box) {
    for (const auto& [name, file] : open_) {
      if (name == box) return file;
    }
    constexpr std::size_t most_open = 8;  // each keeps what it read
    if (open_.size() == most_open) open_.pop_front();
    constexpr int any_number_of_processes = -1;
    open_.emplace_back(box, c10::make_intrusive<c10d::FileStore>(file_of(box).string(), any_number_of_processes));
    return open_.back().second;
  }

  const fs::path folder_;
  std::deque<std::pair<std::string, File>> open_;
};

/// Later LibTorchs ask for libuv unless told otherwise, and refuse it where they were built without, as Debian's.
template <typename Options>
void take_the_server_that_each_has(Options& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

StorePointer connect(const std::string& host, uint16_t port, bool serves, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  take_the_server_that_each_has(options);
  options.port = port;
  options.isServer = serves;
  options.waitWorkers = false;
  options.timeout = timeout;
  return c10::make_intrusive<c10d::TCPStore>(host, options);
}

}  // namespace

OpenRankStore store_in_folder(const std::string& folder) {
  return [folder] { return std::make_unique<FolderStore>(folder); };
}

OpenRankStore store_at(const std::string& host, uint16_t port, const std::string& prefix, bool serves,
                       std::chrono::milliseconds timeout) {
  return [=] {
    if (serves) {
      try {
        return std::make_unique<KeyStore>(connect(host, port, true, timeout), prefix);
      } catch (const std::exception&) {  // another server listens there
      }
    }
    return std::make_unique<KeyStore>(connect(host, port, false, timeout), prefix);
  };
}

OpenRankStore store_beside(c10d::Store& store, const std::string& prefix, std::chrono::milliseconds timeout) {
  if (const auto* server = dynamic_cast<const c10d::TCPStore*>(&store))
    return store_at(server->getHost(), server->getPort(), prefix, false, timeout);
  if (const auto* file = dynamic_cast<const c10d::FileStore*>(&store))
    return store_in_folder(file->getPath() + "-loupe-" + prefix);
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

OpenRankStore store_in_folder(const std::string&) {
  return no_store();
}
OpenRankStore store_at(const std::string&, uint16_t, const std::string&, bool, std::chrono::milliseconds) {
  return no_store();
}
OpenRankStore store_beside(c10d::Store&, const std::string&, std::chrono::milliseconds) {
  return no_store();
}

}  // namespace loupe

#endif
