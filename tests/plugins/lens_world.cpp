#include "lens_world.h"

#include <loupe/detail/series_reading.h>
#include <loupe/draft/abi/lens_query.h>
#include <loupe/visualizer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace loupe::test {
namespace {

const loupe_lens& table_of(const Instance& lens) {
  return lens.table<loupe_lens>();
}

}  // namespace

struct LensWorld::FakeModule {
  FakeModule(const ModuleSpec& spec_, uint64_t id) : spec(spec_), full_type("torch::nn::" + spec_.type + "Impl") {
    for (const std::string& parameter : spec.parameters) {
      // As modules have them: what is called a bias is a vector.
      const int64_t dim = parameter.find("bias") != std::string::npos ? 1 : 2;
      parameters.push_back({.struct_size = sizeof(loupe_parameter),
                            .flags = LOUPE_PARAMETER_TRAINABLE,
                            .name = parameter.c_str(),
                            .dim = dim,
                            .numel = 4,
                            .sizes = sizes});
    }
    for (const auto& parameter : parameters) pointers.push_back(&parameter);
    shown = spec.model.empty() ? spec.name : spec.model + "." + spec.name;
    model.own_name = spec.model.c_str();
    module = {sizeof(loupe_module),
              spec.flags,
              id,
              spec.family,
              0,
              shown.c_str(),
              spec.name.c_str(),
              nullptr,
              &model,
              spec.type.c_str(),
              full_type.c_str(),
              pointers.data(),
              pointers.size(),
              spec.settings.empty() ? nullptr : spec.settings.c_str()};
  }
  ModuleSpec spec;
  std::string shown, full_type;
  int64_t sizes[2] = {4, 1};
  std::vector<loupe_parameter> parameters;
  std::vector<const loupe_parameter*> pointers;
  loupe_model model{.struct_size = sizeof(loupe_model), .name = "", .type = ""};
  loupe_module module{};
};

struct LensWorld::Watch {
  Watch(const loupe_watch& asked, const loupe_component& gatherer_component)
      : module(asked.module),
        label(asked.label != nullptr ? asked.label : ""),
        gatherer(gatherer_component, ComponentOptions(gatherer_component, asked.gatherer_options)),
        stream(asked.preprocessor, asked.preprocessor_options) {
    taps = {.struct_size = sizeof(loupe_taps),
            .context = this,
            .subscribe = [](void* self, const loupe_subscription* asked, loupe_error*) -> loupe_status {
              static_cast<Watch*>(self)->subscriptions.emplace_back(
                  asked->tap, asked->label != nullptr ? asked->label : "", asked->index);
              return LOUPE_OK;
            },
            .emit = [](void* self, const loupe_event* event, loupe_error* error) -> loupe_status {
              return detail::guarded(error, [&] { static_cast<Watch*>(self)->stream.feed(*event); });
            }};
    detail::ErrorBuffer error;
    error.check(gatherer.table<loupe_gatherer>().open(gatherer.self(), &taps, module, asked.label, error.get()));
  }
  bool hears(uint32_t tap, const std::string& name, uint32_t index = 0) const {
    return std::count(subscriptions.begin(), subscriptions.end(), Subscription(tap, name, index)) > 0;
  }

  const loupe_module* module;
  std::string label;
  using Subscription = std::tuple<uint32_t, std::string, uint32_t>;
  std::vector<Subscription> subscriptions;
  loupe_taps taps{};
  Instance gatherer;
  PreprocessorStream stream;
};

LensWorld::LensWorld(const std::string& lens, const std::string& yaml, const std::string& plugin) {
  static const auto as_watch = [](loupe_source* source) { return reinterpret_cast<Watch*>(source); };
  static const auto table = [](loupe_source* source) -> const loupe_preprocessor& {
    return as_watch(source)->stream.instance().table<loupe_preprocessor>();
  };
  static const auto self = [](loupe_source* source) { return as_watch(source)->stream.instance().self(); };
  wiring_ = {
      .struct_size = sizeof(loupe_wiring),
      .context = this,
      .watch = [](void* world, const loupe_watch* watch, loupe_source** source, loupe_error* error) -> loupe_status {
        return detail::guarded(error, [&] {
          auto& watches = static_cast<LensWorld*>(world)->watches_;
          watches.emplace_back(*watch, *find_component("gatherers", LOUPE_GATHERER_ID, watch->gatherer));
          *source = reinterpret_cast<loupe_source*>(&watches.back());
        });
      },
      .series_count = [](void*, loupe_source* source) { return table(source).series_count(self(source)); },
      .find = [](void*, loupe_source* source, const char* name, size_t* index,
                 loupe_error* error) { return detail::find_series(table(source), self(source), name, index, error); },
      .read =
          [](void* world, loupe_source* source, size_t i, loupe_series* row, loupe_error* error) {
            ++static_cast<LensWorld*>(world)->rows_read_;
            return table(source).read(self(source), i, row, error);
          },
      .quantiles =
          [](void*, loupe_source* source, size_t i, const double* q, size_t q_count, double* values,
             loupe_error* error) { return table(source).quantiles(self(source), i, q, q_count, values, error); },
      .values =
          [](void*, loupe_source* source, size_t i, double* values, size_t capacity, size_t* count,
             loupe_error* error) { return table(source).values(self(source), i, values, capacity, count, error); },
      .rest = [](void*, loupe_source*, uint32_t, loupe_error*) -> loupe_status { return LOUPE_OK; },
      .get_extension = [](void*, const char*) -> const void* { return nullptr; }};
  const loupe_component& component = *find_component(plugin.empty() ? lens : plugin, LOUPE_LENS_ID, lens);
  lens_ = std::make_unique<Instance>(component, ComponentOptions(component, yaml));
  detail::ErrorBuffer error;
  error.check(table_of(*lens_).attach(lens_->self(), &wiring_, error.get()));
}

LensWorld::~LensWorld() = default;

LensWorld::FakeModule& LensWorld::find(const std::string& name) {
  for (FakeModule& module : modules_) {
    if (module.shown == name) return module;
  }
  throw std::runtime_error("the test has no module " + name);
}

void LensWorld::add(const ModuleSpec& spec) {
  FakeModule& module = modules_.emplace_back(spec, next_id_++);
  detail::ErrorBuffer error;
  error.check(table_of(*lens_).visit(lens_->self(), &module.module, error.get()));
}

void LensWorld::forget(const std::string& name) {
  FakeModule& module = find(name);
  table_of(*lens_).forget(lens_->self(), &module.module);
  watches_.remove_if([&](const Watch& watch) { return watch.module == &module.module; });
  modules_.remove_if([&](const FakeModule& each) { return &each == &module; });
}

void LensWorld::dispatch(Watch& watch, const loupe_event& event) {
  const auto& table = watch.gatherer.table<loupe_gatherer>();
  detail::ErrorBuffer error;
  if (table.event != nullptr) {
    error.check(table.event(watch.gatherer.self(), &event, error.get()));
  } else {
    watch.stream.feed(event);
  }
}

void LensWorld::event(uint32_t tap, const std::string& module, const Tensor& tensor, const std::string& label,
                      uint32_t flags, uint32_t index) {
  const FakeModule& from = find(module);
  const loupe_tensor view = tensor.view();
  loupe_event event{};
  event.struct_size = sizeof event;
  event.tap = tap;
  event.flags = flags;
  event.index = index;
  event.module = &from.module;
  event.label = label.empty() ? nullptr : label.c_str();
  event.tensor = &view;
  for (Watch& watch : watches_) {
    if (watch.module == &from.module && watch.hears(tap, label, index)) dispatch(watch, event);
  }
}

void LensWorld::push(const char* label, double value, uint32_t flags) {
  loupe_event event{};
  event.struct_size = sizeof event;
  event.tap = LOUPE_TAP_PUSH;
  event.flags = flags;
  event.label = label;
  event.scalar = value;
  for (Watch& watch : watches_) {
    if (watch.module == nullptr && watch.hears(LOUPE_TAP_PUSH, "")) dispatch(watch, event);
  }
}

void LensWorld::prime(const std::string& module, const std::string& label, const Tensor& tensor) {
  for (Watch& watch : watches_) {
    if (watch.module == &find(module).module && watch.label == label) watch.stream.prime(tensor);
  }
}

loupe_sink LensWorld::sink(Shown& shown) {
  showing_ = &shown;
  return {.struct_size = sizeof(loupe_sink),
          .context = this,
          .tag = [](void* world, const loupe_tag* tag, loupe_error*) -> loupe_status {
            auto& self = *static_cast<LensWorld*>(world);
            self.told_[tag->id] = true;
            self.showing_->tags[tag->id] = {tag->type,
                                            is_logarithmic(*tag),
                                            is_big(*tag),
                                            is_annotated(*tag),
                                            y_minimum_of(*tag),
                                            y_maximum_of(*tag),
                                            tag->healthy != nullptr ? tag->healthy : ""};
            return LOUPE_OK;
          },
          .row = [](void* world, const loupe_row* row, loupe_error*) -> loupe_status {
            auto& self = *static_cast<LensWorld*>(world);
            EXPECT_TRUE(self.told_[row->tag]) << row->tag << " has a row before it was told";
            each_value(*row, [&](const RowValue& value) {
              const bool first =
                  self.showing_->values.emplace(std::tuple(value.tag, layer_of(value), value.line), value.value).second;
              EXPECT_TRUE(first) << value.tag << ' ' << layer_of(value) << ' ' << value.line << " was told twice";
            });
            each_range(*row, [&](const RowRange& range) {
              const std::string names = std::string(range.low_name) + "|" + range.high_name;
              self.showing_->ranges.emplace(std::tuple(range.tag, layer_of(range), names),
                                            std::pair(range.low, range.high));
            });
            return LOUPE_OK;
          },
          .histogram = [](void* world, const loupe_histogram* histogram, loupe_error*) -> loupe_status {
            auto& self = *static_cast<LensWorld*>(world);
            EXPECT_TRUE(self.told_[histogram->tag]) << histogram->tag << " has a histogram before its tag";
            self.showing_->histograms.emplace(
                std::tuple(histogram->tag, layer_of(*histogram), histogram->line),
                Shown::Histogram{{histogram->edges, histogram->edges + histogram->bin_count + 1},
                                 {histogram->counts, histogram->counts + histogram->bin_count}});
            return LOUPE_OK;
          }};
}

void LensWorld::step() {
  Shown shown;
  const loupe_sink to = sink(shown);
  loupe_step told{};
  told.struct_size = sizeof told;
  told.optimizer = optimizers_.empty() ? nullptr : optimizers_.front();
  detail::ErrorBuffer error;
  error.check(table_of(*lens_).step(lens_->self(), &told, &to, error.get()));
}

Shown LensWorld::tick(double epoch) {
  Shown shown;
  const loupe_sink to = sink(shown);
  detail::ErrorBuffer error;
  loupe_tick told{};
  told.struct_size = sizeof told;
  told.reason = LOUPE_TICK_EPOCH;
  told.at.epoch = epoch;
  told.optimizers = optimizers_.data();
  told.optimizer_count = optimizers_.size();
  error.check(table_of(*lens_).report(lens_->self(), &told, &to, error.get()));
  for (Watch& watch : watches_) watch.stream.reset();
  return shown;
}

std::optional<double> LensWorld::query(const std::string& key) const {
  double value = 0;
  detail::ErrorBuffer error;
  const auto* table = static_cast<const loupe_draft_lens_query*>(
      table_of(*lens_).get_extension(lens_->self(), LOUPE_DRAFT_LENS_QUERY_ID));
  if (table == nullptr) return std::nullopt;
  const loupe_status status = table->query(lens_->self(), key.c_str(), &value, error.get());
  if (status == LOUPE_NOT_FOUND) return std::nullopt;
  error.check(status);
  return value;
}

std::vector<std::string> LensWorld::watched(uint32_t tap) const {
  std::vector<std::string> names;
  for (const Watch& watch : watches_) {
    if (watch.subscriptions.size() != 1 || std::get<0>(watch.subscriptions[0]) != tap) continue;
    const std::string& label = std::get<1>(watch.subscriptions[0]);
    names.push_back(std::string(watch.module != nullptr ? watch.module->name : "") +
                    (label.empty() ? "" : "/" + label));
  }
  return names;
}

bool LensWorld::keeps_values() const {
  return std::all_of(watches_.begin(), watches_.end(), [](const Watch& watch) {
    const Instance& preprocessor = watch.stream.instance();
    if (watch.stream.series().empty()) return true;
    size_t count = 0;
    detail::ErrorBuffer error;
    const auto& table = preprocessor.table<loupe_preprocessor>();
    return table.values(preprocessor.self(), 0, nullptr, 0, &count, error.get()) == LOUPE_OK;
  });
}

std::optional<double> Shown::value(const std::string& tag, const std::string& layer, const std::string& line) const {
  const auto found = values.find({tag, layer, line});
  return found != values.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<std::pair<double, double>> Shown::range(const std::string& tag, const std::string& layer,
                                                      const std::string& names) const {
  const auto found = ranges.find({tag, layer, names});
  return found != ranges.end() ? std::optional(found->second) : std::nullopt;
}

std::vector<std::string> Shown::layers(const std::string& tag) const {
  std::vector<std::string> layers;
  for (const auto& [key, value] : values) {
    if (std::get<0>(key) == tag && std::count(layers.begin(), layers.end(), std::get<1>(key)) == 0) {
      layers.push_back(std::get<1>(key));
    }
  }
  return layers;
}

}  // namespace loupe::test
