#pragma once

#include <loupe/host.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "mlflow/server.h"
#include "mlflow/threads_at_exit.h"

namespace loupe::mlflow {

/// Something to send.
struct Message {
  std::string what;            ///< "metrics", "params", "tags", "artifact"; "end" for the run's end
  std::string name;            ///< of an artifact; of an end its status
  Json entities;               ///< metrics, params or tags
  std::filesystem::path file;  ///< of an artifact that is read when it is sent; empty where `name` has `text`
  std::string text;
  double epoch = 0, time = 0;
  std::size_t bytes = 0;  ///< about what it takes in memory
};

/// Sends messages in their order on a thread of its own. Nothing here waits for the server but end(). What cannot be
/// sent now is sent once the server is back; where too much waits, the oldest metrics are dropped.
class Sender : public ThreadsAtExit::Thread {
 public:
  Sender(const Access& access, RunFacts facts, const Host& host);
  ~Sender() override;

  void send(Message message);
  /// Waits while the server takes something within each `patience`; then says what was lost.
  void end(std::chrono::milliseconds patience);
  void end_with_process(std::chrono::seconds patience) override { end(patience); }

 private:
  struct State;
  bool is_forked() const;
  static void work(State& state);

  std::unique_ptr<State> state_;
  pid_t process_;
};

}  // namespace loupe::mlflow
