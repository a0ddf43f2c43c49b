#include "mlflow/server.h"

#include <httplib.h>
#include <loupe/files/readable.h>
#include <loupe/files/replacement.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <system_error>
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
    return "MLFLOW_TRACKING_URI is '" + uri + "', and nothing is sent to what is no server; set it to http://HOST:5000";
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
  trouble_ = "it answers what no MLflow server does";
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
        "it keeps artifacts in '" + artifacts_ + "', where it takes none for others; start it with --serve-artifacts";
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

}  // namespace loupe::mlflow
