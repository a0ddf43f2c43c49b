#include "show/display.h"

#include <loupe/detail/owned.h>
#include <loupe/error.h>
#include <loupe/text/utc_text.h>
#include <loupe/visualizers/model_json.h>

#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include "core/clock.h"
#include "core/log.h"
#include "loader/running_component.h"
#include "loupe/config_error.h"
#include "loupe/version.h"

namespace loupe {

const char* libtorch_version() {
  return LOUPE_LIBTORCH_VERSION;
}

void Display::replace(const std::vector<ComponentConfig>& visualizers) {
  std::vector<Shown> made;
  for (const ComponentConfig& config : visualizers) {
    try {
      made.push_back({VisualizerNode(config.name, config.entry, config.options->get(), surroundings_)});
    } catch (const std::exception& e) {
      throw ConfigError(config.place() + "the visualizer '" + config.name + "' cannot be made: " + e.what());
    }
  }
  end({.struct_size = sizeof(loupe_ending),
       .how = LOUPE_END_COMPLETED,
       .time = wall_time(),
       .message = "another visualizer takes over"});
  shown_ = std::move(made);
  history_ = ResumedHistory(visualizers);
}

void Display::set_run(RunDescription run) {
  run_ = std::move(run);
  started_ = utc_text(run_.start_time);
  c_run_ = {.struct_size = sizeof(loupe_run),
            .flags = run_.resumed ? static_cast<uint32_t>(LOUPE_RUN_RESUMED) : 0u,
            .name = run_.name.c_str(),
            .directory = run_.directory.c_str(),
            .config = run_.config.c_str(),
            .loupe_version = LOUPE_VERSION,
            .libtorch_version = libtorch_version(),
            .started = started_.c_str(),
            .start_time = run_.start_time,
            .rank = run_.rank,
            .world_size = run_.world_size,
            .train_loss = run_.train_loss.c_str(),
            .validation_loss = run_.validation_loss.c_str()};
}

void Display::move(RunDescription run) {
  set_run(std::move(run));
  for (Shown& shown : shown_) {
    shown.begun = false;
    shown.told = 0;
  }
}

template <class Call>
double Display::guarded_call(Shown& shown, Call&& call, double start) {
  detail::ErrorBuffer error;
  const loupe_status status = call(shown.node, error.get());
  const double end = steady_time();
  note_time(shown, end - start);
  if (status == LOUPE_OK) return end;
  shown.skip = true;
  if (std::exchange(shown.failing, true)) return end;
  fault_ = "the visualizer '" + shown.node.name() + "' failed: " + error.text();
  log(LOUPE_LOG_ERROR, fault_ + "; training goes on, and it is tried again at the next tick");
  return steady_time();
}

void Display::note_time(Shown& shown, double seconds) {
  constexpr double too_long = 5;
  seconds_ += seconds;
  if (seconds <= too_long || std::exchange(shown.told_slow, true)) return;
  std::array<char, 32> figure{};
  std::to_chars(figure.data(), figure.data() + figure.size() - 1, seconds, std::chars_format::fixed, 1);
  log(LOUPE_LOG_WARNING, "the visualizer '" + shown.node.name() + "' kept training waiting for " + figure.data() +
                             " s in one call; give it a faster place to write to (path, run.dir), or show less: lenses "
                             "with 'active: 10' or fewer modules by include");
}

template <class... Arguments>
void Display::each(Arguments&&... arguments) {
  if (shown_.empty()) return;
  double time = steady_time();
  for (Shown& shown : shown_) {
    if (shown.skip) continue;
    time = guarded_call(
        shown, [&](VisualizerNode& node, loupe_error* error) { return node.tell(arguments..., error); }, time);
  }
}

template <class Told>
void Display::keep(std::string key, loupe_status (*loupe_visualizer::*function)(void*, const Told*, loupe_error*),
                   const Told& told) {
  const auto known = place_of_.find(key);
  if (known != place_of_.end()) {
    standing_[known->second].tell = nullptr;
    if (++replaced_ > standing_.size() / 2 + 8) drop_replaced();
  }
  place_of_[key] = standing_.size();
  standing_.push_back({std::move(key), [copy = std::make_shared<detail::Owned<Told>>(told), function](
                                           VisualizerNode& node, loupe_error* error) {
                         return node.tell(function, copy->get(), error);
                       }});
  for (Shown& shown : shown_) tell_standing(shown);
}

void Display::drop_replaced() {
  std::vector<Standing> kept;
  std::vector<std::size_t> before;  // of each place, how many are kept before it
  for (Standing& each : standing_) {
    before.push_back(kept.size());
    if (!each.tell) continue;
    place_of_[each.key] = kept.size();
    kept.push_back(std::move(each));
  }
  before.push_back(kept.size());
  for (Shown& shown : shown_) shown.told = before[shown.told];
  standing_ = std::move(kept);
  replaced_ = 0;
}

void Display::begin(Shown& shown, double before) {
  guarded_call(shown, [&](VisualizerNode& node, loupe_error* error) {
    return node.tell(&loupe_visualizer::begin, c_run_, error);
  });
  shown.begun = !shown.skip;
  if (shown.begun && run_.resumed) history_.tell(shown.node, run_.directory, before);
}

/// What a visualizer failed to take comes again at the next tick.
void Display::tell_standing(Shown& shown) {
  while (shown.begun && !shown.skip && shown.told < standing_.size()) {
    if (const Tell& tell = standing_[shown.told].tell) guarded_call(shown, tell);
    if (!shown.skip) ++shown.told;
  }
}

void Display::tag(const loupe_tag& tag, const std::string& owner) {
  // Lenses may tell theirs at each tick; only what is new goes on.
  std::string content = std::to_string(tag.type) + ' ' + std::to_string(tag.flags) + ' ' +
                        std::to_string(tag.y_minimum) + ' ' + std::to_string(tag.y_maximum);
  for (const char* text : {tag.title, tag.unit, tag.description, tag.healthy, tag.advice})
    content += '\n' + std::string(text != nullptr ? text : "");
  const bool is_shared = (tag.flags & LOUPE_PLOT_SHARED) != 0;
  TagTold& known = tags_.try_emplace(tag.id, TagTold{"", owner, is_shared}).first->second;
  if (known.owner != owner && !(known.is_shared && is_shared)) {
    throw Error("the tag '" + std::string(tag.id) + "' belongs to " + known.owner +
                    ", which told it first; give this one another id" +
                    (known.is_shared ? ", or LOUPE_PLOT_SHARED, as that one has" : ""),
                LOUPE_INVALID);
  }
  if (known.content == content) return;
  known.content = std::move(content);
  known.is_shared = is_shared;
  keep(std::string("tag ") + tag.id, &loupe_visualizer::tag, tag);
}

void Display::check_owner(const std::string& tag, const std::string& teller) const {
  const auto known = tags_.find(tag);
  if (known == tags_.end() || known->second.owner == teller) return;
  throw Error("the tag '" + tag + "' belongs to " + known->second.owner +
                  ", so that another lens tells no numbers of it; tell them of a tag of its own",
              LOUPE_INVALID);
}

void Display::model(const loupe_model& model) {
  if (run_.resumed && !compared_) models_[model.name] = replay::parse_model_line(model_json(model));
  keep(std::string("model ") + model.name, &loupe_visualizer::model, model);
}

void Display::hyperparameter(const loupe_option_value& value) {
  keep(std::string("hyperparameter ") + value.name, &loupe_visualizer::hyperparameter, value);
}

void Display::finding(const loupe_finding& finding) {
  // What is wrong is not to wait for the first tick, which may be hours away.
  for (Shown& shown : shown_) {
    if (!shown.begun && !shown.skip) begin(shown);
  }
  keep("finding " + std::to_string(finding.id), &loupe_visualizer::finding, finding);
}

void Display::begin_tick(const loupe_tick& tick) {
  last_.begin_tick();
  last_ends_.begin_tick();
  last_histograms_.begin_tick();
  if (!holds_) return show_begin(tick);
  held_ = std::make_unique<HeldTick>(tick);
}

void Display::show(const HeldTick& tick) {
  show_begin(tick.tick());
  for (const HeldTick::Told& told : tick.told()) {
    if (const auto* value = std::get_if<0>(&told)) {
      each(&loupe_visualizer::value, (*value)->get());
    } else if (const auto* range = std::get_if<1>(&told)) {
      each(&loupe_visualizer::range, (*range)->get());
    } else {
      each(&loupe_visualizer::histogram, std::get<2>(told)->get());
    }
  }
  show_end();
}

void Display::show_begin(const loupe_tick& tick) {
  // By now the models are known, and the record is still the earlier run's alone.
  if (run_.resumed && !std::exchange(compared_, true))
    history_.warn_of_differences(run_.directory, run_.config, models_);
  for (Shown& shown : shown_) {
    shown.skip = false;
    if (!shown.begun) begin(shown, tick.epoch);
    tell_standing(shown);
  }
  each(&loupe_visualizer::begin_tick, tick);
}

void Display::check_again(LastValues::Put put, const char* tag, const char* layer, const std::string& name) const {
  if (surroundings_ != nullptr && surroundings_->has_equal_names()) return;
  const auto known = tags_.find(tag);
  if (put == LastValues::Put::same && known != tags_.end() && known->second.is_shared) return;
  throw Error("'" + name + "' of '" + layer + "' in the tag '" + tag +
                  "' was told at this tick already; give each number a name of its own",
              LOUPE_INVALID);
}

void Display::value(const loupe_value& value) {
  using Put = LastValues::Put;
  const char* layer = value.layer != nullptr ? value.layer : value.tag;
  const Put put = last_.put(value.tag, layer, value.line, value.value);
  if (put != Put::first) check_again(put, value.tag, layer, value.line);
  if (put == Put::same) return;
  if (put == Put::other) last_.replace(value.value);
  if (on_value_) on_value_(value);
  if (held_) return held_->add(value);
  each(&loupe_visualizer::value, value);
}

void Display::range(const loupe_range& range) {
  using Put = LastValues::Put;
  const char* layer = range.layer != nullptr ? range.layer : range.tag;
  ((ends_name_ = range.low_name) += '\0') += range.high_name;
  const Put low = last_ends_.put(range.tag, layer, ends_name_, range.low);
  const Put high = last_ends_.put(range.tag, layer, ends_name_ += '\0', range.high);
  const Put put = low == Put::same ? high : low;
  if (put != Put::first) check_again(put, range.tag, layer, std::string(range.low_name) + ".." + range.high_name);
  if (put == Put::same) return;
  if (held_) return held_->add(range);
  each(&loupe_visualizer::range, range);
}

void Display::histogram(const loupe_histogram& histogram) {
  using Put = LastValues::Put;
  const char* layer = histogram.layer != nullptr ? histogram.layer : histogram.tag;
  if (last_histograms_.put(histogram.tag, layer, histogram.line, 0) != Put::first)
    check_again(Put::other, histogram.tag, layer, histogram.line);
  if (held_) return held_->add(histogram);
  each(&loupe_visualizer::histogram, histogram);
}

void Display::end_tick() {
  if (!holds_) show_end();
}

void Display::show_end() {
  each(&loupe_visualizer::end_tick);
  for (Shown& shown : shown_) {
    if (!shown.skip && std::exchange(shown.failing, false))
      log(LOUPE_LOG_INFO, "the visualizer '" + shown.node.name() + "' works again");
  }
}

void Display::note(const loupe_note& note) {
  for (Shown& shown : shown_) {
    if (!shown.begun && !shown.skip) begin(shown);
  }
  each(&loupe_visualizer::note, note);
}

bool Display::wants_progress() const {
  for (const Shown& shown : shown_) {
    if (shown.node.offers(&loupe_visualizer::progress)) return true;
  }
  return false;
}

void Display::progress(const loupe_progress& progress) {
  note_shown_progress();
  for (Shown& shown : shown_) {
    if (!shown.begun && !shown.skip) begin(shown);
  }
  each(&loupe_visualizer::progress, progress);
}

void Display::flush() {
  for (Shown& shown : shown_) {
    if (!shown.begun) continue;
    const bool told_slow = std::exchange(shown.told_slow, true);  // a flush is there to wait
    guarded_call(shown,
                 [&](VisualizerNode& node, loupe_error* error) { return node.tell(&loupe_visualizer::flush, error); });
    shown.told_slow = told_slow;
  }
}

void Display::end(const loupe_ending& ending) {
  for (Shown& shown : shown_) {
    if (!shown.begun) continue;
    // Told even where a failure has been: there is no next try.
    detail::ErrorBuffer flushed, ended;
    const bool is_flushed = shown.node.tell(&loupe_visualizer::flush, flushed.get()) == LOUPE_OK;
    const bool is_ended = shown.node.tell(&loupe_visualizer::end, ending, ended.get()) == LOUPE_OK;
    if (is_flushed && is_ended) continue;
    log(LOUPE_LOG_ERROR, "the visualizer '" + shown.node.name() +
                             "' failed at the end: " + (is_flushed ? ended.text() : flushed.text()));
  }
  shown_.clear();
}

std::optional<double> Display::last(const std::string& tag, const std::string& layer, const std::string& line) const {
  return last_.find(tag, layer.empty() ? tag : layer, line);
}

}  // namespace loupe
