#include "show/display.h"

#include <loupe/detail/owned.h>
#include <loupe/error.h>
#include <loupe/text/number_text.h>

#include <exception>
#include <memory>
#include <utility>

#include "core/clock.h"
#include "core/forks.h"
#include "loader/running_component.h"
#include "loupe/config_error.h"
#include "loupe/version.h"

namespace loupe {

const char* libtorch_version() {
  return LOUPE_LIBTORCH_VERSION;
}

Display::~Display() {
  if (gathered_) post_tick(std::move(gathered_));
  if (!thread_.end()) leave_to_parent(visualizers_);
}

void Display::replace(const std::vector<ComponentConfig>& visualizers) {
  std::vector<VisualizerNode> made;
  made.reserve(visualizers.size());
  for (const ComponentConfig& config : visualizers) {
    try {
      made.emplace_back(config.name, config.entry, config.options->get(), visualizers_.get());
    } catch (const std::exception& e) {
      throw ConfigError(config.place() + "the visualizer '" + config.name + "' cannot be made: " + e.what());
    }
  }
  end({.struct_size = sizeof(loupe_ending),
       .how = LOUPE_END_COMPLETED,
       .at = {.time = wall_time()},
       .message = "another visualizer takes over"});
  is_empty_ = made.empty();
  wants_progress_ = false;
  for (const VisualizerNode& node : made) wants_progress_ = wants_progress_ || node.offers(&loupe_visualizer::progress);
  history_ = ResumedHistory(visualizers);
  visualizers_->replace(std::move(made), history_);
}

/// Between two ticks, or where ticks are held.
void Display::post(HeldTick::Call call) {
  if (is_empty_) return call(*visualizers_);
  thread_.post([call = std::move(call), to = visualizers_.get()] { call(*to); });
}

/// In their order with what else is told, also within a tick.
void Display::tell(HeldTick::Call call) {
  if (gathered_) return gathered_->add(std::move(call));
  post(std::move(call));
}

void Display::post_tick(std::shared_ptr<HeldTick> tick) {
  if (is_empty_) return visualizers_->show(*tick);
  thread_.wait_for_large(most_ticks);
  thread_.post(
      [tick = std::move(tick), to = visualizers_.get()]() mutable {
        to->show(*tick);
        to->give_spare(std::move(tick));
      },
      true);
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
                        .libtorch_version = libtorch_version(),
                        .started = started.c_str(),
                        .start_time = run_.start_time,
                        .rank = run_.rank,
                        .world_size = run_.world_size,
                        .train_loss = run_.train_loss.c_str(),
                        .validation_loss = run_.validation_loss.c_str(),
                        .settings = settings,
                        .lenses = lenses.data(),
                        .lens_count = lenses.size()};
    c_run_ = &told_runs_.emplace_back(std::make_shared<const detail::Owned<loupe_run>>(run))->get();
  });
  post_run(false);
}

void Display::move(RunDescription run) {
  set_run(std::move(run));
  post_run(true);
}

void Display::post_run(bool is_elsewhere) {
  tell([run = told_runs_.back(), is_elsewhere](Visualizers& to) { to.set_run(run, is_elsewhere); });
}

template <class Told>
void Display::keep(std::string key, loupe_status (*loupe_visualizer::*function)(void*, const Told*, loupe_error*),
                   const Told& told) {
  tell([key = std::move(key), copy = std::make_shared<const detail::Owned<Told>>(told), function](Visualizers& to) {
    if constexpr (std::is_same_v<Told, loupe_model>) to.model(copy->get());
    const auto tell = [copy, function](VisualizerNode& node, loupe_error* error) {
      return node.tell(function, copy->get(), error);
    };
    if constexpr (std::is_same_v<Told, loupe_finding>) {
      to.finding(key, tell);
    } else {
      to.keep(key, tell);
    }
  });
}

void Display::tag(const loupe_tag& tag, const std::string& owner) {
  // Lenses may tell theirs at each tick; only what is new goes on.
  std::string content = std::to_string(tag.type) + ' ' + std::to_string(tag.flags) + ' ' + number_text(tag.y_minimum) +
                        ' ' + number_text(tag.y_maximum);
  for (const char* text : {tag.title, tag.unit, tag.description, tag.healthy, tag.advice})
    content += '\n' + std::string(text != nullptr ? text : "");
  const bool is_shared = (tag.flags & LOUPE_TAG_SHARED) != 0;
  TagTold& known = tags_.try_emplace(tag.id, TagTold{"", owner, is_shared}).first->second;
  if (known.owner != owner && !(known.is_shared && is_shared)) {
    throw Error("the tag '" + std::string(tag.id) + "' belongs to " + known.owner +
                    ", which told it first; give this one another id" +
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
                  ", so that another lens tells no numbers of it; tell them of a tag of its own",
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
  if (gathered_) post_tick(std::move(gathered_));  // an exception left it before its end
  if (holds_) {
    held_ = std::make_unique<HeldTick>(tick);
  } else if (!is_empty_) {
    gathered_ = visualizers_->take_spare();
    if (gathered_) {
      gathered_->begin(tick);
    } else {
      gathered_ = std::make_shared<HeldTick>(tick);
    }
  }
}

void Display::show(std::unique_ptr<HeldTick> tick) {
  post_tick(std::move(tick));
}

void Display::check_again(LastValues::Put put, const char* tag, const char* layer, const std::string& name) const {
  if (surroundings_ != nullptr && surroundings_->has_equal_names()) return;
  const auto known = tags_.find(tag);
  if (put == LastValues::Put::same && known != tags_.end() && known->second.is_shared) return;
  throw Error("'" + name + "' of '" + layer + "' in the tag '" + tag +
                  "' was told at this tick already; give each number a name of its own",
              LOUPE_INVALID);
}

bool Display::is_new(const RowValue& value) {
  using Put = LastValues::Put;
  const Put put = last_.put(value.tag, layer_of(value), value.line, value.value);
  if (put != Put::first) check_again(put, value.tag, layer_of(value), value.line);
  if (put == Put::same) return false;
  if (put == Put::other) last_.replace(value.value);
  if (on_value_) on_value_(value);
  return true;
}

bool Display::is_new(const RowRange& range) {
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
    if (fresh_.empty()) return;
    if (held_) return held_->add(fresh_.of(row));
    if (gathered_) gathered_->add(fresh_.of(row));
  };
  const auto take = [&](const auto& number) {
    if (is_new(number)) fresh_.add(number);
  };
  fresh_.clear();
  try {
    each_value(row, take);
    each_range(row, take);
  } catch (...) {
    hand_on();  // what came before the one that is refused
    throw;
  }
  hand_on();
}

void Display::histogram(const loupe_histogram& histogram) {
  using Put = LastValues::Put;
  const char* layer = histogram.layer != nullptr ? histogram.layer : histogram.tag;
  if (last_histograms_.put(histogram.tag, layer, histogram.line, 0) != Put::first)
    check_again(Put::other, histogram.tag, layer, histogram.line);
  if (held_) return held_->add(histogram);
  if (gathered_) gathered_->add(histogram);
}

void Display::end_tick() {
  if (gathered_) post_tick(std::move(gathered_));
}

void Display::note(const loupe_note& note) {
  tell([copy = std::make_shared<const detail::Owned<loupe_note>>(note)](Visualizers& to) { to.note(copy->get()); });
}

void Display::progress(const loupe_progress& progress) {
  note_shown_progress();
  if (gathered_) post_tick(std::move(gathered_));
  if (!waiting_progress_.expired()) return;
  const auto copy = std::make_shared<const loupe_progress>(detail::known_part(progress));
  waiting_progress_ = copy;
  post([copy](Visualizers& to) { to.progress(*copy); });
}

void Display::wait() {
  if (gathered_) post_tick(std::move(gathered_));
  thread_.wait();
}

void Display::when_told(std::function<void()> call) {
  tell([call = std::move(call)](Visualizers&) { call(); });
}

void Display::flush() {
  if (gathered_) post_tick(std::move(gathered_));
  post([](Visualizers& to) { to.flush(); });
  thread_.wait();
}

bool Display::end(const loupe_ending& ending) {
  if (gathered_) post_tick(std::move(gathered_));
  post([&ending](Visualizers& to) { to.end(ending); });
  const bool is_done = thread_.end();
  is_empty_ = true;
  wants_progress_ = false;
  if (is_done) return true;
  leave_to_parent(std::exchange(visualizers_, std::make_shared<Visualizers>(surroundings_)));
  post_run(false);
  return false;
}

std::optional<double> Display::last(const std::string& tag, const std::string& layer, const std::string& line) const {
  return last_.find(tag, layer.empty() ? tag : layer, line);
}

}  // namespace loupe
