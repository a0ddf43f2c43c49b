#pragma once

// Builds a plugin's C descriptors from its C++ classes.

#include <loupe/detail/option_table.h>
#include <loupe/detail/thunks.h>
#include <loupe/detail/whole.h>
#include <loupe/host.h>
#include <loupe/layer_lens.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// What `loupe list --long` shows of a plugin; see loupe_plugin. Each text but name and version may be null.
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

// Whether a class leaves these out. One that hides or overrides them in private counts as having its own.
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
class Component {
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
  // What a class leaves out, its table leaves out too: the host then need not call.
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
const void* plugin_interface(const char* id, const PluginInfo& info) noexcept {
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
    return nullptr;  // a declaration that throws: the host reports a plugin that offers nothing
  }
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
