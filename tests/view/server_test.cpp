// `loupe view` as seen by browsers and by hostile clients.

#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "command/recorded_run.h"
#include "examples/process.h"
#include "followed_list.h"
#include "made_records.h"
#include "paths.h"
#include "running_view.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Server : public testing::Test {
 protected:
  const fs::path root_ = fresh_folder();
  const fs::path runs_ = root_ / "runs", temporary_ = root_ / "temporary";

  void SetUp() override { fs::create_directories(runs_); }

  RunningView start(const std::vector<std::string>& more = {"--port", "0"}) {
    std::vector<std::string> arguments = {runs_.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunningView(arguments, temporary_);
  }
  /// Returns the list once every record is read, or once `is_wanted` returns true.
  static Json list(
      httplib::Client& client,
      const std::function<bool(const FollowedList&)>& is_wanted = [](const auto& told) { return told.is_read(); }) {
    FollowedList told;
    client.set_read_timeout(60);
    client.Get("/events", [&](const char* data, std::size_t size) {
      told.take_events(data, size);
      return told.events() == 0 || !is_wanted(told);
    });
    if (told.events() > 0) return told.all();
    ADD_FAILURE() << "the list did not come";
    return {};
  }
  /// A member of a run in the list; `member` is "address", "report" and the like.
  static std::string told_of(const Json& told, const std::string& name, const std::string& member = "report") {
    for (const Json& run : told.at("runs")) {
      if (run.at("name") == name) return run.at(member);
    }
    ADD_FAILURE() << "there is no " << name << " in " << told;
    return "";
  }
  bool left_something() const { return !fs::is_empty(temporary_); }
};

/// Everything under a folder: names, sizes and times.
std::string state_of(const fs::path& folder) {
  std::string all;
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    struct stat status {};
    ::lstat(each.path().c_str(), &status);
    all += each.path().string() + ' ' + std::to_string(status.st_size) + ' ' + std::to_string(status.st_mtim.tv_sec) +
           '.' + std::to_string(status.st_mtim.tv_nsec) + '\n';
  }
  return all;
}

int connected(int port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  return socket;
}

TEST_F(Server, OpensAnIncidentOfARunAsAPageAndNothingElseOfItsFolder) {
  record_run(runs_ / "a", {"adam"});
  put(runs_ / "a/incident-12/about.json",
      R"({"kind":"incident","format":1,"run":"adam","step":12,"epoch":1,"how":"dump","why":"the trainer was curious"})");
  put(runs_ / "a/incident-12/findings.jsonl", "");
  put(runs_ / "a/incident-12/measurements.jsonl", "");
  put(runs_ / "a/other/about.json", "{}");
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  const std::string adam = told_of(list(client), "adam");
  const auto page = client.Get(adam + "&incident=incident-12");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_NE(page->body.find("the trainer was curious"), std::string::npos);
  for (const char* wrong : {"incident-13", "other", "incident-12/../other", "../a/incident-12"})
    EXPECT_EQ(client.Get(adam + "&incident=" + wrong)->status, 404) << wrong;
}

TEST_F(Server, ListsOpensAndComparesRunsWithoutWritingIntoTheirFolders) {
  record_run(runs_ / "a", {"adam"});
  record_run(runs_ / "b", {"sgd", 1, 5, false, 1});
  put(runs_ / "b/report.html", "<title>its own</title>");
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  const Json told = list(client);
  const std::string adam = told_of(told, "adam"), sgd = told_of(told, "sgd");
  EXPECT_EQ(adam, "/report?run=" + (runs_ / "a").string()) << "the address stays the same after a restart";

  const auto made = client.Get(adam);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->status, 200);
  EXPECT_NE(made->body.find("\"name\":\"adam\""), std::string::npos);
  const auto own = client.Get(sgd);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->body, "<title>its own</title>");
  put(runs_ / "b/report.html", "");
  const auto empty = client.Get(sgd);
  ASSERT_TRUE(empty) << "the report is still being written";
  EXPECT_EQ(empty->body, "");
  put(runs_ / "b/report.html", "<title>its own</title>");
  // Anybody may have written the files in a folder, so a report from there must not act as a page of this server.
  EXPECT_NE(own->get_header_value("Content-Security-Policy").find("sandbox allow-scripts"), std::string::npos);
  EXPECT_EQ(made->get_header_value("Content-Security-Policy").find("sandbox"), std::string::npos);
  const std::string before = state_of(runs_);
  const auto both = client.Get(sgd + "&run=" + (runs_ / "a").string() + "&run=" + (runs_ / "b").string());
  EXPECT_TRUE(client.Get(adam));
  ASSERT_TRUE(both);
  EXPECT_LT(both->body.find("\"name\":\"sgd\""), both->body.find("\"name\":\"adam\""));

  EXPECT_EQ(view.end(SIGTERM), 0);
  EXPECT_EQ(state_of(runs_), before);
  EXPECT_FALSE(left_something());
}

TEST_F(Server, TellsProgramsOfRunsAndTheirFindingsAsJson) {
  record_run(runs_ / "a b+ü", {"sick", 1, 3, false, 0, false});
  put(runs_ / "bad/record.jsonl", run_line("bad") + "garbage\n");
  put(runs_ / "a b+ü/rank-1/record.jsonl", two_epochs("a rank"));
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  const Json told = list(client);

  const auto all = client.Get("/api/runs");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->get_header_value("Content-Type"), "application/json; charset=utf-8");
  const Json runs = Json::parse(all->body);
  EXPECT_EQ(runs.at("version"), 1);
  ASSERT_EQ(runs.at("runs").size(), 2u);
  const Json& sick = runs.at("runs").at(runs.at("runs").at(0).at("name") == "sick" ? 0 : 1);
  EXPECT_EQ(sick.at("epoch"), 3);
  EXPECT_FALSE(sick.contains("id"));
  EXPECT_EQ(sick.at("report"), told_of(told, "sick"));
  const std::string address = sick.at("address");
  EXPECT_EQ(address, "/api/runs" + (runs_ / "a%20b%2B%C3%BC").string());

  // The server returns the same findings as the command, for each way to write the address.
  const std::string record = (runs_ / "a b+ü/record.jsonl").string();
  const Json rows = Json::parse(run(LOUPE_COMMAND + " diagnose --json '" + record + "'", root_).output);
  EXPECT_FALSE(rows.empty());
  for (const std::string& way : {address, "/api/runs" + (runs_ / "a%20b+%c3%bc").string()}) {
    const auto one = client.Get(way);
    ASSERT_TRUE(one) << way;
    EXPECT_EQ(Json::parse(one->body), Json({{"version", 1}, {"run", sick}, {"findings", rows}}));
  }
  const auto bad = client.Get("/api/runs" + (runs_ / "bad").string());
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->status, 500);
  EXPECT_NE(bad->body.find("record.jsonl:2: error: this line is not JSON"), std::string::npos) << bad->body;
  for (const char* path : {"/api/runs/", "/api/runs/nothing", "/api/runs/../../etc/passwd", "/api", "/api/runsX"}) {
    const auto answer = client.Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 404) << path;
  }
}

TEST_F(Server, WritesTagsAndNotesAndTellsThem) {
  put(runs_ / "a/record.jsonl", two_epochs("a"));
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  const std::string address = told_of(list(client), "a", "address");
  const std::string change = R"({"tags": ["<b>"], "note": "</script>\n\"x\"", "archived": true})";
  const Json said = Json::parse(change);
  const auto answer = client.Post(address, change, "application/json; charset=utf-8");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(Json::parse(answer->body),
            Json({{"version", 1}, {"tags", said["tags"]}, {"note", said["note"]}, {"archived", true}}));
  EXPECT_EQ(Json::parse(text_of(runs_ / "a/notes.json")), said);
  // The list for programs soon changes, and so does the list for followers.
  const auto tags = [&] {
    const auto all = client.Get("/api/runs");
    return all ? Json::parse(all->body).at("runs")[0].at("tags") : Json();
  };
  for (int tries = 0; tags() != said["tags"] && tries < 60; ++tries)
    std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_EQ(tags(), said["tags"]);
  const Json told = list(client, [](const FollowedList& now) { return now.runs().at(0).at("archived") == true; });
  EXPECT_EQ(told.at("runs")[0].at("note"), said["note"]);
  // The server also notices changes to the file by other programs.
  fs::remove(runs_ / "a/notes.json");
  list(client, [](const FollowedList& now) { return now.runs().at(0).at("archived") == false; });
}

TEST_F(Server, TakesNoNotesFromPagesOfOthersNorForOtherFiles) {
  put(runs_ / "a/record.jsonl", two_epochs("a"));
  put(root_ / "outside/record.jsonl", two_epochs("outside"));
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  const std::string address = told_of(list(client), "a", "address");
  const std::string own = "127.0.0.1:" + std::to_string(view.port());
  const auto status = [&](const std::string& path, const std::string& origin, const std::string& type,
                          const std::string& text = R"({"note": "x"})") {
    const auto answer = client.Post(path, httplib::Headers{{"Origin", origin}}, text, type);
    return answer ? answer->status : 0;
  };
  const std::string json = "application/json", page = "http://" + own;
  for (const std::string& other :
       {std::string("null"), std::string("http://evil.example"), "https://" + own, std::string("http://127.0.0.1:1")}) {
    EXPECT_EQ(status(address, other, json), 403) << other;
  }
  for (const char* type :
       {"text/plain", "application/x-www-form-urlencoded", "application/jsonp", "multipart/form-data"}) {
    EXPECT_EQ(status(address, page, type), 415) << type;
  }
  const auto renamed = client.Post(address, httplib::Headers{{"Host", "evil.example"}}, R"({"note": "x"})", json);
  ASSERT_TRUE(renamed);
  EXPECT_EQ(renamed->status, 403);
  EXPECT_EQ(status(address, page, json, R"({"note": 1})"), 400);
  EXPECT_EQ(status(address, page, json, R"({"note": ")" + std::string(32768, 'x') + "\"}"), 413);
  for (const std::string& path :
       {"/api/runs" + runs_.string() + "/../outside", "/api/runs" + (root_ / "outside").string(),
        std::string("/api/runs/"), address + "/"}) {
    EXPECT_EQ(status(path, page, json), 404) << path;
  }
  EXPECT_FALSE(fs::exists(runs_ / "a/notes.json"));
  EXPECT_FALSE(fs::exists(root_ / "outside/notes.json"));
  EXPECT_EQ(status(address, page, json), 200);
}

TEST_F(Server, SaysWhyRunsCannotBeShown) {
  for (int i = 0; i < 22; ++i) put(runs_ / std::to_string(i) / "record.jsonl", two_epochs("run " + std::to_string(i)));
  put(runs_ / "bad/record.jsonl", run_line("bad") + "garbage\n");
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  const Json told = list(client);
  const auto answer = [&](const std::string& runs) {
    const auto given = client.Get("/report?" + runs);
    return given ? std::to_string(given->status) + " " + given->body : "none";
  };
  EXPECT_EQ(answer(""), "400 no run is chosen; tick at least one in the list\n");
  std::string all;
  for (int i = 0; i < 22; ++i) all += "&run=" + (runs_ / std::to_string(i)).string();
  EXPECT_EQ(answer(all), "400 22 runs are too many for one report; tick at most 20\n");
  for (const std::string& wrong : {std::string("1"), std::string(), std::string("../a"), std::string("%2e%2e%2f"),
                                   (runs_ / "0").string() + "/", runs_.string() + "/../runs/0"}) {
    EXPECT_EQ(answer("run=" + wrong), "404 this run is not in the list; go back to the list\n") << wrong;
  }
  const std::string damaged = answer("run=" + (runs_ / "bad").string());
  EXPECT_EQ(damaged.substr(0, 4), "500 ");
  EXPECT_NE(damaged.find("record.jsonl:2: error: this line is not JSON"), std::string::npos) << damaged;
  EXPECT_EQ(list(client).at("runs").size(), 23u);
}

TEST_F(Server, ServesOnlyItsOwnPages) {
  put(runs_ / "a/record.jsonl", two_epochs("a"));
  put(runs_ / "a/secret.txt", "secret");
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  for (const char* path : {"/a/record.jsonl", "/a/secret.txt", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
                           "/report/../a/secret.txt", "//etc/passwd", "/pageXcss", "/list.html"}) {
    const auto answer = client.Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 404) << path;
  }
  for (const char* path : {"/", "/open", "/page.css", "/list.js", "/open.js", "/nothing"}) {
    const auto answer = client.Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(answer->get_header_value("Cache-Control"), "no-store") << path;
    EXPECT_EQ(answer->get_header_value("Content-Security-Policy").substr(0, 18), "default-src 'none'") << path;
    const auto head = client.Head(path);
    ASSERT_TRUE(head) << path;
    EXPECT_EQ(head->status, answer->status) << path;
    EXPECT_EQ(head->body, "") << path;
  }
}

TEST_F(Server, RefusesEveryOtherMethod) {
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  const auto check = [](const httplib::Result& answer, const std::string& allowed = "GET, HEAD") {
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 405);
    EXPECT_EQ(answer->get_header_value("Allow"), allowed);
  };
  check(client.Post("/events"));
  check(client.Put("/"));
  check(client.Delete("/"));
  check(client.Patch("/"));
  check(client.Options("/"));
  check(client.Post("/api/runs"));
  // A browser sends OPTIONS before it sends a change from a page of a different server.
  check(client.Options("/api/runs/a"), "GET, HEAD, POST");
  check(client.Put("/api/runs/a"), "GET, HEAD, POST");
  EXPECT_TRUE(client.Get("/"));
}

TEST_F(Server, AnswersOnlyToItsOwnName) {
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  const auto status = [&](const std::string& host) {
    const auto answer = client.Get("/", httplib::Headers{{"Host", host}});
    return answer ? answer->status : 0;
  };
  const std::string port = ':' + std::to_string(view.port());
  for (const char* own : {"127.0.0.1", "localhost", "[::1]"}) EXPECT_EQ(status(own + port), 200) << own;
  for (const std::string& other : {"evil.example" + port, std::string("evil.example"), std::string("127.0.0.1:1")}) {
    EXPECT_EQ(status(other), 403) << other;
  }
}

TEST_F(Server, WantsTheTokenOnAnyOtherAddress) {
  auto view = start({"--port", "0", "--address", "0.0.0.0"});
  EXPECT_NE(view.text().find("everyone with this address and its token can see these runs and write notes"),
            std::string::npos);
  const std::string key = "?token=", url = view.url();
  ASSERT_NE(url.find(key), std::string::npos) << url;
  const std::string token = url.substr(url.find(key) + key.size());
  httplib::Client client("127.0.0.1", view.port());
  for (const char* path : {"/", "/events", "/report?run=a", "/page.css", "/?token=", "/?token=0"}) {
    const auto refused = client.Get(path);
    ASSERT_TRUE(refused) << path;
    EXPECT_EQ(refused->status, 401) << path;
    EXPECT_FALSE(refused->has_header("Set-Cookie")) << path;
  }
  const auto page = client.Get("/?token=" + token);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  const std::string cookie = page->get_header_value("Set-Cookie");
  EXPECT_NE(cookie.find("HttpOnly; SameSite=Strict"), std::string::npos) << cookie;
  const auto change = client.Post("/api/runs/a", "{}", "application/json");
  ASSERT_TRUE(change);
  EXPECT_EQ(change->status, 401);
  const auto kept = client.Get("/", httplib::Headers{{"Cookie", cookie.substr(0, cookie.find(';'))}});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->status, 200);
}

TEST_F(Server, SendsEachChangeAndMakesAReportAgainWhenItsRecordGrew) {
  const fs::path record = put(runs_ / "a/record.jsonl", two_epochs("digits"));
  put(runs_ / "b/record.jsonl", two_epochs("other") + end_line("completed"));
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  const std::string report = told_of(list(client), "digits");
  const auto first = client.Get(report);
  ASSERT_TRUE(first);
  std::size_t told_anew = 0;
  bool has_grown = false;
  const Json told = list(client, [&](const FollowedList& now) {
    if (!now.is_read()) return false;
    if (!std::exchange(has_grown, true)) append(record, epoch_of(3, "0.125"));
    for (const Json& run : now.runs()) {
      if (run.at("epoch") == 3) told_anew = now.last_news().at("runs").size();
    }
    return told_anew > 0;
  });
  EXPECT_EQ(told_anew, 1u) << "unchanged runs are not sent again";
  EXPECT_EQ(told.at("runs").size(), 2u);
  const auto second = client.Get(report);
  ASSERT_TRUE(second);
  EXPECT_NE(second->body, first->body);
}

TEST_F(Server, ListsANewRunAndForgetsARemovedOne) {
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  EXPECT_EQ(list(client).at("runs").size(), 0u);
  const auto holds = [](std::size_t count) {
    return [count](const FollowedList& told) { return told.is_read() && told.runs().size() == count; };
  };
  put(runs_ / "later/record.jsonl", two_epochs("later"));
  EXPECT_EQ(list(client, holds(1)).at("runs")[0].at("name"), "later");
  fs::remove_all(runs_ / "later");
  EXPECT_EQ(list(client, holds(0)).at("runs").size(), 0u);
}

TEST_F(Server, ServesOthersAndEndsThoughReadersTakeNothing) {
  for (int i = 0; i < 300; ++i) put(runs_ / std::to_string(i) / "record.jsonl", two_epochs("run " + std::to_string(i)));
  const fs::path record = runs_ / "0/record.jsonl";
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  EXPECT_EQ(list(client).at("runs").size(), 300u);
  std::vector<int> stuck;
  for (int i = 0; i < 5; ++i) {
    stuck.push_back(connected(view.port()));
    // The buffer has far less room than an event needs.
    const int room = 1024;
    ::setsockopt(stuck.back(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    const std::string request = "GET /events HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(view.port()) + "\r\n\r\n";
    ASSERT_EQ(::send(stuck.back(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  }
  for (int epoch = 3; epoch < 6; ++epoch) {
    append(record, epoch_of(epoch, "0.125"));
    list(client, [&](const FollowedList& told) {
      for (const Json& run : told.runs()) {
        if (run.at("epoch") == epoch) return true;
      }
      return false;
    });
  }
  const auto page = client.Get("/");
  EXPECT_TRUE(page && page->status == 200);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(view.end(SIGINT), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  for (const int each : stuck) ::close(each);
}

TEST_F(Server, MakesTheReportOfARunningRunFromItsRecord) {
  put(runs_ / "a/record.jsonl", two_epochs("digits"));
  put(runs_ / "a/report.html", "<title>its own</title>");
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  const std::string report = told_of(list(client), "digits");
  const auto made = client.Get(report);
  ASSERT_TRUE(made);
  EXPECT_NE(made->body.find("\"name\":\"digits\""), std::string::npos);
  append(runs_ / "a/record.jsonl", end_line("completed"));
  list(client, [](const FollowedList& told) { return told.runs().at(0).at("state") == "completed"; });
  const auto own = client.Get(report);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->body, "<title>its own</title>");
}

TEST_F(Server, EndsAtCtrlCWhilePagesFollowIt) {
  put(runs_ / "a/record.jsonl", two_epochs("a"));
  auto view = start();
  httplib::Client client("127.0.0.1", view.port());
  EXPECT_TRUE(client.Get(told_of(list(client), "a")));
  EXPECT_TRUE(left_something());
  std::atomic<bool> follows{false};
  std::thread follower([&] {
    httplib::Client events("127.0.0.1", view.port());
    events.set_read_timeout(60);
    events.Get("/events", [&](const char*, std::size_t) { return follows = true; });
  });
  while (!follows) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(view.end(SIGINT), 0);
  follower.join();
  EXPECT_FALSE(left_something());
}

TEST_F(Server, AnswersWhileManyConnectionsSendTheirHeadersSlowly) {
  put(runs_ / "a/record.jsonl", two_epochs("a"));
  auto view = start();
  std::vector<int> slow;
  for (int i = 0; i < 60; ++i) slow.push_back(connected(view.port()));
  // Bytes come often enough that no read of the server times out.
  std::atomic<bool> is_over{false};
  std::thread dripping([&] {
    for (const int each : slow) ::send(each, "GET / HTTP/1.1\r\nX: ", 19, MSG_NOSIGNAL);
    while (!is_over) {
      for (const int each : slow) ::send(each, "x", 1, MSG_NOSIGNAL);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  httplib::Client client("127.0.0.1", view.port());
  client.set_read_timeout(120);
  EXPECT_EQ(list(client).at("runs").size(), 1u);
  const auto page = client.Get("/");
  EXPECT_TRUE(page && page->status == 200);
  EXPECT_EQ(view.end(SIGTERM), 0) << "none of the connections keeps the server from ending";
  is_over = true;
  dripping.join();
  for (const int each : slow) ::close(each);
}

TEST_F(Server, UsesTheNextPortIfTheUsualOneIsBusyAndSaysSo) {
  auto first = start({});
  auto second = start({});
  ASSERT_NE(first.port(), 0) << first.text();
  EXPECT_GT(second.port(), first.port());
  EXPECT_NE(second.text().find("is taken; port " + std::to_string(second.port()) + " is used instead"),
            std::string::npos)
      << second.text();
  // A port given on the command line is not replaced by a free one.
  auto third = start({"--port", std::to_string(first.port())});
  EXPECT_EQ(third.end(0), 1);
  EXPECT_EQ(third.text(), "loupe: error: cannot listen on 127.0.0.1, port " + std::to_string(first.port()) +
                              "; choose another port with --port, or an address of this machine with --address\n");
}

TEST_F(Server, RefusesAFolderThatDoesNotExist) {
  const fs::path file = put(root_ / "file", "");
  RunningView missing({(root_ / "none").string()}, temporary_);
  EXPECT_EQ(missing.end(0), 2);
  EXPECT_EQ(missing.text(), "loupe: error: '" + (root_ / "none").string() +
                                "' does not exist; name a folder with runs in it, such as runs\n");
  RunningView no_folder({file.string()}, temporary_);
  EXPECT_EQ(no_folder.end(0), 2);
  EXPECT_NE(no_folder.text().find("is not a folder"), std::string::npos);
  EXPECT_FALSE(left_something());
}

TEST_F(Server, RefusesAnAddressThatIsNotThisMachines) {
  auto view = start({"--address", "192.0.2.1"});
  EXPECT_EQ(view.end(0), 1);
  EXPECT_EQ(view.text().substr(0, 40), "loupe: error: cannot listen on 192.0.2.1");
}

}  // namespace
}  // namespace loupe::test
