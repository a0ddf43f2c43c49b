#pragma once

#include <loupe/host.h>
#include <sys/types.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace httplib {
class Client;
}

namespace loupe::mlflow {

using Json = nlohmann::json;

/// Where the server is and who asks, as MLflow's own clients take it from the environment.
struct Access {
  std::string uri, token, user, password;

  static Access from_environment();
  /// Why this server cannot be asked, in one sentence; empty where it can.
  std::string fault() const;
};

/// The run as it begins.
struct RunFacts {
  std::string experiment, name, record;
  std::filesystem::path file;  ///< that says which of the server's runs it is; empty for none
  double start_time = 0;
  bool resumed = false;
};

/// Whether the server took something.
enum class Took { yes, later, never };

/// One run on an MLflow server. One thread, but for stop().
class Server {
 public:
  Server(const Access& access, RunFacts facts);
  ~Server();

  /// Finds or makes the experiment and the run. Needed once, before all that follows.
  Took begin();
  /// @param entities  what MLflow's log-batch takes beside the run: metrics, params or tags
  Took log(Json entities);
  /// Puts a file among the run's artifacts; `never` where the server keeps none for its clients.
  Took put(const std::string& name, const std::string& content, const char* type);
  /// @param status  RUNNING, FINISHED, FAILED or KILLED
  Took update(const std::string& status, double end_time);

  /// What was wrong last.
  const std::string& trouble() const { return trouble_; }
  /// Breaks off what another thread waits for.
  void stop();

 private:
  Took ask(const char* method, const std::string& path, const Json& body, Json& answer);
  Took judge(int status, const std::string& body, Json& answer);
  Took find_experiment();
  Took resume();
  void keep() const;

  std::string prefix_;  // of all paths
  RunFacts facts_;
  std::unique_ptr<httplib::Client> client_;
  std::string experiment_, run_, artifacts_, trouble_;
};

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
class Sender {
 public:
  Sender(const Access& access, RunFacts facts, const Host& host);
  ~Sender();

  void send(Message message);
  /// Waits while the server takes something within each `patience`; then says what was lost.
  void end(std::chrono::milliseconds patience);

 private:
  struct State;
  bool is_forked() const;
  static void work(State& state);

  std::unique_ptr<State> state_;
  pid_t process_;
};

}  // namespace loupe::mlflow
