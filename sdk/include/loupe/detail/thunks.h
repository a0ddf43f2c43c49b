#ifndef LOUPE_DETAIL_THUNKS_H
#define LOUPE_DETAIL_THUNKS_H

// The C tables behind which C++ components live: every function here catches what its component throws.

#include <loupe/detail/preprocessor_table.h>
#include <loupe/gatherer.h>
#include <loupe/lens.h>
#include <loupe/visualizer.h>

#include <cstddef>

namespace loupe {
namespace detail {

inline const loupe_gatherer* gatherer_table() {
  static const loupe_gatherer table = {
      sizeof(loupe_gatherer), 0,
      [](void* self, const loupe_taps* taps, const loupe_module* module, const char* label, loupe_error* error) {
        return guarded(error, [&] {
          as<Gatherer>(self).bind(taps);
          as<Gatherer>(self).open(module != nullptr ? std::optional<Module>(module) : std::nullopt, label);
        });
      },
      [](void* self, const loupe_event* event, loupe_error* error) {
        return guarded(error, [&] { as<Gatherer>(self).event(Event(event)); });
      }};
  return &table;
}

inline const loupe_lens* lens_table() {
  static const loupe_lens table = {
      sizeof(loupe_lens),
      0,
      [](void* self, const loupe_wiring* wiring, loupe_error* error) {
        return guarded(error, [&] {
          as<Lens>(self).bind(wiring);
          as<Lens>(self).attach();
        });
      },
      [](void* self, const loupe_module* module, loupe_error* error) {
        return guarded(error, [&] { as<Lens>(self).visit(Module(module)); });
      },
      [](void* self, const loupe_module* module) { guarded(nullptr, [&] { as<Lens>(self).forget(Module(module)); }); },
      [](void* self, const loupe_sink* sink, loupe_error* error) {
        return guarded(error, [&] {
          Report report(sink, 0);
          as<Lens>(self).introduce(report);
        });
      },
      [](void* self, double epoch, const loupe_sink* sink, loupe_error* error) {
        return guarded(error, [&] {
          Report report(sink, epoch);
          as<Lens>(self).report(report);
        });
      },
      [](void* self, const char* key, double* value, loupe_error* error) {
        return guarded(error, [&] {
          const std::optional<double> number = as<Lens>(self).query(key);
          if (!number) throw Error(std::string("the lens has no number '") + key + "'", LOUPE_NOT_FOUND);
          *value = *number;
        });
      }};
  return &table;
}

inline const loupe_visualizer* visualizer_table() {
  static const loupe_visualizer table = {
      sizeof(loupe_visualizer),
      0,
      [](void* self, const loupe_run* run, loupe_error* error) {
        return guarded(error, [&] { as<Visualizer>(self).begin(*run); });
      },
      [](void* self, const loupe_tag* tag, loupe_error* error) {
        return guarded(error, [&] { as<Visualizer>(self).tag(*tag); });
      },
      [](void* self, double epoch, loupe_error* error) {
        return guarded(error, [&] { as<Visualizer>(self).begin_tick(epoch); });
      },
      [](void* self, const loupe_value* value, loupe_error* error) {
        return guarded(error, [&] { as<Visualizer>(self).value(*value); });
      },
      [](void* self, const loupe_range* range, loupe_error* error) {
        return guarded(error, [&] { as<Visualizer>(self).range(*range); });
      },
      [](void* self, const loupe_histogram* histogram, loupe_error* error) {
        return guarded(error, [&] { as<Visualizer>(self).histogram(*histogram); });
      },
      [](void* self, loupe_error* error) { return guarded(error, [&] { as<Visualizer>(self).end_tick(); }); },
      [](void* self, const loupe_progress* progress, loupe_error* error) {
        return guarded(error, [&] { as<Visualizer>(self).progress(*progress); });
      },
      [](void* self, loupe_error* error) { return guarded(error, [&] { as<Visualizer>(self).end(); }); }};
  return &table;
}

}  // namespace detail
}  // namespace loupe

#endif
