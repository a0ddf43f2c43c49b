#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace loupe::test {

/// The list of runs as a page builds it from the news of the server.
class FollowedList {
 public:
  void take(const std::string& news) {
    about_ = nlohmann::json::parse(news);
    ++events_;
    std::map<int, nlohmann::json> kept;
    for (const int id : about_.at("ids")) kept[id] = runs_[id];
    for (const nlohmann::json& run : about_.at("runs")) kept.at(run.at("id").get<int>()) = run;
    runs_ = std::move(kept);
  }
  /// Takes the news from server-sent events, in pieces of any size.
  void take_events(const char* data, std::size_t size) {
    text_.append(data, size);
    const std::string begin = "event: runs\ndata: ";
    for (std::size_t end; (end = text_.find("\n\n")) != std::string::npos; text_.erase(0, end + 2)) {
      if (text_.compare(0, begin.size(), begin) == 0) take(text_.substr(begin.size(), end - begin.size()));
    }
  }

  const nlohmann::json& last_news() const { return about_; }
  int events() const { return events_; }
  bool is_read() const {
    return events_ > 0 && std::all_of(runs_.begin(), runs_.end(),
                                      [](const auto& each) { return each.second.at("state") != "reading"; });
  }
  /// The last news about the list, with all runs, the newest first.
  nlohmann::json all() const {
    nlohmann::json told = about_;
    std::vector<nlohmann::json> runs;
    for (const auto& [id, run] : runs_) runs.push_back(run);
    std::stable_sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
      return a.at("started").template get<double>() > b.at("started").template get<double>();
    });
    told["runs"] = runs;
    return told;
  }
  nlohmann::json runs() const { return all().at("runs"); }

 private:
  std::string text_;
  nlohmann::json about_;
  std::map<int, nlohmann::json> runs_;
  int events_ = 0;
};

}  // namespace loupe::test
