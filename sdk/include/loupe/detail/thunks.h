#pragma once

// The C tables behind which C++ components live: every function here catches what its component throws.

#include <loupe/detail/preprocessor_table.h>
#include <loupe/detail/whole.h>
#include <loupe/gatherer.h>
#include <loupe/lens.h>
#include <loupe/visualizer.h>

#include <cstddef>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// @tparam hands_on  the gatherer has no event() of its own
template <bool hands_on>
const loupe_gatherer* gatherer_table() {
  static const loupe_gatherer table = [] {
    loupe_gatherer gatherer{};
    gatherer.struct_size = sizeof gatherer;
    gatherer.get_extension = &get_extension<Gatherer>;
    gatherer.open = [](void* self, const loupe_taps* taps, const loupe_module* module, const char* label,
                       loupe_error* error) {
      return guarded(error, [&] {
        need_whole(taps);
        need_whole(module);
        as<Gatherer>(self).bind(taps);
        as<Gatherer>(self).open(module != nullptr ? std::optional<Module>(module) : std::nullopt, label);
      });
    };
    if constexpr (!hands_on) {
      gatherer.event = [](void* self, const loupe_event* event, loupe_error* error) {
        return guarded(error, [&] {
          need_whole(event);
          if (!as<Gatherer>(self).is_bound())
            throw Error("a gatherer gets an event before it was opened", LOUPE_INVALID);
          as<Gatherer>(self).event(Event(event));
        });
      };
    }
    return gatherer;
  }();
  return &table;
}

inline Lens& attached(void* self) {
  if (!as<Lens>(self).is_bound()) throw Error("the lens is called before attach", LOUPE_INVALID);
  return as<Lens>(self);
}

/// @tparam takes_steps  the lens has a step() of its own
template <bool takes_steps>
const loupe_lens* lens_table() {
  static const loupe_lens table = [] {
    loupe_lens lens{};
    lens.struct_size = sizeof lens;
    lens.get_extension = &get_extension<Lens>;
    lens.attach = [](void* self, const loupe_wiring* wiring, loupe_error* error) {
      return guarded(error, [&] {
        need_whole(wiring);
        as<Lens>(self).bind(wiring);
        as<Lens>(self).attach();
      });
    };
    lens.visit = [](void* self, const loupe_module* module, loupe_error* error) {
      return guarded(error, [&] {
        need_whole(module);
        attached(self).drop_forgotten();
        attached(self).visit(Module(module));
      });
    };
    lens.forget = [](void* self, const loupe_module* module) {
      guarded(nullptr, [&] {
        need_whole(module);
        attached(self).let_go(Module(module));
        attached(self).forget(Module(module));
      });
    };
    if constexpr (takes_steps) {
      lens.step = [](void* self, const loupe_step* step, const loupe_sink* sink, loupe_error* error) {
        return guarded(error, [&] {
          need_whole(step);
          need_whole(sink);
          Report report(sink);
          attached(self).step(*step, report);
        });
      };
    }
    lens.report = [](void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error) {
      return guarded(error, [&] {
        need_whole(tick);
        need_whole(sink);
        Report report(sink, tick);
        attached(self).drop_forgotten();
        attached(self).report(report);
      });
    };
    return lens;
  }();
  return &table;
}

/// One function of a visualizer: hands on what it is given.
template <class Told, void (Visualizer::*function)(const Told&)>
loupe_status show(void* self, const Told* told, loupe_error* error) {
  return guarded(error, [&] {
    need(told != nullptr, "what there is to show");
    if (told->struct_size >= sizeof *told) {
      need_named(*told);
      return (as<Visualizer>(self).*function)(*told);
    }
    const Told whole = known_part(*told);
    need_named(whole);
    (as<Visualizer>(self).*function)(whole);
  });
}
template <void (Visualizer::*function)()>
loupe_status show(void* self, loupe_error* error) {
  return guarded(error, [&] { (as<Visualizer>(self).*function)(); });
}

/// @tparam takes_progress  the visualizer has a progress() of its own
template <bool takes_progress>
const loupe_visualizer* visualizer_table() {
  static const loupe_visualizer table = [] {
    loupe_visualizer visualizer{};
    visualizer.struct_size = sizeof visualizer;
    visualizer.get_extension = &get_extension<Visualizer>;
    visualizer.begin = &show<Run, &Visualizer::begin>;
    visualizer.tag = &show<Tag, &Visualizer::tag>;
    visualizer.begin_tick = &show<Tick, &Visualizer::begin_tick>;
    visualizer.row = &show<Row, &Visualizer::row>;
    visualizer.histogram = &show<Histogram, &Visualizer::histogram>;
    visualizer.end_tick = &show<&Visualizer::end_tick>;
    visualizer.flush = &show<&Visualizer::flush>;
    if constexpr (takes_progress) visualizer.progress = &show<Progress, &Visualizer::progress>;
    visualizer.finding = &show<loupe_finding, &Visualizer::finding>;
    visualizer.note = &show<Note, &Visualizer::note>;
    visualizer.model = &show<Model, &Visualizer::model>;
    visualizer.hyperparameter = &show<Hyperparameter, &Visualizer::hyperparameter>;
    visualizer.end = &show<Ending, &Visualizer::end>;
    return visualizer;
  }();
  return &table;
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
