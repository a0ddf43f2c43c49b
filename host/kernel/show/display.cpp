#include "show/display.h"

#include <loupe/error.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <exception>
#include <limits>

#include "config/settings.h"
#include "core/clock.h"
#include "core/forks.h"
#include "core/log.h"
#include "core/threads.h"
#include "loupe/config_error.h"
#include "loupe/version.h"

namespace loupe {

const char* libtorch_version() {
  return LOUPE_LIBTORCH_VERSION;
}

/// A visualizer with the thread that calls it.
struct Display::Lane {
  Lane(std::shared_ptr<ShownVisualizer> made, std::function<void()> while_waiting)
      : to(std::move(made)), thread("show", std::move(while_waiting)) {}
  void post(HeldTick::Call call, std::size_t weight = 0) {
    thread.post(
        [call = std::move(call), to = to.get(), posted = steady_time()] {
          to->set_posted(posted);
          call(*to);
          to->warn_if_late();
          to->set_posted(0);
        },
        weight);
  }
  void end() {
    if (!thread.end()) leave_to_parent(to);
  }

  std::shared_ptr<ShownVisualizer> to;
  JobThread thread;
  std::weak_ptr<const loupe_progress> progress;  // while it is queued
  bool lacks_past = true;                        // it does not yet know the run's past in this folder
};

Display::Display(ComponentContext* surroundings)
    : surroundings_(surroundings), spare_(new std::atomic<HeldTick*>(), [](std::atomic<HeldTick*>* spare) {
        delete spare->load();
        delete spare;
      }) {
  set_run({});
}

Display::~Display() {
  end_tick();
  for (Lane& lane : lanes_) lane.end();
}

void Display::replace(const std::vector<ComponentConfig>& visualizers) {
  std::list<Lane> made;
  for (const ComponentConfig& config : visualizers) {
    try {
      made.emplace_back(std::make_shared<ShownVisualizer>(config, surroundings_, told_runs_.back(), standing_),
                        [this] { warn_of_late(); });
    } catch (const std::exception& e) {
      throw ConfigError(config.place() + "the visualizer '" + config.name + "' cannot be created: " + e.what());
    }
  }
  offer_settings();
  end({.struct_size = sizeof(loupe_ending),
       .how = LOUPE_END_COMPLETED,
       .at = {.time = wall_time()},
       .message = "another visualizer takes over"});
  lanes_ = std::move(made);
  past_ = Past(visualizers);
}

/// Posts a message between two ticks, or while ticks are held.
void Display::post(const HeldTick::Call& call) {
  for (Lane& lane : lanes_) lane.post(call);
}

/// Posts a message in order, also within a tick. @param begins  visualizers that have not begun do so with it
void Display::tell(HeldTick::Call call, bool begins) {
  if (tick_ && !holds_) return tick_->add(std::move(call));
  if (begins) tell_past(std::numeric_limits<double>::infinity());
  post(call);
}

void Display::warn_of_late() {
  for (const Lane& lane : lanes_) lane.to->warn_if_late();
}

/// At the start of a resumed run: all visualizers wait until each has the past, which is read before more is stored.
void Display::tell_past(double before) {
  if (!run_.resumed) return;
  for (Lane& lane : lanes_) {
    if (!lane.lacks_past || !past_.is_wanted_by(lane.to->name())) continue;
    lane.post([](ShownVisualizer& to) { to.begin_again(); });
    if (!lane.thread.wait() || !lane.to->has_begun()) continue;
    lane.lacks_past = false;
    Lane* const from = storing();
    Lane& teller = from != nullptr ? *from : lane;
    teller.post([&](ShownVisualizer& storing) { storing.tell_past(past_, *lane.to, before); });
    teller.thread.wait();
  }
}

/// The first visualizer that stores runs; null if none does.
Display::Lane* Display::storing() {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.to->stores(); });
  return found != lanes_.end() ? &*found : nullptr;
}

void Display::show(std::unique_ptr<HeldTick> tick) {
  if (lanes_.empty()) return;
  warn_of_late();
  tell_past(tick->tick().at.epoch);
  const std::size_t weight = tick->weight();
  const std::shared_ptr<const HeldTick> shared(tick.release(),
                                               [spare = spare_](HeldTick* shown) { delete spare->exchange(shown); });
  for (Lane& lane : lanes_) lane.thread.wait_for_less(HeldTick::most_bytes);
  for (Lane& lane : lanes_) lane.post([shared](ShownVisualizer& to) { to.show(*shared); }, weight);
}

void Display::set_run(RunDescription run) {
  run_ = std::move(run);
  const std::string started = utc_text(run_.start_time);
  std::vector<const char*> lenses;
  for (const std::string& lens : run_.lenses) lenses.push_back(lens.c_str());
  run_.settings.lend([&](const loupe_options* settings) {
    const loupe_run run{.struct_size = sizeof(loupe_run),
                        .flags = run_.resumed ? static_cast<uint32_t>(LOUPE_RUN_RESUMED) : 0u,
                        .name = run_.name.c_str(),
                        .directory = run_.directory.c_str(),
                        .config = run_.config.c_str(),
                        .loupe_version = LOUPE_VERSION,
                        .framework_version = libtorch_version(),
                        .started = started.c_str(),
                        .start_time = run_.start_time,
                        .rank = run_.rank,
                        .world_size = run_.world_size,
                        .train_loss = run_.train_loss.c_str(),
                        .validation_loss = run_.validation_loss.c_str(),
                        .settings = settings,
                        .lenses = lenses.data(),
                        .lens_count = lenses.size(),
                        .framework = "libtorch"};
    c_run_ = &told_runs_.emplace_back(std::make_shared<const detail::Owned<loupe_run>>(run))->get();
  });
  tell([run = told_runs_.back()](ShownVisualizer& to) { to.set_run(run, nullptr); });
}

std::string Display::record() const {
  return past_.record_in(run_.directory);
}

void Display::move(RunDescription run) {
  set_run(std::move(run));
  for (Lane& lane : lanes_) lane.lacks_past = true;
  tell([run = told_runs_.back(), again = std::make_shared<const Standing>(standing_)](ShownVisualizer& to) {
    to.set_run(run, again.get());
  });
}

template <class Told>
void Display::keep(std::string key, loupe_status (*loupe_visualizer::*function)(void*, const Told*, loupe_error*),
                   const Told& told) {
  Standing::Tell call = [copy = std::make_shared<const detail::Owned<Told>>(told), function](VisualizerNode& node,
                                                                                             loupe_error* error) {
    return node.tell(function, copy->get(), error);
  };
  standing_.keep(key, call);
  constexpr bool is_finding = std::is_same_v<Told, loupe_finding>;
  tell([key = std::move(key),
        call = std::move(call)](ShownVisualizer& to) { is_finding ? to.finding(key, call) : to.keep(key, call); },
       is_finding);
}

void Display::tag(const loupe_tag& tag, const std::string& owner) {
  // Lenses may report their tags at each tick; only changes are passed on.
  std::string content = std::to_string(tag.type) + ' ' + std::to_string(tag.flags) + ' ' + number_text(tag.y_minimum) +
                        ' ' + number_text(tag.y_maximum);
  for (const char* text : {tag.title, tag.unit, tag.description, tag.healthy, tag.advice})
    content += '\n' + std::string(text != nullptr ? text : "");
  const bool is_shared = (tag.flags & LOUPE_TAG_SHARED) != 0;
  TagTold& known = tags_.try_emplace(tag.id, TagTold{"", owner, is_shared}).first->second;
  if (known.owner != owner && !(known.is_shared && is_shared)) {
    throw Error("the tag '" + std::string(tag.id) + "' belongs to " + known.owner +
                    ", which reported it first; give this one another id" +
                    (known.is_shared ? ", or LOUPE_TAG_SHARED, as that one has" : ""),
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
                  ", so another lens may not report numbers for it; use a separate tag",
              LOUPE_INVALID);
}

void Display::model(const loupe_model& model) {
  keep(std::string("model ") + model.name, &loupe_visualizer::model, model);
}

void Display::hyperparameter(const loupe_option_value& value) {
  keep(std::string("hyperparameter ") + value.name, &loupe_visualizer::hyperparameter, value);
}

void Display::finding(const loupe_finding& finding) {
  keep("finding " + std::to_string(finding.id), &loupe_visualizer::finding, finding);
}

void Display::begin_tick(const loupe_tick& tick) {
  last_.begin_tick();
  last_ends_.begin_tick();
  last_histograms_.begin_tick();
  of_steps_.clear();
  end_tick();  // an exception may have ended the last tick early
  if (lanes_.empty() && !holds_) return;
  tick_.reset(spare_->exchange(nullptr));
  if (tick_) return tick_->begin(tick);
  tick_ = std::make_unique<HeldTick>(tick);
}

void Display::check_again(LastValues::Put put, const char* tag, const char* layer, const std::string& name) const {
  if (surroundings_ != nullptr && surroundings_->has_equal_names()) return;
  const auto known = tags_.find(tag);
  if (put == LastValues::Put::same && known != tags_.end() && known->second.is_shared) return;
  throw Error("'" + name + "' of '" + layer + "' in the tag '" + tag +
                  "' was already reported at this tick; give each number its own name",
              LOUPE_INVALID);
}

template <class Number>
bool Display::is_new_of_step(const Number& number, const std::string& name) {
  auto& known = of_steps_[number.tag];
  const bool is_first = known.insert(std::string(layer_of(number)) + '\0' + std::to_string(number.step) + name).second;
  if (!is_first) check_again(LastValues::Put::other, number.tag, layer_of(number), name);
  if (known.size() <= LOUPE_MOST_STEP_NUMBERS) return is_first;
  throw Error("the tag '" + std::string(number.tag) + "' has more than " + std::to_string(LOUPE_MOST_STEP_NUMBERS) +
                  " numbers of single steps at this tick; fold some steps into one, or report more often",
              LOUPE_INVALID);
}

bool Display::is_new(const RowValue& value) {
  if (value.step != 0) return is_new_of_step(value, value.line);
  using Put = LastValues::Put;
  const Put put = last_.put(value.tag, layer_of(value), value.line, value.value);
  if (put != Put::first) check_again(put, value.tag, layer_of(value), value.line);
  if (put == Put::same) return false;
  if (put == Put::other) last_.replace(value.value);
  if (on_value_) on_value_(value);
  return true;
}

bool Display::is_new(const RowRange& range) {
  if (range.step != 0) return is_new_of_step(range, std::string(range.low_name) + ".." + range.high_name);
  using Put = LastValues::Put;
  ((ends_name_ = range.low_name) += '\0') += range.high_name;
  const Put low = last_ends_.put(range.tag, layer_of(range), ends_name_, range.low);
  const Put high = last_ends_.put(range.tag, layer_of(range), ends_name_ += '\0', range.high);
  const Put put = low == Put::same ? high : low;
  if (put != Put::first)
    check_again(put, range.tag, layer_of(range), std::string(range.low_name) + ".." + range.high_name);
  return put != Put::same;
}

void Display::row(const loupe_row& row) {
  const auto hand_on = [&] {
    if (tick_ && !fresh_.empty()) tick_->add(fresh_.of(row));
  };
  const auto take = [&](const auto& number) {
    if (is_new(number)) fresh_.add(number);
  };
  fresh_.clear();
  try {
    each_value(row, take);
    each_range(row, take);
  } catch (...) {
    hand_on();  // pass on the values before the refused one
    throw;
  }
  hand_on();
}

void Display::histogram(const loupe_histogram& histogram) {
  using Put = LastValues::Put;
  const char* layer = histogram.layer != nullptr ? histogram.layer : histogram.tag;
  if (last_histograms_.put(histogram.tag, layer, histogram.line, 0) != Put::first)
    check_again(Put::other, histogram.tag, layer, histogram.line);
  if (tick_) tick_->add(histogram);
}

void Display::end_tick() {
  if (tick_ && !holds_) show(std::move(tick_));
}

void Display::note(const loupe_note& note) {
  tell([copy = std::make_shared<const detail::Owned<loupe_note>>(note)](ShownVisualizer& to) { to.note(copy->get()); },
       true);
}

void Display::progress(const loupe_progress& progress) {
  warn_of_late();
  end_tick();
  tell_past(std::numeric_limits<double>::infinity());
  for (Lane& lane : lanes_) {
    if (!lane.progress.expired()) continue;
    const auto copy = std::make_shared<const loupe_progress>(detail::known_part(progress));
    lane.progress = copy;
    lane.post([copy](ShownVisualizer& to) { to.progress(*copy); });
  }
}

bool Display::wants_progress() const {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.to->wants_progress(); });
}

std::string Display::take_fault() {
  std::string fault;
  for (const Lane& lane : lanes_) {
    if (std::string own = lane.to->take_fault(); !own.empty()) fault = std::move(own);
  }
  return fault;
}

void Display::wait() {
  end_tick();
  for (Lane& lane : lanes_) lane.thread.wait();
}

void Display::when_told(const std::function<void()>& call) {
  tell([call](ShownVisualizer&) { call(); });
}

void Display::flush() {
  end_tick();
  post([](ShownVisualizer& to) { to.flush(); });
  wait();
}

void Display::end(const loupe_ending& ending) {
  end_tick();
  post([&ending](ShownVisualizer& to) { to.end(ending); });
  for (Lane& lane : lanes_) lane.end();
  lanes_.clear();
}

std::optional<loupe_moment> Display::last_before(double before) {
  Lane* const from = storing();
  if (!run_.resumed || from == nullptr) return std::nullopt;
  const auto last = std::make_shared<std::optional<loupe_moment>>();
  from->post([last, before](ShownVisualizer& to) { *last = to.last_before(before); });
  return from->thread.wait() ? *last : std::nullopt;
}

std::optional<double> Display::last(const std::string& tag, const std::string& layer, const std::string& line) const {
  return last_.find(tag, layer.empty() ? tag : layer, line);
}

}  // namespace loupe
