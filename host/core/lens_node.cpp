#include "core/lens_node.h"

#include <loupe/error.h>

#include <cstddef>

#include "core/log.h"
#include "core/suggestion.h"

namespace loupe {
namespace {

const CatalogueEntry& require(const Catalogue& catalogue, Kind kind, const char* name) {
  const CatalogueEntry* entry = name != nullptr ? catalogue.find(kind, name) : nullptr;
  if (entry == nullptr) {
    const std::string shown = name != nullptr ? name : "";
    throw Error(
        std::string("there is no ") + kind_name(kind) + " '" + shown + "'" + suggestion(shown, catalogue.names(kind)),
        LOUPE_NOT_FOUND);
  }
  return *entry;
}

loupe_source& as_source(loupe_source* source) {
  return *source;
}

}  // namespace

LensNode::LensNode(const ComponentConfig& config, const Catalogue& catalogue, bool stop_on_error,
                   std::function<ModuleNode&(const loupe_module*)> find_module)
    : guard_(config.name, config.entry.library->file, stop_on_error),
      suffix_(config.renamed ? " (" + config.name + ")" : ""),
      catalogue_(catalogue),
      find_module_(std::move(find_module)),
      instance_(*config.entry.component, config.options->get()) {
  wiring_ = {
      sizeof(loupe_wiring),
      0,
      this,
      [](void* self, const loupe_watch* watch, loupe_source** source, loupe_error* error) {
        return detail::guarded(error, [&] { *source = &static_cast<LensNode*>(self)->watch(*watch); });
      },
      [](void*, loupe_source* source) {
        const std::lock_guard lock(*as_source(source).mutex);
        return source->table->series_count(source->self);
      },
      [](void*, loupe_source* source, std::size_t series) {
        const std::lock_guard lock(*as_source(source).mutex);
        return source->table->series_name(source->self, series);
      },
      [](void*, loupe_source* source, std::size_t series, uint32_t aggregation, double* value, loupe_error* error) {
        const std::lock_guard lock(*as_source(source).mutex);
        return source->table->aggregate(source->self, series, aggregation, value, error);
      },
      [](void*, loupe_source* source, std::size_t series, const double** values, std::size_t* count,
         loupe_error* error) {
        const std::lock_guard lock(*as_source(source).mutex);
        if (source->table->values == nullptr) {
          detail::write_error(error, "the preprocessor keeps no values");
          return static_cast<loupe_status>(LOUPE_UNSUPPORTED);
        }
        return source->table->values(source->self, series, values, count, error);
      }};
}

loupe_source& LensNode::watch(const loupe_watch& watch) {
  ModuleNode& module = find_module_(watch.module);
  const CatalogueEntry& gatherer = require(catalogue_, Kind::gatherer, watch.gatherer);
  const std::string owner = "the gatherer '" + std::string(watch.gatherer) + "'";
  GathererNode& node =
      module.gatherer(gatherer, OptionSet::from_values(gatherer.options(), watch.gatherer_options, owner), watch.label);

  loupe_source source;
  source.guard = &guard_;
  source.module_id = watch.module != nullptr ? watch.module->id : 0;
  if (watch.preprocessor != nullptr) {
    const CatalogueEntry& entry = require(catalogue_, Kind::preprocessor, watch.preprocessor);
    const auto options = OptionSet::from_values(entry.options(), watch.preprocessor_options,
                                                "the preprocessor '" + std::string(watch.preprocessor) + "'");
    source.owned = ComponentInstance(*entry.component, options->get());
    source.preprocessor = watch.preprocessor;
    source.table = &source.owned.table<loupe_preprocessor>();
    source.self = source.owned.self();
  } else {
    if (watch.own_interface == nullptr) throw Error("a watch names no preprocessor", LOUPE_INVALID);
    const std::string lacking = lacking_function(Kind::preprocessor, watch.own_interface);
    if (!lacking.empty()) {
      throw Error("a watch brings a preprocessor without the function '" + lacking + "'", LOUPE_INVALID);
    }
    source.preprocessor = "its own";
    source.table = watch.own_interface;
    source.self = watch.own_preprocessor;
  }
  source.request = {sizeof(loupe_request), 0, LOUPE_PASS_BOTH, 0, 0, 1, 1e-8};
  detail::ErrorBuffer error;
  error.check(source.table->request(source.self, &source.request, error.get()));
  sources_.push_back(std::move(source));
  const std::lock_guard lock(module.mutex());
  node.add(sources_.back());
  return sources_.back();
}

template <class Call>
void LensNode::guarded_call(const std::string& where, Call&& call) {
  if (guard_.quarantined()) return;
  detail::ErrorBuffer error;
  if (call(instance_.table<loupe_lens>(), error.get()) != LOUPE_OK) guard_.fault(where, error.text());
}

void LensNode::attach() {
  guarded_call("its start", [&](const loupe_lens& table, loupe_error* error) {
    return table.attach(instance_.self(), &wiring_, error);
  });
}

void LensNode::visit(const ModuleNode& module) {
  guarded_call("the visit of " + module.shown_name(), [&](const loupe_lens& table, loupe_error* error) {
    return table.visit(instance_.self(), module.c_module(), error);
  });
}

void LensNode::forget(const ModuleNode& module) {
  const loupe_lens& table = instance_.table<loupe_lens>();
  if (!guard_.quarantined() && LOUPE_OFFERS(table, forget)) table.forget(instance_.self(), module.c_module());
  sources_.remove_if([&](const loupe_source& source) { return source.module_id == module.c_module()->id; });
}

loupe_sink LensNode::make_sink(Sink& sink) const {
  return {
      sizeof(loupe_sink),
      0,
      &sink,
      [](void* to, const loupe_tag* tag, loupe_error* error) {
        return detail::guarded(error, [&] {
          const auto& [lens, display, run] = *static_cast<Sink*>(to);
          loupe_tag copy = copy_known(*tag);
          const std::string name = lens->tag_name(tag->name);
          copy.name = name.c_str();
          display->tag(copy);
        });
      },
      [](void* to, const loupe_value* value, loupe_error* error) {
        return detail::guarded(error, [&] {
          const auto& [lens, display, run] = *static_cast<Sink*>(to);
          loupe_value copy = copy_known(*value);
          const std::string name = lens->tag_name(value->tag);
          const std::string layer = copy.layer == nullptr || copy.layer == std::string(value->tag) ? name : copy.layer;
          copy.tag = name.c_str();
          copy.layer = layer.c_str();
          display->value(copy);
        });
      },
      [](void* to, const loupe_range* range, loupe_error* error) {
        return detail::guarded(error, [&] {
          const auto& [lens, display, run] = *static_cast<Sink*>(to);
          loupe_range copy = copy_known(*range);
          const std::string name = lens->tag_name(range->tag);
          const std::string layer = copy.layer == nullptr || copy.layer == std::string(range->tag) ? name : copy.layer;
          copy.tag = name.c_str();
          copy.layer = layer.c_str();
          display->range(copy);
        });
      },
      [](void* to, const loupe_histogram* histogram, loupe_error* error) {
        return detail::guarded(error, [&] {
          const auto& [lens, display, run] = *static_cast<Sink*>(to);
          loupe_histogram copy = copy_known(*histogram);
          const std::string name = lens->tag_name(histogram->tag);
          const std::string layer =
              copy.layer == nullptr || copy.layer == std::string(histogram->tag) ? name : copy.layer;
          copy.tag = name.c_str();
          copy.layer = layer.c_str();
          display->histogram(copy);
        });
      },
      &sink.run};
}

void LensNode::introduce(Display& display) {
  const loupe_lens& table = instance_.table<loupe_lens>();
  if (!LOUPE_OFFERS(table, introduce)) return;
  Sink sink{this, &display, display.c_run()};
  const loupe_sink c_sink = make_sink(sink);
  guarded_call("introducing its tags", [&](const loupe_lens&, loupe_error* error) {
    return table.introduce(instance_.self(), &c_sink, error);
  });
}

void LensNode::report(double epoch, Display& display) {
  Sink sink{this, &display, display.c_run()};
  const loupe_sink c_sink = make_sink(sink);
  guarded_call("the report of the epoch", [&](const loupe_lens& table, loupe_error* error) {
    return table.report(instance_.self(), epoch, &c_sink, error);
  });
  for (loupe_source& source : sources_) {
    const std::lock_guard lock(*source.mutex);
    source.table->reset(source.self);
  }
}

std::optional<double> LensNode::query(const std::string& key) {
  const loupe_lens& table = instance_.table<loupe_lens>();
  if (guard_.quarantined() || !LOUPE_OFFERS(table, query)) return std::nullopt;
  double value = 0;
  detail::ErrorBuffer error;
  return table.query(instance_.self(), key.c_str(), &value, error.get()) == LOUPE_OK ? std::optional(value)
                                                                                     : std::nullopt;
}

}  // namespace loupe
