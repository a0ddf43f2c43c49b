#include "pipeline/lens_node.h"

#include <loupe/detail/series_reading.h>
#include <loupe/detail/whole.h>
#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/lens_query.h>
#include <loupe/error.h>
#include <loupe/preprocessor.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "core/clock.h"
#include "core/log.h"
#include "core/strict.h"
#include "loader/kind.h"

namespace loupe {
namespace {

const CatalogueEntry& require(const Catalogue& catalogue, Kind kind, const char* name) {
  const CatalogueEntry* entry = name != nullptr ? catalogue.find(kind, name) : nullptr;
  if (entry == nullptr) {
    const std::string shown = name != nullptr ? name : "";
    throw Error(std::string("there is no ") + kind_name(kind) + " '" + shown + "'" + catalogue.hint(kind, shown),
                LOUPE_NOT_FOUND);
  }
  return *entry;
}

std::string place_of(const ComponentConfig& config) {
  if (config.file.empty()) return "";
  return config.file + ":" + std::to_string(config.line) + ":" + std::to_string(config.column);
}

}  // namespace

LensNode::LensNode(const ComponentConfig& config, const Catalogue& catalogue, bool stop_on_error,
                   LensSurroundings& surroundings)
    : guard_(config.name, config.entry.library->file, place_of(config), config.active, stop_on_error,
             [&surroundings](const std::string& message) { surroundings.quarantined(message); }),
      suffix_(config.renamed ? " (" + config.name + ")" : ""),
      catalogue_(catalogue),
      surroundings_(surroundings),
      is_written_(config.is_written),
      instance_(config.entry, config.options->get(), guard_.speaker(), &surroundings) {
  if (!is_written_) instance_.leave_out_warnings();
  make_wiring();
  make_sink();
}

void LensNode::make_wiring() {
  wiring_ = {.struct_size = sizeof(loupe_wiring),
             .flags = refuses_mistakes() ? uint32_t{LOUPE_WIRING_STRICT} : 0,
             .context = this,
             .watch =
                 [](void* self, const loupe_watch* watch, loupe_source** source, loupe_error* error) {
                   return detail::guarded(error, [&] {
                     if (watch == nullptr || source == nullptr) throw Error("a watch is null", LOUPE_INVALID);
                     *source = &static_cast<LensNode*>(self)->watch(detail::known_part(*watch));
                   });
                 },
             .series_count =
                 [](void*, loupe_source* source) {
                   return source->read("series_count", [&] { return source->table->series_count(source->self); });
                 },
             .find =
                 [](void*, loupe_source* source, const char* name, std::size_t* index, loupe_error* error) {
                   return source->read(
                       "find", [&] { return detail::find_series(*source->table, source->self, name, index, error); });
                 },
             .read =
                 [](void*, loupe_source* source, std::size_t index, loupe_series* row, loupe_error* error) {
                   return detail::guarded(error, [&] {
                     if (row == nullptr) throw Error("there is no place for the row of a series", LOUPE_INVALID);
                     loupe_series read =
                         source->read("read", [&] { return detail::series_row(*source->table, source->self, index); });
                     // A lens may know of fewer members, or of more.
                     read.struct_size = row->struct_size;
                     std::memcpy(row, &read, std::min<std::size_t>(row->struct_size, sizeof read));
                   });
                 },
             .quantiles = [](void*, loupe_source* source, std::size_t index, const double* q, std::size_t q_count,
                             double* values, loupe_error* error) -> loupe_status {
               if (!LOUPE_OFFERS(*source->table, quantiles)) {
                 detail::write_error(error, "the preprocessor keeps no quantiles");
                 return LOUPE_UNSUPPORTED;
               }
               return source->read("quantiles", [&] {
                 return source->table->quantiles(source->self, index, q, q_count, values, error);
               });
             },
             .values = [](void*, loupe_source* source, std::size_t index, double* values, std::size_t capacity,
                          std::size_t* count, loupe_error* error) -> loupe_status {
               if (!LOUPE_OFFERS(*source->table, values)) {
                 detail::write_error(error, "the preprocessor keeps no values");
                 return LOUPE_UNSUPPORTED;
               }
               return source->read("values", [&] {
                 return source->table->values(source->self, index, values, capacity, count, error);
               });
             },
             .rest =
                 [](void* self, loupe_source* source, uint32_t what, loupe_error* error) {
                   return detail::guarded(error, [&] {
                     if (source == nullptr) throw Error("the source that is to rest is null", LOUPE_INVALID);
                     static_cast<LensNode*>(self)->rest(*source, what);
                   });
                 },
             .get_extension = [](void*, const char* id) -> const void* {
               return id != nullptr && std::strcmp(id, LOUPE_INTERNAL_TALLY_ID) == 0 ? &tally_table() : nullptr;
             }};
}

const loupe_internal_tally& LensNode::tally_table() {
  static const loupe_internal_tally table = {
      .make =
          [](void* self, loupe_tally** tally, loupe_error* error) {
            return detail::guarded(error, [&] {
              if (tally == nullptr) throw Error("there is no place for the tally that is to be made", LOUPE_INVALID);
              *tally = &static_cast<LensNode*>(self)->make_tally();
            });
          },
      .use =
          [](void* self, loupe_source* source, loupe_tally* tally, loupe_error* error) {
            return detail::guarded(error, [&] {
              if (source == nullptr) throw Error("the source that is to use a tally is null", LOUPE_INVALID);
              static_cast<LensNode*>(self)->use_tally(*source, tally);
            });
          },
      .take =
          [](void* self, loupe_tally* tally, loupe_tally_sums* sums, loupe_error* error) {
            return detail::guarded(error, [&] {
              if (sums == nullptr) throw Error("there is no place for what a tally added up", LOUPE_INVALID);
              *sums = static_cast<LensNode*>(self)->take_tally(tally);
            });
          }};
  return table;
}

void LensNode::expect(std::initializer_list<State> states, const char* function) const {
  if (std::find(states.begin(), states.end(), state_) != states.end()) return;
  static constexpr const char* calls[] = {"outside of calls", "in attach", "in visit", "in report", "in step"};
  std::string allowed;
  for (const State state : states)
    allowed += (allowed.empty() ? "" : ", ") + std::string(calls[static_cast<std::size_t>(state)]);
  throw Error(std::string("'") + function + "' is called " + calls[static_cast<std::size_t>(state_)] +
                  " of the lens, where its contract does not allow it; call it " + allowed,
              LOUPE_INVALID);
}

loupe_source& LensNode::watch(const loupe_watch& watch) {
  expect({State::attaching, State::visiting}, "watch");
  ModuleNode& module = surroundings_.node_of(watch.module);
  const CatalogueEntry& gatherer = require(catalogue_, Kind::gatherer, watch.gatherer);
  const std::string owner = "the gatherer '" + std::string(watch.gatherer) + "'";
  GathererNode& node =
      module.gatherer(gatherer, known_options_.of(gatherer, watch.gatherer_options, owner), watch.label);

  loupe_source source;
  source.guard = &guard_;
  source.module_id = watch.module != nullptr ? watch.module->id : 0;
  if (watch.preprocessor != nullptr) {
    const CatalogueEntry& entry = require(catalogue_, Kind::preprocessor, watch.preprocessor);
    const std::string speaker = "the preprocessor '" + std::string(watch.preprocessor) + "'";
    const auto options = known_options_.of(entry, watch.preprocessor_options, speaker);
    source.owned = ComponentInstance(entry, options->get(), speaker + " of " + guard_.speaker(), &surroundings_);
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
    source.is_own = true;
    source.table = watch.own_interface;
    source.self = watch.own_preprocessor;
  }
  source.request = {.struct_size = sizeof(loupe_request)};
  detail::ErrorBuffer error;
  error.check(call_component(guard_.speaker(), error.get(),
                             [&] { return source.table->request(source.self, &source.request, error.get()); }));
  if (source.request.passes == 0) source.request.passes = LOUPE_PASS_BOTH;
  if (source.request.places == 0) source.request.places = LOUPE_PLACE_BOTH;
  std::list<loupe_source>& of_module = sources_[source.module_id];
  loupe_source& kept = of_module.emplace_back(std::move(source));
  const std::lock_guard lock(module.mutex());
  node.add(kept);
  kept.key = key_of(kept, module);
  by_key_.emplace(kept.key, &kept);
  return kept;
}

void LensNode::rest(loupe_source& source, uint32_t what) {
  expect({State::attaching, State::visiting, State::stepping, State::reporting}, "rest");
  constexpr uint32_t of_drafts = LOUPE_DRAFT_REST_MEASURES | LOUPE_DRAFT_REST_TENSORS;
  if ((what & ~(uint32_t{LOUPE_REST_EVENTS} | of_drafts)) != 0)
    throw Error("a source is to rest from what this host does not know; see LOUPE_REST_ in loupe/abi/lens.h",
                LOUPE_INVALID);
  source.module->rest(source, what);
}

loupe_tally& LensNode::make_tally() {
  expect({State::attaching, State::visiting, State::stepping, State::reporting}, "make_tally");
  const std::lock_guard lock(tallies_mutex_);
  return tallies_.emplace_back();
}

void LensNode::use_tally(loupe_source& source, loupe_tally* tally) {
  expect({State::attaching, State::visiting, State::stepping, State::reporting}, "use_tally");
  if (tally != nullptr) check_is_own(tally);
  source.module->use_tally(source, tally);
}

loupe_tally_sums LensNode::take_tally(loupe_tally* tally) {
  check_is_own(tally);
  return tally->take();
}

void LensNode::check_is_own(const loupe_tally* tally) const {
  const std::lock_guard lock(tallies_mutex_);
  if (std::none_of(tallies_.begin(), tallies_.end(), [&](const loupe_tally& each) { return &each == tally; }))
    throw Error("a tally is used or taken that make_tally did not give to this lens", LOUPE_INVALID);
}

template <class Call>
void LensNode::guarded_call(State state, const std::string& where, Call&& call) {
  if (guard_.quarantined()) return;
  detail::ErrorBuffer error;
  // A visit may come while another call is on its way: a lens that runs a model of its own meets new functions there.
  const State before = std::exchange(state_, state);
  const loupe_status status =
      call_component(guard_.speaker(), error.get(), [&] { return call(instance_.table<loupe_lens>(), error.get()); });
  state_ = before;
  if (status != LOUPE_OK) guard_.fault(where, error.text());
}

void LensNode::attach() {
  guarded_call(State::attaching, "its start", [&](const loupe_lens& table, loupe_error* error) {
    return table.attach(instance_.self(), &wiring_, error);
  });
}

void LensNode::visit(const ModuleNode& module) {
  guarded_call(State::visiting, "the visit of " + module.shown_name(),
               [&](const loupe_lens& table, loupe_error* error) {
                 return table.visit(instance_.self(), module.c_module(), error);
               });
  if (refuses_mistakes() && is_written_) types_.insert(module.c_module()->type);
}

void LensNode::forget(const ModuleNode& module) {
  guarded_call(State::idle, "forgetting " + module.shown_name(), [&](const loupe_lens& table, loupe_error*) {
    if (LOUPE_OFFERS(table, forget)) table.forget(instance_.self(), module.c_module());
    return LOUPE_OK;
  });
  has_shown_ |= !sources_[module.c_module()->id].empty();  // it had what to show
  for (const loupe_source& source : sources_[module.c_module()->id]) by_key_.erase(source.key);
  sources_.erase(module.c_module()->id);
}

void LensNode::report(const loupe_tick& tick, Display& display, LensStates* states) {
  if (guard_.resting()) return;
  const double start = steady_time();
  display_ = &display;
  guarded_call(State::reporting, "the report of the epoch", [&](const loupe_lens& table, loupe_error* error) {
    return table.report(instance_.self(), &tick, &sink_, error);
  });
  display_ = nullptr;
  if (!types_.empty()) tell_blindness();
  if (states != nullptr) save(*states);
  reset_all();
  guard_.cost().spend(steady_time() - start);
}

void LensNode::reset_all() {
  for (auto& of_module : sources_) {
    for (loupe_source& source : of_module.second) {
      if (guard_.quarantined()) return;
      reset(source);
    }
  }
}

void LensNode::tell_blindness() {
  if (sources_.empty() && !has_shown_ && !wants_steps() && !guard_.quarantined()) {
    std::string types;
    for (const std::string& type : types_) types += (types.empty() ? "" : ", ") + type;
    guard_.fault("the end of its first tick",
                 "it watches none of the modules that it was shown, and told nothing; they are of the types " + types +
                     "; look at one of them in visit, or have the options include and exclude name one");
  }
  types_.clear();
}

void LensNode::reset(loupe_source& source) {
  detail::ErrorBuffer error;
  loupe_status status = LOUPE_OK;
  {
    const std::lock_guard lock(*source.mutex);
    status =
        call_component(guard_.speaker(), error.get(), [&] { return source.table->reset(source.self, error.get()); });
  }
  if (status != LOUPE_OK) guard_.fault("the reset of its preprocessor '" + source.preprocessor + "'", error.text());
}

void LensNode::judge_cost(double wall) {
  if (guard_.resting()) return;
  if (const auto told = guard_.cost().judge(guard_.lens(), wall)) log(LOUPE_LOG_WARNING, *told);
}

bool LensNode::wants_steps() const {
  return guard_.accepts_events() && LOUPE_OFFERS(instance_.table<loupe_lens>(), step);
}

void LensNode::step(const loupe_step& step) {
  static const auto& where = *new std::string("an optimizer's step");  // too long for a string that allocates nothing
  const double start = steady_time();
  guarded_call(State::stepping, where, [&](const loupe_lens& table, loupe_error* error) {
    return table.step(instance_.self(), &step, &sink_, error);
  });
  guard_.cost().spend(steady_time() - start);
}

std::optional<double> LensNode::query(const std::string& key) {
  const loupe_lens& lens = instance_.table<loupe_lens>();
  if (guard_.quarantined() || !LOUPE_OFFERS(lens, get_extension)) return std::nullopt;
  const auto* table =
      static_cast<const loupe_draft_lens_query*>(lens.get_extension(instance_.self(), LOUPE_DRAFT_LENS_QUERY_ID));
  if (table == nullptr || !LOUPE_OFFERS(*table, query)) return std::nullopt;
  double value = 0;
  detail::ErrorBuffer error;
  const loupe_status status = call_component(
      guard_.speaker(), error.get(), [&] { return table->query(instance_.self(), key.c_str(), &value, error.get()); });
  return status == LOUPE_OK ? std::optional(value) : std::nullopt;
}

}  // namespace loupe
