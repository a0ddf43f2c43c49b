#include "view/server.h"

#include <loupe/draft/abi/incidents.h>
#include <loupe/error.h>
#include <strings.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <future>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "command/tool.h"
#include "view/api.h"
#include "view/http.h"

namespace loupe::view {
namespace {

constexpr const char* page_policy =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; frame-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// Allows what a report needs, and no requests to this server.
constexpr const char* report_policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'";
// A report in a run's folder may be written by anybody: its scripts must not act as this server's.
constexpr const char* found_report_policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-downloads allow-popups";

constexpr std::size_t most_compared = 20;
constexpr int ports_tried = 50;
constexpr auto still_there_after = std::chrono::seconds(10);
constexpr auto longest_look = std::chrono::seconds(3);

struct Page {
  const char* file;
  const char* type;
};

const Page* page_at(const std::string& path) {
  static const std::map<std::string, Page> pages = {{"/", {"list.html", "text/html; charset=utf-8"}},
                                                    {"/open", {"open.html", "text/html; charset=utf-8"}},
                                                    {"/page.css", {"page.css", "text/css; charset=utf-8"}},
                                                    {"/list.js", {"list.js", "text/javascript; charset=utf-8"}},
                                                    {"/open.js", {"open.js", "text/javascript; charset=utf-8"}}};
  const auto found = pages.find(path);
  return found == pages.end() ? nullptr : &found->second;
}

/// The runs in these folders, named as the list shows them, each once and in this order.
std::vector<const RunsSnapshot::Run*> runs_in(const RunsSnapshot& told, const std::vector<std::string>& folders) {
  std::vector<const RunsSnapshot::Run*> runs;
  for (const std::string& folder : folders) {
    const auto found = std::find_if(told.runs.begin(), told.runs.end(),
                                    [&](const auto& each) { return each.second.place.shown == folder; });
    if (found == told.runs.end()) throw Refusal{404, "this run is not in the list; go back to the list"};
    if (std::find(runs.begin(), runs.end(), &found->second) == runs.end()) runs.push_back(&found->second);
  }
  return runs;
}

/// Returns the file that describes an incident of a run.
std::filesystem::path incident_in(const FoundRun& run, const std::string& name) {
  std::filesystem::path file = (run.is_merged ? run.folder.parent_path() : run.folder) / name / incident_file;
  const bool is_name = name.find('/') == std::string::npos && name.starts_with(LOUPE_DRAFT_INCIDENT_FOLDER);
  if (!is_name || std::filesystem::is_symlink(file.parent_path()) || !is_own_file(file))
    throw Refusal{404, "this run has no such incident; its folder may have been removed"};
  return file;
}

bool is_json(const std::string& content_type) {
  constexpr std::string_view wanted = "application/json";
  const bool begins = ::strncasecmp(content_type.c_str(), wanted.data(), wanted.size()) == 0;
  return begins && (content_type.size() == wanted.size() || content_type.find_first_of("; ") == wanted.size());
}

/// The answers, each a function of the request; called by several threads.
class Answers {
 public:
  Answers(RunList& list, ReportStore& reports, const FindingsOf& findings_of, const Gate& gate,
          Connections& connections)
      : list_(list), reports_(reports), findings_of_(findings_of), gate_(gate), connections_(connections) {}

  Answer give(const Request& request) {
    connections_.has_asked();
    const bool is_of_run = is_api_of_run(request.path), is_change = is_of_run && request.method == "POST";
    if (request.method != "GET" && !request.is_head() && !is_change) {
      const std::string taken = is_of_run ? "GET, HEAD, POST" : "GET, HEAD";
      Answer answer = refused({405, "this address accepts only " + taken});
      answer.headers.emplace_back("Allow", taken);
      return answer;
    }
    if (!gate_.takes_host(request.host)) {
      throw Refusal{403, "open the address that this server printed; it answers to no other name"};
    }
    const std::string token = request.parameter("token");
    if (!gate_.takes_token(token, request.cookies)) {
      throw Refusal{401, "this needs the token: open the address that loupe view printed"};
    }
    Answer answer = is_change ? changed(request) : shown(request);
    if (!token.empty() && gate_.wants_token()) answer.headers.emplace_back("Set-Cookie", gate_.cookie());
    return answer;
  }

  /// Ends the connections that follow, and those that have not sent a request yet.
  void end() {
    is_ending_ = true;
    list_.close();
    connections_.end();
  }

 private:
  static constexpr const char* report_type = "text/html; charset=utf-8";
  static constexpr const char* json_type = "application/json; charset=utf-8";

  Answer shown(const Request& request) {
    if (const Page* page = page_at(request.path)) return {200, page->type, page_policy, page_files().at(page->file)};
    if (request.path == "/report") return report(request);
    if (request.path == "/events") return events(request);
    if (request.path == api_runs) return {200, json_type, page_policy, api_list(*list_.told())};
    if (is_api_of_run(request.path)) return api(request);
    throw Refusal{404, "there is nothing under this address; the list of runs is at /"};
  }

  /// Returns the report in the folder if there is one run, which has ended and has a report; otherwise makes one.
  Answer report(const Request& request) const {
    const auto folders = request.parameters.find("run");
    if (folders == request.parameters.end()) throw Refusal{400, "no run is chosen; tick at least one in the list"};
    const auto told = list_.told();
    const std::vector<const RunsSnapshot::Run*> runs = runs_in(*told, folders->second);
    if (runs.size() > most_compared) {
      throw Refusal{400, std::to_string(runs.size()) + " runs are too many for one report; tick at most " +
                             std::to_string(most_compared)};
    }
    std::vector<std::filesystem::path> records;
    if (const std::string incident = request.parameter("incident"); !incident.empty())
      return {200, report_type, report_policy, reports_.page_of({incident_in(runs.front()->place, incident)})};
    for (const RunsSnapshot::Run* run : runs) {
      // While a run trains, its record is newer than its report.
      if (runs.size() == 1 && !run->goes_on && is_own_file(run->place.report())) {
        return {200, report_type, found_report_policy, page_in(run->place.report())};
      }
      records.push_back(run->place.record());
    }
    return {200, report_type, report_policy, reports_.page_of(records)};
  }

  Answer api(const Request& request) {
    const auto told = list_.told();
    const RunsSnapshot::Run& run = run_at(*told, request);
    const std::lock_guard lock(reading_);
    return {200, json_type, page_policy, api_run(run, findings_of_)};
  }

  static const RunsSnapshot::Run& run_at(const RunsSnapshot& told, const Request& request) {
    const RunsSnapshot::Run* run = api_run_at(told, request.path);
    if (run == nullptr) throw Refusal{404, "there is no such run; " + std::string(api_runs) + " has their addresses"};
    return *run;
  }

  /// Writes the notes of a run. A page of another server cannot send JSON here: its browser would first ask this server
  /// for permission, which is never given.
  Answer changed(const Request& request) {
    if (!gate_.takes_origin(request.origin, request.host)) {
      throw Refusal{403, "only pages of this server may change tags and notes"};
    }
    if (!is_json(request.content_type)) {
      throw Refusal{415, "tags and notes must be JSON; send the header Content-Type: application/json"};
    }
    const RunNotes notes = [&] {
      const std::lock_guard lock(changing_);
      return change_notes(run_at(*list_.told(), request).place.notes(), request.body);
    }();
    wait_until_told(request.path, notes);
    return {200, json_type, page_policy, api_notes(notes)};
  }

  /// Waits until the list has the new notes, so that a later request sees them; gives up if they were changed
  /// meanwhile.
  void wait_until_told(const std::string& path, const RunNotes& notes) const {
    const auto end = std::chrono::steady_clock::now() + longest_look;
    list_.ask();
    for (auto told = list_.told(); !is_ending_;) {
      const RunsSnapshot::Run* run = api_run_at(*told, path);
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (run == nullptr || run->notes == notes || left.count() <= 0) return;
      told = list_.wait(told->version, left);
    }
  }

  /// Sends server-sent events: first all runs, then those that changed. Events for a slow reader do not queue up: the
  /// next event has the current state.
  Answer events(const Request& request) {
    if (!request.is_head() && !connections_.follow()) {
      throw Refusal{503, "too many pages follow this server; close some"};
    }
    Answer answer{200, "text/event-stream", page_policy};
    answer.more = [this, seen = std::uint64_t{0}]() mutable -> std::optional<std::string> {
      const auto told = list_.wait(seen, still_there_after);
      if (is_ending_) return std::nullopt;
      // If there is nothing new, sends a comment: this fails if the reader has left.
      if (told->version == seen) return ": still there\n\n";
      std::string news = "event: runs\ndata: " + told->news_since(seen) + "\n\n";
      seen = told->version;
      return news;
    };
    return answer;
  }

  RunList& list_;
  ReportStore& reports_;
  const FindingsOf& findings_of_;
  std::mutex reading_;   // only one long record is read at a time
  std::mutex changing_;  // only one file of notes is changed at a time
  const Gate& gate_;
  Connections& connections_;
  std::atomic<bool> is_ending_{false};
};

Listener listen_on(const Listening& listening) {
  const int first = listening.port.value_or(View::usual_port);
  const int last = listening.port ? first : View::usual_port + ports_tried - 1;
  for (int port = first; port <= last; ++port) {
    if (Listener listener(listening.address, port); listener.port() != 0) return listener;
  }
  const std::string ports =
      first == last ? std::to_string(first) : std::to_string(first) + " to " + std::to_string(last);
  throw Error("cannot listen on " + listening.address + ", port " + ports +
              "; choose another port with --port, or an address of this machine with --address");
}

/// Accepts connections until it is destroyed, and serves each on its own thread.
class Server {
 public:
  Server(const Listener& listener, Answers& answers, Connections& connections)
      : listener_(listener), answers_(answers), connections_(connections), accepting_([this] { accept_all(); }) {}
  ~Server() {
    listener_.stop();
    accepting_.join();
    answers_.end();
    served_.clear();  // waits for each
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  void accept_all() {
    for (int socket = 0; (socket = listener_.accept()) >= 0;) {
      served_.remove_if(
          [](const auto& each) { return each.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
      const std::function<void()> serve = connections_.bounded(socket, [this, socket] {
        serve_request(socket, [this](const Request& request) { return answers_.give(request); });
      });
      try {
        served_.push_back(std::async(std::launch::async, serve));
      } catch (const std::system_error&) {
        // The system has no more threads: serve it on this one, where it ends at once because the connection is shut
        // down.
        ::shutdown(socket, SHUT_RDWR);
        serve();
      }
    }
  }

  const Listener& listener_;
  Answers& answers_;
  Connections& connections_;
  std::list<std::future<void>> served_;  // used only by the accepting thread while that runs
  std::thread accepting_;
};

}  // namespace

void serve(RunList& list, ReportStore& reports, const FindingsOf& findings_of, const Listening& listening,
           const std::function<void(const Served&)>& until) {
  const Listener listener = listen_on(listening);
  const Gate gate(listening.address, listener.port());
  Connections connections;
  Answers answers(list, reports, findings_of, gate, connections);
  const Server server(listener, answers, connections);
  const std::string token = gate.wants_token() ? "?token=" + gate.token() : "";
  until({"http://" + name_in_url(listening.address) + ':' + std::to_string(listener.port()) + '/' + token,
         listener.port(), gate.wants_token()});
}

}  // namespace loupe::view
