#include "ranks/state_keeper.h"

#include <loupe/detail/own_thread.h>
#include <loupe/files/epoch_file.h>
#include <loupe/files/output_path.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "core/locks.h"
#include "core/log.h"

namespace loupe {
namespace {

/// A host that logs the messages of the file.
const loupe_host& log_of_file() {
  static const loupe_host host = [] {
    loupe_host made{};
    made.struct_size = sizeof made;
    made.log = [](void*, int32_t level, const char* message) { log(level, message); };
    return made;
  }();
  return host;
}

/// Moves an outdated merged run aside.
void keep_merged(const loupe_run& run) {
  const std::filesystem::path merged = std::filesystem::path(run.directory) / merged_folder_name;
  std::error_code none;
  if (!std::filesystem::is_directory(merged, none)) return;
  try {
    log(LOUPE_LOG_INFO, "the output of 'loupe merge' for an earlier run is kept in '" +
                            keep_older(merged, run.start_time).string() + "'");
  } catch (const std::system_error& reason) {
    log(LOUPE_LOG_WARNING, "the output of 'loupe merge' for an earlier run stays in '" + merged.string() +
                               "', as it cannot be moved: " + reason.code().message());
  }
}

}  // namespace

/// State shared by the trainer's thread and the writer's.
struct StateKeeper::Shared {
  struct Item {
    double epoch = 0;
    std::string frame, modules;
    std::unique_ptr<detail::Owned<loupe_run>> run;  // set if a new file begins
    std::filesystem::path file;
  };

  std::string header;
  LeafMutex mutex;
  std::condition_variable_any changed;
  std::deque<Item> items;
  bool is_behind = false;  // the user was warned
  bool ending = false, ended = false, left = false;
  std::vector<std::pair<int, std::string>> log;

  void warn(std::string text) {
    const std::lock_guard lock(mutex);
    log.emplace_back(LOUPE_LOG_WARNING, std::move(text));
  }
  void write();
};

/// The body of the thread.
void StateKeeper::Shared::write() {
  EpochFile output(OutputPath(""), /*sync=*/false, &read_old_frame, Host(&log_of_file()), gzip());
  std::string all = header, news;  // the header with all modules, and with unwritten ones
  bool is_failing = false;
  const auto preamble = [&] { return Preamble{all, all, news}; };
  for (;;) {
    Item item;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return ending || !items.empty(); });
      if (items.empty()) break;
      item = std::move(items.front());
    }
    all += item.modules;
    news += item.modules;
    try {
      if (item.run) output.begin(item.run->get(), item.file);
      output.write(item.epoch, std::move(item.frame), preamble());
      news.clear();
      is_failing = false;
    } catch (const std::exception& e) {
      if (!std::exchange(is_failing, true)) warn(e.what());
    }
    const std::lock_guard lock(mutex);
    if (!items.empty()) items.pop_front();  // an item counts until it is written
  }
  try {
    output.end(preamble());
  } catch (const std::exception& e) {
    warn(e.what());
  }
}

StateKeeper::StateKeeper(Settings settings, std::unique_ptr<TickKeeper> exchange)
    : settings_(std::move(settings)), exchange_(std::move(exchange)), shared_(std::make_shared<Shared>()) {
  shared_->header = settings_.header.frame();
  std::thread([shared = shared_] {
    detail::name_own_thread("states");
    shared->write();
    const std::lock_guard lock(shared->mutex);
    shared->ended = true;
    shared->changed.notify_all();
  }).detach();
}

StateKeeper::~StateKeeper() {
  if (forks_ == forks_of_process()) finish();
}

void StateKeeper::add_module(const ModuleDescription& module) {
  // The modules of one rank are enough.
  if (settings_.header.rank == 0) modules_ += frame_of(module);
  if (exchange_) exchange_->add_module(module);
}

std::unique_ptr<HeldTick> StateKeeper::add_tick(std::vector<LensStates> states, std::unique_ptr<HeldTick> own) {
  if (next_tick_ == 0 && settings_.header.rank == 0) keep_merged(*settings_.run());
  RankMessage message;
  message.tick = next_tick_++;
  message.ranks = {settings_.header.rank};
  message.lenses = std::move(states);
  if (settings_.shows_each) message.add_values(*own, settings_.header.rank);
  keep(own->tick(), message.bytes(/*replicas=*/settings_.header.rank == 0));
  return exchange_ ? exchange_->add_tick(std::move(message.lenses), std::move(own)) : std::move(own);
}

void StateKeeper::keep(const loupe_tick& tick, const std::string& message) {
  constexpr std::size_t most_waiting = 64;
  std::string record = settings_.record();
  if (record.empty()) return;
  Shared::Item item;
  item.epoch = tick.at.epoch;
  item.frame = frame_of(tick, message);
  item.file = states_file_of(record);
  if (record != record_) item.run = std::make_unique<detail::Owned<loupe_run>>(*settings_.run());
  const std::lock_guard lock(shared_->mutex);
  if (shared_->items.size() >= most_waiting) {
    if (!std::exchange(shared_->is_behind, true))
      shared_->log.emplace_back(LOUPE_LOG_WARNING,
                                "'" + item.file.string() + "' cannot be written as fast as ticks come: from epoch " +
                                    number_text(tick.at.epoch) + " on 'loupe merge' lacks the ticks");
    return;
  }
  item.modules = std::exchange(modules_, "");
  record_ = std::move(record);
  shared_->items.push_back(std::move(item));
  shared_->changed.notify_all();
}

TickKeeper::Complete StateKeeper::take_complete() {
  Complete complete = exchange_ ? exchange_->take_complete() : Complete{};
  const std::lock_guard lock(shared_->mutex);
  for (auto& line : std::exchange(shared_->log, {})) complete.log.push_back(std::move(line));
  return complete;
}

TickKeeper::Complete StateKeeper::finish() {
  Complete rest = exchange_ ? exchange_->finish() : Complete{};
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  if (!std::exchange(shared_->left, true))
    shared_->changed.wait_for(lock, settings_.timeout, [&] { return shared_->ended; });
  if (!shared_->ended && !shared_->items.empty()) {
    rest.log.emplace_back(LOUPE_LOG_WARNING, "the data of this rank's last " + std::to_string(shared_->items.size()) +
                                                 " ticks is missing for 'loupe merge': the disk does not answer");
    shared_->items.clear();
  }
  for (auto& line : std::exchange(shared_->log, {})) rest.log.push_back(std::move(line));
  return rest;
}

void StateKeeper::tell_incident(const std::string& why) {
  if (exchange_) exchange_->tell_incident(why);
}

void StateKeeper::tell_fault(const std::string& what) {
  if (exchange_) exchange_->tell_fault(what);
}

std::unique_ptr<TickKeeper> keep_states(Monitor& monitor, std::unique_ptr<TickKeeper> exchange) {
  const Config& config = monitor.config();
  StateKeeper::Settings settings;
  settings.header = RankHeader::of(config, Job::of(config.launch), monitor.display().run().start_time);
  settings.timeout = std::chrono::milliseconds(static_cast<int64_t>(config.ranks.timeout * 1000));
  settings.shows_each = config.ranks.shows_each;
  settings.record = [&monitor] { return monitor.display().record(); };
  settings.run = [&monitor] { return &monitor.display().c_run(); };
  return std::make_unique<StateKeeper>(std::move(settings), std::move(exchange));
}

}  // namespace loupe
