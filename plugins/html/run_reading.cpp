// Reads a run out of the report that an earlier process wrote, for a run that continues it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "html/run_history.h"

namespace loupe::html {
namespace {

/// Null if the page has no element of this id.
Json script_of(std::string_view page, const std::string& id) {
  const std::string opening = "<script type=\"application/json\" id=\"" + id + "\">";
  const std::size_t found = page.find(opening);
  if (found == std::string_view::npos) return nullptr;
  const std::string_view rest = page.substr(found + opening.size());
  return Json::parse(rest.substr(0, rest.find("</script>")));
}

double number_of(const Json& json, double none = NAN) {
  return json.is_null() ? none : json.get<double>();
}

std::string text_in(const Json& list, std::size_t index) {
  return list.at(index).get<std::string>();
}

/// What a finding is kept by, its number; see RunStory::finding.
std::string identity_of(const Json& finding) {
  return std::to_string(finding.at("id").get<std::uint64_t>());
}

std::vector<double> numbers_of(const Json& json) {
  std::vector<double> numbers;
  for (const Json& each : json) numbers.push_back(number_of(each));
  return numbers;
}

}  // namespace

HistogramHistory HistogramHistory::read(const Json& json) {
  HistogramHistory history;
  history.line = json.at("line").get<std::string>();
  for (const Json& edges : json.at("edges")) {
    std::vector<double>& own = history.edges_.emplace_back();
    for (const Json& edge : edges) {
      const double infinite = std::numeric_limits<double>::infinity();
      own.push_back(number_of(edge, own.empty() ? -infinite : infinite));
    }
  }
  for (const Json& each : json.at("columns")) {
    history.columns_.push_back({each.at(0).get<double>(), each.at(1).get<std::size_t>(), each.at(2).get<std::size_t>(),
                                each.at(3).get<std::string>(), number_of(each.at(4))});
    if (history.columns_.back().edges >= history.edges_.size()) throw Error("a histogram has no edges");
    history.bytes_ += history.columns_.back().levels.size();
  }
  history.told_ = history.columns_.size();
  return history;
}

RunStory::RunStory(const Json& run) : lost_notes_(run.at("lostNotes").get<std::size_t>()) {
  for (const Json& each : run.at("findings")) put(findings_, identity_of(each), page_json(each));
  for (const Json& each : run.at("notes")) keep_note(page_json(each));
}

void RunStory::continue_from(const RunStory& earlier, double epoch) {
  const Keyed findings = std::exchange(findings_, {});
  const std::deque<std::string> notes = std::exchange(notes_, {});
  bytes_ = 0;
  for (const std::string& text : hyperparameters_) bytes_ += text.size();
  for (const std::string& text : earlier.findings_) {
    Json finding = Json::parse(text);
    if (!(number_of(finding.at("firstEpoch"), 0) < epoch)) continue;
    finding["gone"] = true;  // the continued run looks again and repeats what is still wrong
    put(findings_, identity_of(finding), page_json(finding));
  }
  for (const std::string& text : findings) put(findings_, identity_of(Json::parse(text)), text);
  for (const std::string& text : earlier.notes_) {
    if (number_of(Json::parse(text).at("epoch"), 0) < epoch) keep_note(text);
  }
  for (const std::string& text : notes) keep_note(text);
  lost_notes_ += earlier.lost_notes_;
}

std::optional<RunHistory> RunHistory::read(const std::string& page) try {
  const Json run = script_of(page, "run-0");
  if (run.is_null() || !script_of(page, "run-1").is_null()) return std::nullopt;
  RunHistory history;
  history.story_ = RunStory(run);
  history.settings_ = run.at("settings").get<Settings>();
  for (const Json& model : run.at("models")) history.models_.push_back(page_json(model));
  history.stride_ = run.at("stride").get<std::size_t>();
  history.epochs_ = numbers_of(run.at("epochs"));
  history.steps_ = numbers_of(run.at("steps"));
  history.seconds_ = numbers_of(run.at("seconds"));
  history.told_ = history.epochs_.size() * history.stride_;
  const Json& tags = run.at("tags");
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const Json& told = tags[i];
    TagHistory& tag = history.tag_of(told.at("name").get<std::string>().c_str());
    tag.words = told.at("words").get<std::array<std::string, 5>>();
    tag.type = told.at("type").get<std::uint32_t>();
    tag.log_y = told.at("log").get<bool>();
    tag.big = told.at("big").get<bool>();
    tag.annotate = told.at("annotate").get<bool>();
    tag.y_minimum = number_of(told.at("low"));
    tag.y_maximum = number_of(told.at("high"));
    const std::vector<double> broken = numbers_of(told.at("broken"));
    for (const Json& each : script_of(page, "run-0-tag-" + std::to_string(i))) {
      Layer& layer = history.layer_of(tag.name, each.at("name").get<std::string>());
      for (const Json& line : each.at("lines"))
        layer.lines[text_in(line, 0)] = {text_in(line, 0), PackedSeries(text_in(line, 1))};
      for (const Json& band : each.at("bands"))
        layer.bands[text_in(band, 0) + '\n' + text_in(band, 1)] = {
            text_in(band, 0), text_in(band, 1), PackedSeries(text_in(band, 2)), PackedSeries(text_in(band, 3))};
      for (const Json& told_histogram : each.at("histograms")) {
        HistogramHistory histogram = HistogramHistory::read(told_histogram);
        history.series_bytes_ += histogram.bytes();
        layer.histograms[histogram.line] = std::move(histogram);
      }
      for (const Line& line : layer.lines) history.series_bytes_ += line.values.bytes();
      for (const Band& band : layer.bands) history.series_bytes_ += band.lows.bytes() + band.highs.bytes();
      if (const std::size_t place = tag.layers.size() - 1; place < broken.size()) layer.first_broken = broken[place];
    }
  }
  return history;
} catch (const std::exception&) {
  return std::nullopt;  // no report, or one of another version
}

std::string RunHistory::differences_from(const RunHistory& earlier) const {
  const auto named = [](const RunHistory& run) {
    std::map<std::string, std::string> all;
    for (const auto& [name, value] : run.settings_) all["'" + name + "'"] = value;
    all.erase("'run.resume'");
    for (const std::string& text : run.models_) {
      const Json model = Json::parse(text, nullptr, false);
      if (model.is_object()) all["the model '" + model.value("name", "") + "'"] = text;
    }
    return all;
  };
  const auto before = named(earlier), now = named(*this);
  std::string all;
  const auto add = [&](const std::string& name, const char* how) { all += (all.empty() ? "" : ", ") + name + how; };
  for (const auto& [name, value] : now) {
    const auto known = before.find(name);
    if (known == before.end()) {
      add(name, " is new");
    } else if (known->second != value) {
      add(name, " is another");
    }
  }
  for (const auto& [name, value] : before) {
    if (now.count(name) == 0) add(name, " is gone");
  }
  return all;
}

void RunHistory::continue_from(RunHistory earlier, double epoch, bool with_story) {
  earlier.forget_from(epoch);
  if (earlier.epochs_.empty()) return;
  for (TagHistory& now : tags_) {
    TagHistory& tag = earlier.tag_of(now.name);
    now.layers = std::move(tag.layers);
    tag = std::move(now);
  }
  tags_ = std::move(earlier.tags_);
  series_bytes_ = earlier.series_bytes_;
  epochs_ = std::move(earlier.epochs_);
  steps_ = std::move(earlier.steps_);
  seconds_ = std::move(earlier.seconds_);
  told_ = earlier.told_;
  stride_ = earlier.stride_;
  if (with_story) story_.continue_from(earlier.story_, epoch);
}

}  // namespace loupe::html
