#include "core/display.h"

#include <chrono>
#include <cstddef>
#include <ctime>

#include "core/log.h"
#include "loupe/config_error.h"
#include "loupe/version.h"

namespace loupe {

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

const char* libtorch_version() {
  return LOUPE_LIBTORCH_VERSION;
}

void Display::replace(const std::vector<ComponentConfig>& visualizers) {
  std::vector<Shown> made;
  for (const ComponentConfig& config : visualizers) {
    try {
      made.push_back({config.name, ComponentInstance(*config.entry.component, config.options->get())});
    } catch (const std::exception& e) {
      throw ConfigError(config.place() + "the visualizer '" + config.name + "' cannot be made: " + e.what());
    }
  }
  end();
  shown_ = std::move(made);
}

template <class Call>
void Display::guarded_call(Shown& shown, Call&& call) {
  detail::ErrorBuffer error;
  if (call(shown.instance.table<loupe_visualizer>(), shown.instance.self(), error.get()) == LOUPE_OK) return;
  shown.skip = true;
  if (std::exchange(shown.failing, true)) return;
  log(LOUPE_LOG_ERROR, "the visualizer '" + shown.name + "' failed: " + error.text() +
                           "; training goes on, and it is tried again at the next tick");
}

template <class Call>
void Display::each(Call&& call) {
  for (Shown& shown : shown_) {
    if (!shown.skip) guarded_call(shown, call);
  }
}

loupe_run Display::c_run() const {
  return {sizeof(loupe_run), run_.resumed,       run_.name.c_str(),   run_.directory.c_str(), run_.config.c_str(),
          LOUPE_VERSION,     libtorch_version(), run_.models.c_str(), run_.started.c_str()};
}

void Display::begin(Shown& shown) {
  const loupe_run run = c_run();
  guarded_call(shown, [&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return LOUPE_OFFERS(table, begin) ? table.begin(self, &run, error) : LOUPE_OK;
  });
  shown.begun = !shown.skip;
}

/// A tag that a visualizer failed to take comes again at the next tick.
void Display::tell_tags(Shown& shown) {
  while (shown.begun && !shown.skip && shown.told < tags_.size()) {
    guarded_call(shown, [&](const loupe_visualizer& table, void* self, loupe_error* error) {
      return LOUPE_OFFERS(table, tag) ? table.tag(self, &tags_[shown.told]->tag, error) : LOUPE_OK;
    });
    if (!shown.skip) ++shown.told;
  }
}

void Display::begin_tick(double epoch) {
  for (Shown& shown : shown_) {
    shown.skip = false;
    if (!shown.begun) begin(shown);
    tell_tags(shown);
  }
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return table.begin_tick(self, epoch, error);
  });
}

void Display::tag(const loupe_tag& tag) {
  for (const auto& record : tags_) {
    if (record->name == tag.name) return;
  }
  auto record = std::make_unique<TagRecord>(TagRecord{tag.name, copy_known(tag)});
  record->tag.name = record->name.c_str();
  tags_.push_back(std::move(record));
  for (Shown& shown : shown_) tell_tags(shown);
}

void Display::value(const loupe_value& value) {
  last_[{value.tag, value.layer, value.line}] = value.value;
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) { return table.value(self, &value, error); });
}

void Display::range(const loupe_range& range) {
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return LOUPE_OFFERS(table, range) ? table.range(self, &range, error) : LOUPE_OK;
  });
}

void Display::histogram(const loupe_histogram& histogram) {
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return LOUPE_OFFERS(table, histogram) ? table.histogram(self, &histogram, error) : LOUPE_OK;
  });
}

void Display::end_tick() {
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return LOUPE_OFFERS(table, end_tick) ? table.end_tick(self, error) : LOUPE_OK;
  });
  for (Shown& shown : shown_) {
    if (!shown.skip && std::exchange(shown.failing, false))
      log(LOUPE_LOG_INFO, "the visualizer '" + shown.name + "' works again");
  }
}

bool Display::wants_progress() const {
  for (const Shown& shown : shown_) {
    if (LOUPE_OFFERS(shown.instance.table<loupe_visualizer>(), progress)) return true;
  }
  return false;
}

void Display::progress(const loupe_progress& progress) {
  for (Shown& shown : shown_) {
    if (!shown.begun && !shown.skip) begin(shown);
  }
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return LOUPE_OFFERS(table, progress) ? table.progress(self, &progress, error) : LOUPE_OK;
  });
}

void Display::end() {
  for (Shown& shown : shown_) {
    const auto& table = shown.instance.table<loupe_visualizer>();
    if (!shown.begun || !LOUPE_OFFERS(table, end)) continue;
    detail::ErrorBuffer error;
    if (table.end(shown.instance.self(), error.get()) == LOUPE_OK) continue;
    // Told even where a failure has been: there is no next try.
    log(LOUPE_LOG_ERROR, "the visualizer '" + shown.name + "' failed at the end: " + error.text());
  }
}

std::optional<double> Display::last(const std::string& tag, const std::string& layer, const std::string& line) const {
  const auto found = last_.find({tag, layer, line});
  return found == last_.end() ? std::nullopt : std::optional<double>(found->second);
}

}  // namespace loupe
