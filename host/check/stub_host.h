#pragma once

#include <loupe/abi.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace loupe::check {

/// What may be asked of the host during a call.
enum class Turn { none, opening, event, attaching, visiting, reporting, stepping };

/// A host as one component under examination sees it: without a model of LibTorch's, and watchful.
class StubHost {
 public:
  StubHost();
  StubHost(const StubHost&) = delete;
  StubHost& operator=(const StubHost&) = delete;

  const loupe_host& get() const { return host_; }
  void set_run(const loupe_run* run) { run_ = run; }
  /// The call that the component is in, on this thread; none between two.
  void set_turn(Turn turn) {
    turn_ = turn;
    thread_ = std::this_thread::get_id();
  }
  /// Notes a call to the host where it may not be made.
  bool expect(const char* function, std::initializer_list<Turn> turns);
  void complain(const std::string& what);
  std::vector<std::string> complaints() const;
  /// Notes what the ABI does not promise to keep; an id where it says "/draft-". Of the whole process.
  static void note_draft(const std::string& what);
  static void note_draft_id(const std::string& id);
  static void note_draft_measures(uint32_t measures);
  static std::vector<std::string> take_drafts();
  /// Handles that were retained or cloned and not released.
  long retained() const { return retained_; }
  /// Whether it had tensors kept, copied or decomposed, which takes memory each time.
  bool has_copied() const { return has_copied_; }

 private:
  static const void* service(void* host, const char* id);

  loupe_host host_;
  const loupe_run* run_ = nullptr;
  Turn turn_ = Turn::none;
  std::thread::id thread_;
  mutable std::mutex mutex_;
  std::vector<std::string> complaints_;
  std::atomic<long> retained_{0};
  std::atomic<bool> has_copied_{false};
  friend struct StubTensors;
};

}  // namespace loupe::check
