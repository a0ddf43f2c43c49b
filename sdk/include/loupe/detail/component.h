#pragma once

// Turns C++ classes into a plugin: C tables, whose functions catch the exceptions of their component; the descriptors;
// and the note of loupe/abi/entry.h.

#include <loupe/abi.h>
#include <loupe/detail/option_table.h>
#include <loupe/detail/preprocessor_table.h>
#include <loupe/detail/whole.h>
#include <loupe/gatherer.h>
#include <loupe/host.h>
#include <loupe/layer_lens.h>
#include <loupe/lens.h>
#include <loupe/visualizer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace loupe {
inline namespace v1_0 {

namespace detail {

/// @tparam hands_on  the gatherer does not override event()
template <bool hands_on>
LOUPE_HIDDEN const loupe_gatherer* gatherer_table() {
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
          if (!as<Gatherer>(self).is_bound()) throw Error("a gatherer received an event before open()", LOUPE_INVALID);
          as<Gatherer>(self).event(Event(event));
        });
      };
    }
    return gatherer;
  }();
  return &table;
}

inline Lens& attached(void* self) {
  if (!as<Lens>(self).is_bound()) throw Error("the lens was called before attach", LOUPE_INVALID);
  return as<Lens>(self);
}

/// @tparam takes_steps  the lens overrides step()
template <bool takes_steps>
LOUPE_HIDDEN const loupe_lens* lens_table() {
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

/// One function of a visualizer: passes on its argument.
template <class Told, void (Visualizer::*function)(const Told&)>
loupe_status show(void* self, const Told* told, loupe_error* error) {
  return guarded(error, [&] {
    need(told != nullptr, "the message to show");
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

/// @tparam takes_progress  the visualizer overrides progress()
template <bool takes_progress>
LOUPE_HIDDEN const loupe_visualizer* visualizer_table() {
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

/// The data of a plugin that `loupe list --long` shows; see loupe_plugin. Each text but name and version may be null.
struct PluginInfo {
  const char* name;
  const char* version;
  const char* description = nullptr;
  const char* author = nullptr;
  const char* license = nullptr;
  const char* homepage = nullptr;
};

namespace detail {

template <class T, class = void>
struct HasAliases : std::false_type {};
template <class T>
struct HasAliases<T, std::void_t<decltype(T::aliases())>> : std::true_type {};
template <class T, class = void>
struct HasOptions : std::false_type {};
template <class T>
struct HasOptions<T, std::void_t<decltype(T::options())>> : std::true_type {};
template <class T, class = void>
struct HasGives : std::false_type {};
template <class T>
struct HasGives<T, std::void_t<decltype(T::gives())>> : std::true_type {};
template <class T, class = void>
struct HasExample : std::false_type {};
template <class T>
struct HasExample<T, std::void_t<decltype(T::example)>> : std::true_type {};

// Whether a class does not override these. A class that hides or overrides them in private counts as overriding.
template <class T, class = void>
struct HandsOn : std::false_type {};
template <class T>
struct HandsOn<T, std::enable_if_t<std::is_same_v<decltype(&T::event), decltype(&Gatherer::event)>>> : std::true_type {
};
template <class T, class = void>
struct IgnoresSteps : std::false_type {};
template <class T>
struct IgnoresSteps<T, std::enable_if_t<std::is_same_v<decltype(&T::step), decltype(&Lens::step)>>> : std::true_type {};
template <class T, class = void>
struct IgnoresProgress : std::false_type {};
template <class T>
struct IgnoresProgress<T, std::enable_if_t<std::is_same_v<decltype(&T::progress), decltype(&Visualizer::progress)>>>
    : std::true_type {};

/// The descriptor of one component, with the storage it points at. Made once a process and never destroyed.
template <class T>
class LOUPE_HIDDEN Component {
 public:
  static const loupe_component* descriptor() {
    static const Component* component = new Component();
    return &component->descriptor_;
  }

 private:
  // Instances cross the boundary as a pointer to their kind, which the thunks cast back to.
  static constexpr bool is_gatherer = std::is_base_of_v<Gatherer, T>;
  static constexpr bool is_preprocessor = std::is_base_of_v<Preprocessor, T>;
  static constexpr bool is_lens = std::is_base_of_v<Lens, T>;
  static constexpr bool is_visualizer = std::is_base_of_v<Visualizer, T>;
  static_assert(is_gatherer + is_preprocessor + is_lens + is_visualizer == 1,
                "a component derives from one of Gatherer, Preprocessor, Lens, Visualizer");
  using Kind = std::conditional_t<
      is_gatherer, Gatherer,
      std::conditional_t<is_preprocessor, Preprocessor, std::conditional_t<is_lens, Lens, Visualizer>>>;

  Component() : options_(options()) {
    if constexpr (HasAliases<T>::value) aliases_ = T::aliases();
    if constexpr (HasGives<T>::value) gives_ = T::gives();
    descriptor_.struct_size = sizeof descriptor_;
    descriptor_.interface_id = interface_id();
    descriptor_.name = T::name;
    descriptor_.aliases = aliases_.data();
    descriptor_.alias_count = aliases_.size();
    descriptor_.help = T::help;
    descriptor_.gives = gives_.data();
    descriptor_.give_count = gives_.size();
    descriptor_.options = options_.pointers();
    descriptor_.option_count = options_.size();
    descriptor_.table = table();
    descriptor_.create = &create;
    descriptor_.destroy = &destroy;
    if constexpr (HasExample<T>::value) descriptor_.example = T::example;
  }

  static auto options() {
    if constexpr (HasOptions<T>::value) {
      return T::options();
    } else {
      return std::vector<Option>();
    }
  }
  static const char* interface_id() {
    if constexpr (is_gatherer) return LOUPE_GATHERER_ID;
    if constexpr (is_preprocessor) return LOUPE_PREPROCESSOR_ID;
    if constexpr (is_lens) return LOUPE_LENS_ID;
    if constexpr (is_visualizer) return LOUPE_VISUALIZER_ID;
  }
  // The table leaves out what the class does not override, so the host need not call it.
  static const void* table() {
    if constexpr (is_gatherer) return gatherer_table<HandsOn<T>::value>();
    if constexpr (is_preprocessor) return preprocessor_table();
    if constexpr (is_lens) return lens_table<!IgnoresSteps<T>::value>();
    if constexpr (is_visualizer) return visualizer_table<!IgnoresProgress<T>::value>();
  }
  static loupe_status create(const loupe_component*, const loupe_host* host, const loupe_options* options, void** self,
                             loupe_error* error) {
    return guarded(error, [&] {
      need_whole(host);
      need_whole(options);
      std::unique_ptr<Kind> made;
      if constexpr (std::is_constructible_v<T, const Options&, const Host&>) {
        made = std::make_unique<T>(Options(options), Host(host));
      } else {
        made = std::make_unique<T>(Options(options));
      }
      if constexpr (std::is_base_of_v<LayerLens, T>) static_cast<T&>(*made).call_after(T::name, T::help);
      *self = made.release();
    });
  }
  static void destroy(void* self) { delete static_cast<Kind*>(self); }

  OptionStorage options_;
  std::vector<const char*> aliases_, gives_;
  loupe_component descriptor_{};
};

template <class... Components>
LOUPE_HIDDEN const void* plugin_interface(const char* id, const PluginInfo& info) noexcept {
  if (std::strcmp(id, LOUPE_PLUGIN_ID) != 0) return nullptr;
  try {
    static const std::array<const loupe_component*, sizeof...(Components)> components = {
        Component<Components>::descriptor()...};
    static const loupe_plugin plugin = [&] {
      loupe_plugin made{};
      made.struct_size = sizeof made;
      made.name = info.name;
      made.version = info.version;
      made.description = info.description;
      made.author = info.author;
      made.license = info.license;
      made.homepage = info.homepage;
      made.components = components.data();
      made.component_count = components.size();
      return made;
    }();
    return &plugin;
  } catch (...) {
    return nullptr;  // a declaration threw: the host reports a plugin that offers nothing
  }
}

constexpr std::size_t length_of(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

/// A component's line in the note, without the newline.
template <class T>
struct NoteLine {
  static constexpr const char* kind = std::is_base_of_v<Gatherer, T>       ? LOUPE_GATHERER_ID
                                      : std::is_base_of_v<Preprocessor, T> ? LOUPE_PREPROCESSOR_ID
                                      : std::is_base_of_v<Lens, T>         ? LOUPE_LENS_ID
                                                                           : LOUPE_VISUALIZER_ID;
  static constexpr const char* ending = HasAliases<T>::value ? " +" : "";
  static constexpr std::size_t length = length_of(kind) + 1 + length_of(T::name) + length_of(ending) + 1;
};

template <class... Components>
struct PluginNote {
  static constexpr uint32_t text_size = (NoteLine<Components>::length + ... + 1);
  loupe_elf_note head = {sizeof LOUPE_ELF_NAME, text_size, LOUPE_ELF_VERSION, LOUPE_ELF_NAME};
  char text[(text_size + 3) / 4 * 4] = {};

  constexpr PluginNote() {
    std::size_t at = 0;
    (add_line<NoteLine<Components>>(Components::name, at), ...);
  }

 private:
  constexpr void add(const char* part, std::size_t& at) {
    while (*part != '\0') text[at++] = *part++;
  }
  template <class Line>
  constexpr void add_line(const char* component, std::size_t& at) {
    add(Line::kind, at);
    add(" ", at);
    add(component, at);
    add(Line::ending, at);
    add("\n", at);
  }
};

}  // namespace detail

}  // namespace v1_0
}  // namespace loupe

/// Adds the note to the plugin; a part of LOUPE_PLUGIN.
#if defined(__ELF__)
#define LOUPE_PLUGIN_NOTE(...)                                                          \
  __attribute__((section(LOUPE_ELF_SECTION), used,                                      \
                 aligned(4))) static constexpr ::loupe::detail::PluginNote<__VA_ARGS__> \
      loupe_plugin_note_ {}
#else
#define LOUPE_PLUGIN_NOTE(...) static_assert(true, "its file has no note")
#endif
