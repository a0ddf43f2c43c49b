#include "view/server.h"

#include <httplib.h>
#include <loupe/error.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "view/connections.h"
#include "view/gate.h"
#include "view/page.h"

namespace loupe::view {
namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* page_policy =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; frame-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// What a report needs, and nothing of this server.
constexpr const char* report_policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'";
// A report in a run's folder may be anybody's: its scripts must not act as this server's.
constexpr const char* found_report_policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-downloads";

// A sentence, also where a report was to be.
constexpr const char* refusal_policy = "default-src 'none'; frame-ancestors 'self'";

constexpr std::size_t most_compared = 20;
constexpr int ports_tried = 50;
constexpr auto still_there_after = std::chrono::seconds(10);

/// The request cannot be served; the text is one sentence.
struct Refusal {
  int status;
  std::string why;
};

void answer(Response& response, int status, const char* type, std::string text, const char* policy = page_policy) {
  // Of what is there the library itself says whether it sends all or a part.
  if (status != 200) response.status = status;
  response.set_header("Content-Security-Policy", policy);
  // Of a length of 0 the library would think that it is not known.
  if (text.empty()) return response.set_content(text, type);
  // As a provider, the library sends it as it is: to pack a large report takes longer than to hand it on.
  const auto kept = std::make_shared<const std::string>(std::move(text));
  response.set_content_provider(kept->size(), type, [kept](std::size_t at, std::size_t size, httplib::DataSink& sink) {
    return sink.write(kept->data() + at, size);
  });
}

void refuse(Response& response, const Refusal& refusal) {
  answer(response, refusal.status, "text/plain; charset=utf-8", refusal.why + "\n", refusal_policy);
}

/// "3,7" as the list's numbers, each once.
std::vector<unsigned> numbers_in(const std::string& text) {
  std::vector<unsigned> numbers;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    unsigned number = 0;
    const auto parsed = std::from_chars(text.data() + begin, text.data() + end, number);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + end) {
      throw Refusal{400, "the runs to show are not numbers of the list; choose them in the list"};
    }
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

/// The answers, each a function of the request; called by several threads.
class Answers {
 public:
  Answers(RunList& list, ReportStore& reports, const Gate& gate, Connections& connections)
      : list_(list), reports_(reports), gate_(gate), connections_(connections) {}

  /// Whether the request may be answered; else it has been refused.
  bool admit(const Request& request, Response& response) const {
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      refuse(response, {405, "this server only shows; it takes GET and HEAD"});
    } else if (!gate_.takes_host(request.get_header_value("Host"))) {
      refuse(response, {403, "this server is reached under the address that it printed, and no other name"});
    } else if (!gate_.takes_token(request.get_param_value("token"), request.get_header_value("Cookie"))) {
      refuse(response, {401, "this needs the token: open the address that loupe view printed"});
    } else {
      if (request.has_param("token") && gate_.wants_token()) response.set_header("Set-Cookie", gate_.cookie());
      return true;
    }
    return false;
  }

  static void page(const char* file, const char* type, Response& response) {
    answer(response, 200, type, page_files().at(file));
  }

  /// A folder's own report for one run that has ended and has it, else one that is made.
  void report(const Request& request, Response& response) const {
    const std::vector<unsigned> numbers = numbers_in(request.get_param_value("runs"));
    if (numbers.empty()) throw Refusal{400, "no run is chosen; tick at least one in the list"};
    if (numbers.size() > most_compared) {
      throw Refusal{400, std::to_string(numbers.size()) + " runs are too many for one report; tick at most " +
                             std::to_string(most_compared)};
    }
    const auto told = list_.told();
    std::vector<std::filesystem::path> records;
    for (const unsigned number : numbers) {
      const auto run = told->runs.find(number);
      if (run == told->runs.end()) throw Refusal{404, "this run is not in the list; go back to the list"};
      // Of a run that goes on its record knows more, and sooner.
      if (numbers.size() == 1 && !run->second.goes_on && is_own_file(run->second.place.report())) {
        return answer(response, 200, report_type, page_in(run->second.place.report()), found_report_policy);
      }
      records.push_back(run->second.place.record());
    }
    answer(response, 200, report_type, reports_.page_of(records), report_policy);
  }

  /// Server-sent events: all runs at once, and from then on those that changed. What a reader did not take in time is
  /// no queue that grows: the next event tells of the state of then.
  void events(Response& response) {
    if (!connections_.follow()) throw Refusal{503, "too many pages follow this server; close some"};
    const auto seen = std::make_shared<std::uint64_t>(0);
    response.set_header("Content-Security-Policy", page_policy);
    response.set_chunked_content_provider("text/event-stream", [this, seen](std::size_t, httplib::DataSink& sink) {
      const auto told = list_.wait(*seen, still_there_after);
      if (is_ending_) {
        sink.done();
        return true;
      }
      // A comment where there is nothing new: by it a reader who has left is found.
      const std::string text = told->version == *seen ? std::string(": still there\n\n")
                                                      : "event: runs\ndata: " + told->news_since(*seen) + "\n\n";
      *seen = told->version;
      return sink.write(text.data(), text.size());
    });
  }

  /// Calls `give` once the request is there; what it throws becomes the answer.
  template <class Give>
  void guarded(Response& response, Give&& give) {
    connections_.has_asked();
    try {
      give();
    } catch (const Refusal& refusal) {
      refuse(response, refusal);
    } catch (const std::exception& e) {
      refuse(response, {500, e.what()});
    }
  }

  /// Lets go those who follow, and those who have not asked for anything yet.
  void end() {
    is_ending_ = true;
    list_.close();
    connections_.end();
  }

 private:
  static constexpr const char* report_type = "text/html; charset=utf-8";

  RunList& list_;
  ReportStore& reports_;
  const Gate& gate_;
  Connections& connections_;
  std::atomic<bool> is_ending_{false};
};

/// Threads that serve connections within their bounds. Some versions of the library let nobody derive from its pool.
class Workers : public httplib::TaskQueue {
 public:
  explicit Workers(Connections& connections) : pool_(Connections::Limits().all), connections_(connections) {}
  // Later versions of the library return whether there was room.
  auto enqueue(std::function<void()> serve) -> decltype(std::declval<TaskQueue&>().enqueue(serve)) override {
    return pool_.enqueue(connections_.bounded(std::move(serve)));
  }
  void shutdown() override { pool_.shutdown(); }

 private:
  httplib::ThreadPool pool_;
  Connections& connections_;
};

struct Bound {
  std::unique_ptr<httplib::Server> server;  // null where the port is not to be had
  int port = 0;
};

/// A server of its own for each try: one that could not bind is of no use any more.
Bound bind(const std::string& address, int port) {
  auto server = std::make_unique<httplib::Server>();
  const auto listening = std::make_shared<int>(-1);
  // The library would share the port with another server of this user, and nobody would know who answers.
  server->set_socket_options([listening](auto socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    *listening = socket;
  });
  if (port == 0) {
    port = server->bind_to_any_port(address);
    if (port <= 0) return {};
  } else if (!server->bind_to_port(address, port)) {
    return {};
  }
  // The library lets five wait to be accepted: of more that come at once, each would try again after a second or more.
  ::listen(*listening, SOMAXCONN);
  return {std::move(server), port};
}

Bound bind(const Listening& listening) {
  const int first = listening.port.value_or(usual_port);
  const int last = listening.port ? first : usual_port + ports_tried - 1;
  for (int port = first; port <= last; ++port) {
    if (Bound bound = bind(listening.address, port); bound.server) return bound;
  }
  const std::string ports =
      first == last ? std::to_string(first) : std::to_string(first) + " to " + std::to_string(last);
  throw Error("cannot listen on " + listening.address + ", port " + ports +
              "; choose another port with --port, or an address of this machine with --address");
}

/// An address as a URL has it; that of all addresses is no place to go to, and the machine's name is.
std::string host_in_url(const std::string& address) {
  if (address == "0.0.0.0" || address == "::") {
    char name[256] = "";
    if (::gethostname(name, sizeof name - 1) == 0 && *name != '\0') return name;
  }
  return address.find(':') == std::string::npos ? address : '[' + address + ']';
}

void set_up(httplib::Server& server, Answers& answers, Connections& connections) {
  // Each request has a connection of its own: what follows a refused one is never taken for another request, and none
  // keeps the server from ending.
  server.set_keep_alive_max_count(1);
  server.new_task_queue = [&connections] { return new Workers(connections); };
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                              {"Cache-Control", "no-store"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cross-Origin-Resource-Policy", "same-origin"}});
  server.set_pre_routing_handler([&answers](const Request& request, Response& response) {
    return answers.admit(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                            : httplib::Server::HandlerResponse::Handled;
  });
  const auto page = [&](const char* path, const char* file, const char* type) {
    server.Get(path, [&answers, file, type](const Request&, Response& response) {
      answers.guarded(response, [&] { Answers::page(file, type, response); });
    });
  };
  page("/", "list.html", "text/html; charset=utf-8");
  page("/open", "open.html", "text/html; charset=utf-8");
  page("/page\\.css", "page.css", "text/css; charset=utf-8");
  page("/list\\.js", "list.js", "text/javascript; charset=utf-8");
  page("/open\\.js", "open.js", "text/javascript; charset=utf-8");
  server.Get("/report", [&answers](const Request& request, Response& response) {
    answers.guarded(response, [&] { answers.report(request, response); });
  });
  server.Get("/events", [&answers](const Request&, Response& response) {
    answers.guarded(response, [&] { answers.events(response); });
  });
  server.Get(".*", [](const Request&, Response& response) {
    refuse(response, {404, "there is nothing under this address; the list of runs is at /"});
  });
}

}  // namespace

void serve(RunList& list, ReportStore& reports, const Listening& listening,
           const std::function<void(const Served&)>& until) {
  const Bound bound = bind(listening);
  httplib::Server& server = *bound.server;
  const int port = bound.port;
  const Gate gate(listening.address, port);
  Connections connections(port);
  Answers answers(list, reports, gate, connections);
  set_up(server, answers, connections);

  std::atomic<bool> is_over{false};
  std::thread listener([&] {
    server.listen_after_bind();
    is_over = true;
  });
  while (!server.is_running() && !is_over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto end = [&] {
    answers.end();
    server.stop();
    listener.join();
  };
  try {
    const std::string token = gate.wants_token() ? "?token=" + gate.token() : "";
    until({"http://" + host_in_url(listening.address) + ':' + std::to_string(port) + '/' + token, port,
           gate.wants_token()});
  } catch (...) {
    end();
    throw;
  }
  end();
}

}  // namespace loupe::view
