#include "replay/audience.h"

#include <loupe/error.h>

namespace loupe::replay {

Audience::Audience(const std::vector<ComponentConfig>& visualizers) {
  for (const ComponentConfig& config : visualizers) {
    try {
      members_.push_back({config.name, ComponentInstance(*config.entry.component, config.options->get())});
    } catch (const std::exception& e) {
      throw Error("the visualizer '" + config.name + "' cannot be made: " + e.what());
    }
  }
}

template <class Call>
void Audience::each(Call&& call) {
  for (Member& member : members_) {
    detail::ErrorBuffer error;
    if (call(member.instance.table<loupe_visualizer>(), member.instance.self(), error.get()) != LOUPE_OK) {
      throw Error("the visualizer '" + member.name + "' failed: " + error.text());
    }
  }
}

void Audience::begin(const loupe_run& run) {
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return LOUPE_OFFERS(table, begin) ? table.begin(self, &run, error) : LOUPE_OK;
  });
}

void Audience::tag(const loupe_tag& tag) {
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return LOUPE_OFFERS(table, tag) ? table.tag(self, &tag, error) : LOUPE_OK;
  });
}

void Audience::begin_tick(double epoch) {
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return table.begin_tick(self, epoch, error);
  });
}

void Audience::value(const loupe_value& value) {
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) { return table.value(self, &value, error); });
}

void Audience::range(const loupe_range& range) {
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return LOUPE_OFFERS(table, range) ? table.range(self, &range, error) : LOUPE_OK;
  });
}

void Audience::histogram(const loupe_histogram& histogram) {
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return LOUPE_OFFERS(table, histogram) ? table.histogram(self, &histogram, error) : LOUPE_OK;
  });
}

void Audience::end_tick() {
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return LOUPE_OFFERS(table, end_tick) ? table.end_tick(self, error) : LOUPE_OK;
  });
}

void Audience::end() {
  each([&](const loupe_visualizer& table, void* self, loupe_error* error) {
    return LOUPE_OFFERS(table, end) ? table.end(self, error) : LOUPE_OK;
  });
}

}  // namespace loupe::replay
