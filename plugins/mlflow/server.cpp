#include "mlflow/server.h"

#include <httplib.h>
#include <loupe/detail/own_thread.h>
#include <loupe/error.h>
#include <loupe/files/readable.h>
#include <loupe/files/replacement.h>
#include <loupe/text/number_text.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace loupe::mlflow {
namespace {

constexpr const char* api = "/api/2.0/mlflow/";
constexpr const char* kept_artifacts = "mlflow-artifacts:";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string text_in(const Json& json, const char* member) {
  const auto found = json.is_object() ? json.find(member) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

long long milliseconds(double seconds) {
  return static_cast<long long>(seconds * 1000);
}

/// A text within the query of an address.
std::string encoded(const std::string& text) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string all;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9');
    if (is_plain)
      all += each;
    else
      ((all += '%') += digits[byte >> 4]) += digits[byte & 15];
  }
  return all;
}

/// How long "https://host:5000" is in an address; 0 for no such address.
std::size_t length_of_host(const std::string& uri) {
  for (const char* scheme : {"http://", "https://"}) {
    if (uri.rfind(scheme, 0) == 0) return std::min(uri.find('/', std::string(scheme).size()), uri.size());
  }
  return 0;
}

}  // namespace

Access Access::from_environment() {
  return {variable("MLFLOW_TRACKING_URI"), variable("MLFLOW_TRACKING_TOKEN"), variable("MLFLOW_TRACKING_USERNAME"),
          variable("MLFLOW_TRACKING_PASSWORD")};
}

std::string Access::fault() const {
  if (uri.empty()) return "MLFLOW_TRACKING_URI is not set, so nothing is sent; set it to http://HOST:5000";
  if (length_of_host(uri) == 0)
    return "MLFLOW_TRACKING_URI is '" + uri +
           "', which is not a server's address, so nothing is sent; set it to http://HOST:5000";
#ifndef CPPHTTPLIB_OPENSSL_SUPPORT
  if (uri.rfind("https://", 0) == 0) return "this Loupe was built without OpenSSL, so nothing is sent to '" + uri + "'";
#endif
  return "";
}

Server::Server(const Access& access, RunFacts facts) : facts_(std::move(facts)) {
  const std::size_t end = length_of_host(access.uri);
  prefix_ = access.uri.substr(end);
  while (!prefix_.empty() && prefix_.back() == '/') prefix_.pop_back();
  client_ = std::make_unique<httplib::Client>(access.uri.substr(0, end));
  constexpr int seconds_to_connect = 5, seconds_to_answer = 10;
  client_->set_connection_timeout(seconds_to_connect);
  client_->set_read_timeout(seconds_to_answer);
  client_->set_write_timeout(seconds_to_answer);
  client_->set_keep_alive(true);
  if (!access.token.empty())
    client_->set_bearer_token_auth(access.token);
  else if (!access.user.empty())
    client_->set_basic_auth(access.user, access.password);
}

Server::~Server() = default;

void Server::stop() {
  client_->stop();
}

Took Server::judge(int status, const std::string& body, Json& answer) {
  answer = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (status / 100 == 2) return Took::yes;
  const std::string code = text_in(answer, "error_code"), message = text_in(answer, "message");
  trouble_ = "it answers " + std::to_string(status) + (code.empty() ? "" : " " + code) +
             (message.empty() ? "" : ": " + message.substr(0, message.find('\n')).substr(0, 200));
  const bool is_for_now = status / 100 == 5 || status == 429 || status == 408;
  return is_for_now ? Took::later : Took::never;
}

Took Server::ask(const char* method, const std::string& path, const Json& body, Json& answer) {
  const std::string whole = prefix_ + api + path;
  const httplib::Result result =
      *method == 'G' ? client_->Get(whole) : client_->Post(whole, dumped(body), "application/json");
  if (result) return judge(result->status, result->body, answer);
  trouble_ = "it cannot be reached (" + httplib::to_string(result.error()) + ")";
  return Took::later;
}

Took Server::find_experiment() {
  Json answer;
  const std::string name = encoded(facts_.experiment);
  // Another process may make it at the same time: then it is there the second time.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Took found = ask("GET", "experiments/get-by-name?experiment_name=" + name, {}, answer);
    if (found == Took::later) return found;
    if (found == Took::yes) {
      experiment_ = text_in(answer.value("experiment", Json()), "experiment_id");
      return Took::yes;
    }
    if (text_in(answer, "error_code") != "RESOURCE_DOES_NOT_EXIST") return found;
    const Took made = ask("POST", "experiments/create", {{"name", facts_.experiment}}, answer);
    experiment_ = text_in(answer, "experiment_id");
    if (made == Took::yes || made == Took::later) return made;
  }
  return Took::never;
}

/// Goes on in the run that the file names; `never` where there is none.
Took Server::resume() {
  if (!facts_.resumed || facts_.file.empty()) return Took::never;
  Json known, answer;
  try {
    constexpr std::size_t most = 1 << 16;
    known = Json::parse(read_file(facts_.file, most), nullptr, /*allow_exceptions=*/false);
  } catch (const std::exception&) {
    return Took::never;
  }
  const std::string id = text_in(known, "run_id");
  if (id.empty()) return Took::never;
  const Took found = ask("GET", "runs/get?run_id=" + encoded(id), {}, answer);
  if (found != Took::yes) return found;
  run_ = id;
  artifacts_ = text_in(answer.value("run", Json()).value("info", Json()), "artifact_uri");
  return update("RUNNING", 0);
}

void Server::keep() const {
  if (facts_.file.empty()) return;
  try {
    Replacement file(facts_.file);
    file.write(dumped({{"experiment", facts_.experiment}, {"experiment_id", experiment_}, {"run_id", run_}}) + "\n");
    file.commit(false);
  } catch (const std::system_error&) {
    // A resumed run is then another one on the server.
  }
}

Took Server::begin() {
  if (!run_.empty()) return Took::yes;
  const Took resumed = resume();
  if (resumed != Took::never) return resumed;
  if (experiment_.empty()) {
    const Took found = find_experiment();
    if (found != Took::yes) return found;
  }
  Json tags = Json::array({{{"key", "mlflow.source.name"}, {"value", "loupe"}}});
  if (!facts_.record.empty()) tags.push_back({{"key", "loupe.record"}, {"value", facts_.record}});
  const Json wanted{{"experiment_id", experiment_},
                    {"run_name", facts_.name},
                    {"start_time", milliseconds(facts_.start_time)},
                    {"tags", std::move(tags)}};
  Json answer;
  const Took made = ask("POST", "runs/create", wanted, answer);
  if (made != Took::yes) return made;
  const Json info = answer.value("run", Json()).value("info", Json());
  run_ = text_in(info, "run_id");
  artifacts_ = text_in(info, "artifact_uri");
  trouble_ = "its answer is not that of an MLflow server";
  if (run_.empty()) return Took::never;
  keep();
  return Took::yes;
}

Took Server::log(Json entities) {
  Json answer;
  entities["run_id"] = run_;
  return ask("POST", "runs/log-batch", entities, answer);
}

Took Server::put(const std::string& name, const std::string& content, const char* type) {
  if (artifacts_.rfind(kept_artifacts, 0) != 0) {
    trouble_ =
        "it keeps artifacts in '" + artifacts_ + "' and takes none from clients; start it with --serve-artifacts";
    return Took::never;
  }
  std::string place = artifacts_.substr(std::string(kept_artifacts).size());
  if (place.rfind("//", 0) == 0) place = place.substr(std::min(place.find('/', 2), place.size()));
  const std::string path = prefix_ + "/api/2.0/mlflow-artifacts/artifacts" + place + '/' + name;
  const httplib::Result result = client_->Put(path, content, type);
  Json answer;
  if (result) return judge(result->status, result->body, answer);
  trouble_ = "it cannot be reached (" + httplib::to_string(result.error()) + ")";
  return Took::later;
}

Took Server::update(const std::string& status, double end_time) {
  Json body{{"run_id", run_}, {"status", status}}, answer;
  if (end_time > 0) body["end_time"] = milliseconds(end_time);
  return ask("POST", "runs/update", body, answer);
}

namespace {

/// Ends the senders with the process, which may end by exit() while its objects live on. Any thread.
class SendersAtExit {
 public:
  /// Never destroyed: it is used while the process ends.
  static SendersAtExit& get() {
    static auto* const senders = new SendersAtExit();
    return *senders;
  }
  void add(Sender& sender) {
    const std::lock_guard lock(mutex_);
    static const int registered = std::atexit([] { get().end_all(); });
    static_cast<void>(registered);
    senders_.insert(&sender);
  }
  void remove(Sender& sender) {
    const std::lock_guard lock(mutex_);
    senders_.erase(&sender);
  }

 private:
  void end_all() {
    const std::lock_guard lock(mutex_);
    for (Sender* sender : senders_) sender->end(std::chrono::seconds(10));
    senders_.clear();
  }

  std::mutex mutex_;
  std::set<Sender*> senders_;
};

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_bytes = std::size_t{32} << 20;
constexpr std::size_t most_artifact = std::size_t{256} << 20;
constexpr auto first_pause = std::chrono::milliseconds(500), longest_pause = std::chrono::milliseconds(30000);

/// What never got to the server.
struct Lost {
  std::size_t metrics = 0, others = 0;
  double first_epoch = 0, last_epoch = 0;
  std::string why;

  void add(const Message& message) {
    if (message.what != "metrics") {
      others += message.what == "end" || message.what == "artifact" ? 1 : message.entities.size();
      return;
    }
    if (metrics == 0) first_epoch = last_epoch = message.epoch;
    metrics += message.entities.size();
    first_epoch = std::min(first_epoch, message.epoch);
    last_epoch = std::max(last_epoch, message.epoch);
  }
  bool any() const { return metrics + others > 0; }
  std::string text() const {
    std::string told;
    if (metrics > 0) {
      const std::string first = number_text(first_epoch), last = number_text(last_epoch);
      told = std::to_string(metrics) + " metrics of " +
             (first == last ? "epoch " + first : "epochs " + first + " to " + last);
    }
    if (others > 0)
      told +=
          (told.empty() ? "" : " and ") + std::to_string(others) + " parameters, tags, artifacts or ends of the run";
    return told;
  }
};

}  // namespace

/// What both threads see; the thread's own but for what the mutex guards.
struct Sender::State {
  State(const Access& access, RunFacts facts, const Host& its_host)
      : uri(access.uri), server(access, std::move(facts)), host(its_host) {}

  const std::string uri;
  Server server;
  const Host host;
  std::mutex mutex;  // guards the members below
  std::condition_variable wake, news;
  std::deque<Message> queue;
  std::size_t bytes = 0;
  bool is_busy = false, is_ending = false, is_over = false;
  Clock::time_point progress = Clock::now();
  Lost lost;
  std::thread thread;

  Took attempt(Message& message) {
    const Took begun = server.begin();
    if (begun != Took::yes) return begun;
    if (message.what == "end") return server.update(message.name, message.time);
    if (message.what == "artifact") {
      if (message.file.empty()) return server.put(message.name, message.text, "text/plain");
      return server.put(message.name, read_file(message.file, most_artifact), "text/html");
    }
    const Took took = server.log({{message.what, message.entities}});
    if (took != Took::never || message.what != "params") return took;
    // A parameter never changes; a resumed run's new value becomes a tag.
    message.what = "tags";
    return server.log({{"tags", message.entities}});
  }
};

Sender::Sender(const Access& access, RunFacts facts, const Host& host)
    : state_(std::make_unique<State>(access, std::move(facts), host)), process_(::getpid()) {
  // The trainer's signals are for the trainer's threads, but for those that a fault on this one raises.
  sigset_t held, before;
  sigfillset(&held);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF}) sigdelset(&held, fault);
  pthread_sigmask(SIG_SETMASK, &held, &before);
  try {
    state_->thread = std::thread([state = state_.get()] { work(*state); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  SendersAtExit::get().add(*this);
}

Sender::~Sender() {
  SendersAtExit::get().remove(*this);
  end(std::chrono::seconds(10));
  // A thread of the parent's, or one that hangs, still has it.
  if (state_->thread.joinable()) static_cast<void>(state_.release());
}

bool Sender::is_forked() const {
  return process_ != ::getpid();
}

void Sender::send(Message message) {
  if (is_forked()) return;
  const std::lock_guard lock(state_->mutex);
  if (state_->is_over) return;
  state_->bytes += message.bytes;
  state_->queue.push_back(std::move(message));
  for (auto each = state_->queue.begin(); each != state_->queue.end() && state_->bytes > most_bytes;) {
    if (each->what != "metrics") {
      ++each;
      continue;
    }
    state_->bytes -= each->bytes;
    state_->lost.add(*each);
    each = state_->queue.erase(each);
  }
  state_->wake.notify_all();
}

void Sender::end(std::chrono::milliseconds patience) {
  if (is_forked() || !state_->thread.joinable() || state_->thread.get_id() == std::this_thread::get_id()) return;
  std::unique_lock lock(state_->mutex);
  if (state_->is_over) return;  // the thread was left behind
  state_->progress = Clock::now();
  const auto is_idle = [&] { return state_->queue.empty() && !state_->is_busy; };
  state_->is_ending = true;
  state_->wake.notify_all();
  while (!is_idle() && Clock::now() < state_->progress + patience)
    state_->news.wait_until(lock, state_->progress + patience);
  state_->is_over = true;
  state_->wake.notify_all();
  lock.unlock();
  state_->server.stop();
  lock.lock();
  // Looking up a name cannot be broken off: such a thread is left behind.
  constexpr auto longest_wait = std::chrono::seconds(6);
  const bool has_ended = state_->news.wait_for(lock, longest_wait, [&] { return !state_->is_busy; });
  for (const Message& each : state_->queue) state_->lost.add(each);
  state_->queue.clear();
  const Lost lost = state_->lost;
  state_->lost = {};
  lock.unlock();
  if (has_ended) state_->thread.join();
  if (lost.any())
    state_->host.warn("the MLflow server '" + state_->uri + "' lacks " + lost.text() + ": " +
                      (lost.why.empty() ? "it did not take them in time" : lost.why) +
                      "; `loupe replay RECORD --visualizer mlflow` sends the whole run again");
}

void Sender::work(State& state) {
  detail::name_own_thread("mlflow");
  // The host takes a thread that asks it for something outside of its calls for this component's own.
  state.host.get_extension(LOUPE_RUN_ID);
  auto pause = first_pause;
  bool is_told = false;
  std::unique_lock lock(state.mutex);
  while (!state.is_over) {
    if (state.queue.empty()) {
      state.wake.wait(lock);
      continue;
    }
    Message message = std::move(state.queue.front());
    state.queue.pop_front();
    state.is_busy = true;
    lock.unlock();
    Took took = Took::never;
    std::string why;
    try {
      took = state.attempt(message);
      why = state.server.trouble();
    } catch (const std::exception& reason) {
      why = reason.what();
    }
    if (took != Took::yes && !std::exchange(is_told, true))
      state.host.warn("the MLflow server '" + state.uri + "' did not take what was sent to it: " + why +
                      (took == Took::later ? "; it is sent again, and training goes on" : ""));
    lock.lock();
    state.is_busy = false;
    if (took != Took::yes) state.lost.why = why;
    if (took == Took::later) {
      state.queue.push_front(std::move(message));
      state.news.notify_all();
      // Once the run is over nothing is gained by sparing the server.
      const auto until = Clock::now() + (state.is_ending ? first_pause : pause);
      state.wake.wait_until(lock, until, [&] { return state.is_over || (state.is_ending && pause > first_pause); });
      pause = state.is_ending ? first_pause : std::min(2 * pause, longest_pause);
      continue;
    }
    state.bytes -= message.bytes;
    pause = first_pause;
    state.progress = Clock::now();
    if (took == Took::never) state.lost.add(message);
    state.news.notify_all();
  }
  state.is_busy = false;
  state.news.notify_all();
}

}  // namespace loupe::mlflow
