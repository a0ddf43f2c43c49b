#include "pipeline/lens_node.h"

#include <loupe/detail/messages.h>
#include <loupe/detail/series_reading.h>
#include <loupe/detail/whole.h>
#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/lens_query.h>
#include <loupe/error.h>
#include <loupe/preprocessor.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/log.h"
#include "core/strict.h"
#include "core/text.h"
#include "findings/finding_board.h"
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

constexpr std::size_t most_bins = 1 << 24, most_numbers = 1 << 24;
constexpr const char* told_null = "the reported struct is null";

void need(const char* text, const char* what) {
  if (text == nullptr) throw Error(std::string(what) + " is null; give it a text", LOUPE_INVALID);
}

/// Whether the layer stands for the whole model: empty, or equal to the tag.
bool is_big(const char* layer, const char* tag) {
  return layer == nullptr || *layer == '\0' || std::strcmp(layer, tag) == 0;
}

/// Replaces invalid UTF-8 in the texts of a message, which are then valid as long as this object.
class ValidTexts {
 public:
  template <class Message>
  void make_valid(Message& message) {
    detail::each_member<Message>([&](const auto& member) { make_valid(message, member); });
  }

 private:
  template <class Message, class Member>
  void make_valid(Message&, const Member&) {}
  template <class Message>
  void make_valid(Message& message, const detail::messages::TextMember<Message>& member) {
    message.*member.at = valid(message.*member.at);
  }
  template <class Message, class Count>
  void make_valid(Message& message, const detail::messages::ArrayMember<Message, const char* const*, Count>& member) {
    const char* const* const texts = message.*member.at;
    const std::size_t size = member.size_in(message);
    if (std::all_of(texts, texts + size, [](const char* text) { return is_utf8(text); })) return;
    std::vector<const char*>& list = lists_.emplace_back();
    for (std::size_t i = 0; i < size; ++i) list.push_back(valid(texts[i]));
    message.*member.at = list.data();
  }
  const char* valid(const char* text) {
    return text == nullptr || is_utf8(text) ? text : texts_.emplace_back(utf8(text)).c_str();
  }

  std::list<std::string> texts_;
  std::list<std::vector<const char*>> lists_;
};

/// Fills in the zero members of a request. Throws Error for a request that no event can satisfy.
void complete(loupe_request& request) {
  constexpr uint32_t comparing = LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS;
  if ((request.flags & LOUPE_REQUEST_SPARSE) != 0 && (request.measures & comparing) != 0) {
    throw Error(
        "a preprocessor requests sparse tensors and a comparison with earlier ones, which have other rows; leave out "
        "LOUPE_REQUEST_SPARSE or that measure",
        LOUPE_INVALID);
  }
  if (request.passes == 0) request.passes = LOUPE_PASS_BOTH;
  if (request.places == 0) request.places = LOUPE_PLACE_BOTH;
  if ((request.flags & LOUPE_REQUEST_UNITS) != 0) return;
  request.unit_dimension = 1;
  request.eps = 1e-8;
}

/// FNV-1a.
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::shared_ptr<const OptionSet> OptionCache::of(const CatalogueEntry& entry, const loupe_options* values,
                                                 const std::string& owner) {
  std::string key(reinterpret_cast<const char*>(&entry.component), sizeof entry.component);
  if (!append_key(key, values, /*follows_maps=*/false)) return OptionSet::from_values(entry.options(), values, owner);
  if (const auto known = sets_.find(key); known != sets_.end()) return known->second;
  std::shared_ptr<const OptionSet> set = OptionSet::from_values(entry.options(), values, owner);
  return sets_.emplace(key, std::move(set)).first->second;
}

LensNode::LensNode(const ComponentConfig& config, const Catalogue& catalogue, bool stop_on_error,
                   LensContext& surroundings)
    : guard_(config.name, config.entry.library->file, place_of(config), config.active, stop_on_error,
             [&surroundings](const std::string& message) { surroundings.quarantined(message); }),
      suffix_(config.renamed ? " (" + config.name + ")" : ""),
      catalogue_(catalogue),
      surroundings_(surroundings),
      is_written_(config.is_written),
      instance_(config.entry, config.options->get(), guard_.speaker(), &surroundings, config.name),
      rows_(static_cast<const loupe_draft_rows*>(extension(LOUPE_DRAFT_ROWS_ID))),
      incidents_(static_cast<const loupe_draft_incidents*>(extension(LOUPE_DRAFT_INCIDENTS_ID))) {
  if (!is_written_) instance_.leave_out_warnings();
  make_wiring();
  make_sink();
}

LensNode::~LensNode() = default;

void LensNode::make_wiring() {
  wiring_ = {.struct_size = sizeof(loupe_wiring),
             .flags = refuses_mistakes() ? uint32_t{LOUPE_WIRING_STRICT} : 0,
             .context = this,
             .watch = &Bound<&LensNode::watch>::call,
             .series_count =
                 [](void*, loupe_source* source) {
                   return source->read("series_count", [&] { return source->table->series_count(source->self); });
                 },
             .find =
                 [](void*, loupe_source* source, const char* name, std::size_t* index, loupe_error* error) {
                   return source->read(
                       "find", [&] { return detail::find_series(*source->table, source->self, name, index, error); });
                 },
             .read = &Bound<&LensNode::read>::call,
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
             .rest = &Bound<&LensNode::rest>::call,
             .get_extension = [](void*, const char* id) -> const void* {
               return id != nullptr && std::strcmp(id, LOUPE_INTERNAL_TALLY_ID) == 0 ? &tally_table() : nullptr;
             }};
}

const loupe_internal_tally& LensNode::tally_table() {
  static const loupe_internal_tally table = {.make = &Bound<&LensNode::make_tally>::call,
                                             .use = &Bound<&LensNode::use_tally>::call,
                                             .take = &Bound<&LensNode::take_tally>::call};
  return table;
}

void LensNode::expect(std::initializer_list<State> states, const char* function) const {
  if (std::find(states.begin(), states.end(), state_) != states.end()) return;
  static constexpr const char* calls[] = {"outside of calls", "in attach", "in visit", "in report", "in step"};
  std::vector<const char*> allowed;
  for (const State state : states) allowed.push_back(calls[static_cast<std::size_t>(state)]);
  throw Error(std::string("'") + function + "' was called " + calls[static_cast<std::size_t>(state_)] +
                  " of the lens, which its contract does not allow; call it " + join(allowed),
              LOUPE_INVALID);
}

void LensNode::watch(const loupe_watch* asked, loupe_source** source_place) {
  loupe_source*& told = given(source_place, "a watch is null");
  const loupe_watch watch = detail::known_part(given(asked, "a watch is null"));
  expect({State::attaching, State::visiting}, "watch");
  ModuleNode& module = surroundings_.node_of(watch.module);
  const CatalogueEntry& gatherer = require(catalogue_, Kind::gatherer, watch.gatherer);
  if (LoadedComponents* loaded = surroundings_.loaded()) loaded->add(gatherer);
  const std::string owner = "the gatherer '" + std::string(watch.gatherer) + "'";
  GathererNode& node =
      module.gatherer(gatherer, option_cache_.of(gatherer, watch.gatherer_options, owner), watch.label);

  loupe_source source;
  source.guard = &guard_;
  source.module_id = watch.module != nullptr ? watch.module->id : 0;
  if (watch.preprocessor != nullptr) {
    const CatalogueEntry& entry = require(catalogue_, Kind::preprocessor, watch.preprocessor);
    const std::string speaker = "the preprocessor '" + std::string(watch.preprocessor) + "'";
    const auto options = option_cache_.of(entry, watch.preprocessor_options, speaker);
    source.owned = ComponentInstance(entry, options->get(), speaker + " of " + guard_.speaker(), &surroundings_);
    source.preprocessor = watch.preprocessor;
    source.table = &source.owned.table<loupe_preprocessor>();
    source.self = source.owned.self();
  } else {
    if (watch.own_interface == nullptr) throw Error("a watch names no preprocessor", LOUPE_INVALID);
    const std::string lacking = lacking_function(Kind::preprocessor, watch.own_interface);
    if (!lacking.empty()) {
      throw Error("a watch has a preprocessor without the function '" + lacking + "'", LOUPE_INVALID);
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
  complete(source.request);
  std::list<loupe_source>& of_module = sources_[source.module_id];
  loupe_source& kept = of_module.emplace_back(std::move(source));
  const std::lock_guard lock(module.mutex());
  node.add(kept);
  kept.key = key_of(kept, module);
  by_key_.emplace(kept.key, &kept);
  told = &kept;
}

void LensNode::read(loupe_source* source, std::size_t index, loupe_series* row) {
  loupe_series& place = given(row, "the pointer for the row of a series is null");
  loupe_series read = source->read("read", [&] { return detail::series_row(*source->table, source->self, index); });
  read.struct_size = place.struct_size;  // the lens may have another version of the struct
  std::memcpy(&place, &read, std::min<std::size_t>(place.struct_size, sizeof read));
}

void LensNode::rest(loupe_source* asked, uint32_t what) {
  loupe_source& source = given(asked, "the source to rest is null");
  expect({State::attaching, State::visiting, State::stepping, State::reporting}, "rest");
  constexpr uint32_t known = uint32_t{LOUPE_REST_EVENTS} | LOUPE_DRAFT_REST_MEASURES | LOUPE_DRAFT_REST_TENSORS;
  const std::lock_guard lock(*source.mutex);
  source.gatherer->rest(source, what & known);
}

void LensNode::make_tally(loupe_tally** tally) {
  loupe_tally*& place = given(tally, "the pointer for the new tally is null");
  expect({State::attaching, State::visiting, State::stepping, State::reporting}, "make_tally");
  const std::lock_guard lock(tallies_mutex_);
  place = &tallies_.emplace_back();
}

void LensNode::use_tally(loupe_source* asked, loupe_tally* tally) {
  loupe_source& source = given(asked, "the source to use a tally is null");
  expect({State::attaching, State::visiting, State::stepping, State::reporting}, "use_tally");
  if (tally != nullptr) check_is_own(tally);
  const std::lock_guard lock(*source.mutex);
  source.gatherer->use_tally(source, tally);
}

void LensNode::take_tally(loupe_tally* tally, loupe_tally_sums* sums) {
  loupe_tally_sums& place = given(sums, "the pointer for the sums of a tally is null");
  check_is_own(tally);
  place = tally->take();
}

void LensNode::check_is_own(const loupe_tally* tally) const {
  const std::lock_guard lock(tallies_mutex_);
  if (std::none_of(tallies_.begin(), tallies_.end(), [&](const loupe_tally& each) { return &each == tally; }))
    throw Error("this tally was not made for this lens by make_tally", LOUPE_INVALID);
}

template <class Call>
void LensNode::guarded_call(State state, const std::string& where, Call&& call) {
  if (guard_.quarantined()) return;
  detail::ErrorBuffer error;
  // A visit may come within another call: a lens that runs its own model meets new functions.
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
  has_shown_ |= !sources_[module.c_module()->id].empty();  // it had something to show
  for (const loupe_source& source : sources_[module.c_module()->id]) by_key_.erase(source.key);
  sources_.erase(module.c_module()->id);
}

void LensNode::report(const loupe_tick& tick, Display& display, const std::function<void()>& told) {
  if (guard_.resting()) return;
  const double start = steady_time();
  display_ = &display;
  guarded_call(State::reporting, "the report of the epoch", [&](const loupe_lens& table, loupe_error* error) {
    return table.report(instance_.self(), &tick, &sink_, error);
  });
  display_ = nullptr;
  if (!types_.empty()) tell_blindness();
  if (told) told();
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
  if (sources_.empty() && !has_shown_ && !wants_steps() && rows_ == nullptr && !guard_.quarantined()) {
    guard_.fault("the end of its first tick",
                 "it watches none of the modules it visited, and reported nothing; their types are " + join(types_) +
                     "; watch one of them in visit, or let the options include and exclude select one");
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
  if (status != LOUPE_OK) guard_.fault("the reset of " + source.speaker(), error.text());
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

const void* LensNode::extension(const char* id) const {
  const loupe_lens& lens = instance_.table<loupe_lens>();
  return LOUPE_OFFERS(lens, get_extension) ? lens.get_extension(instance_.self(), id) : nullptr;
}

std::optional<double> LensNode::query(const std::string& key) {
  if (guard_.quarantined()) return std::nullopt;
  const auto* table = static_cast<const loupe_draft_lens_query*>(extension(LOUPE_DRAFT_LENS_QUERY_ID));
  if (table == nullptr || !LOUPE_OFFERS(*table, query)) return std::nullopt;
  double value = 0;
  detail::ErrorBuffer error;
  const loupe_status status = call_component(
      guard_.speaker(), error.get(), [&] { return table->query(instance_.self(), key.c_str(), &value, error.get()); });
  return status == LOUPE_OK ? std::optional(value) : std::nullopt;
}

void LensNode::hear(const char* tag, const char* layer, const char* line, double value) {
  if (rows_ == nullptr) return;
  // This runs within the call of the lens that reports.
  guarded_call(state_, "a reported number", [&](const loupe_lens&, loupe_error* error) {
    return rows_->number(instance_.self(), tag, layer, line, value, error);
  });
}

void LensNode::end_numbers(const loupe_tick& tick) {
  if (rows_ == nullptr) return;
  guarded_call(State::stepping, "the end of a tick", [&](const loupe_lens&, loupe_error* error) {
    return rows_->end(instance_.self(), &tick, &sink_, error);
  });
}

std::optional<Hearer> LensNode::hearer() const {
  const auto* table = static_cast<const loupe_draft_measured*>(extension(LOUPE_DRAFT_MEASURED_ID));
  return table != nullptr ? std::optional(Hearer{table, instance_.self(), &guard_}) : std::nullopt;
}

bool LensNode::writes_at(const loupe_finding& finding) {
  uint32_t writes = 0;
  guarded_call(state_, "a finding", [&](const loupe_lens&, loupe_error* error) {
    return incidents_->finding(instance_.self(), &finding, &writes, error);
  });
  return writes != 0;
}

std::string LensNode::write(const loupe_draft_incident& incident) {
  if (guard_.quarantined()) throw Error(guard_.speaker() + std::string(" has failed"));
  std::string folder(PATH_MAX, '\0');
  detail::ErrorBuffer error;
  error.check(call_component(guard_.speaker(), error.get(), [&] {
    return incidents_->write(instance_.self(), &incident, folder.data(), folder.size(), error.get());
  }));
  return folder.c_str();
}

// The messages of a lens: checked, given the lens's suffix if it has one, and passed on.
void check_message(const loupe_tag& tag) {
  need(tag.id, "the id of a tag");
}

void check_message(const loupe_row& row) {
  need(row.tag, "the tag of a row");
  if (row.value_count > most_numbers || row.band_count > most_numbers) {
    throw Error("a row has " + std::to_string(std::max(row.value_count, row.band_count)) +
                    " numbers; report them in rows of at most " + std::to_string(most_numbers),
                LOUPE_INVALID);
  }
  if (row.value_count > 0 && (row.value_names == nullptr || row.values == nullptr))
    throw Error("a row has values, but value_names or values is null; set both", LOUPE_INVALID);
  if (row.band_count > 0 && (row.band_names == nullptr || row.bands == nullptr))
    throw Error("a row has bands, but band_names or bands is null; set both", LOUPE_INVALID);
  for (std::size_t i = 0; i < row.value_count; ++i) need(row.value_names[i], "the name of a value");
  for (std::size_t i = 0; i < row.band_count; ++i) {
    need(row.band_names[2 * i], "the low name of a range");
    need(row.band_names[2 * i + 1], "the high name of a range");
  }
}

void check_message(const loupe_histogram& histogram) {
  need(histogram.tag, "the tag of a histogram");
  need(histogram.line, "the line of a histogram");
  if (histogram.bin_count == 0 || histogram.bin_count > most_bins) {
    throw Error(
        "a histogram has " + std::to_string(histogram.bin_count) + " bins; give it 1 to " + std::to_string(most_bins),
        LOUPE_INVALID);
  }
  if (histogram.edges == nullptr || histogram.counts == nullptr) {
    throw Error("a histogram has no edges or no counts", LOUPE_INVALID);
  }
  for (std::size_t i = 0; i < histogram.bin_count; ++i) {
    if (!(histogram.edges[i] < histogram.edges[i + 1]))
      throw Error("the edges of a histogram must ascend", LOUPE_INVALID);
  }
}

void LensNode::make_sink() {
  sink_ = {.struct_size = sizeof(loupe_sink),
           .context = this,
           .tag = &Bound<&LensNode::show_tag>::call,
           .row = &Bound<&LensNode::show<loupe_row, &Display::row>>::call,
           .histogram = &Bound<&LensNode::show<loupe_histogram, &Display::histogram>>::call,
           .finding = &Bound<&LensNode::tell_finding>::call,
           .get_extension = [](void*, const char*) -> const void* { return nullptr; }};
}

void LensNode::show_tag(const loupe_tag* tag) {
  expect({State::reporting}, "tag");
  loupe_tag copy = detail::known_part(given(tag, told_null));
  check_message(copy);
  ValidTexts texts;
  texts.make_valid(copy);
  const std::string id = tag_id(copy.id);
  const std::string title = copy.title != nullptr ? tag_id(copy.title) : id;
  const std::string own = copy.id;
  copy.id = id.c_str();
  copy.title = title.c_str();
  display_->tag(copy, guard_.speaker());
  tags_.insert(own);
}

template <class Message, void (Display::*display)(const Message&)>
void LensNode::show(const Message* message) {
  expect({State::reporting}, "a value, range or histogram");
  Message copy = detail::known_part(given(message, told_null));
  check_message(copy);
  ValidTexts texts;
  texts.make_valid(copy);
  has_shown_ = true;
  if (tags_.find(copy.tag) == tags_.end()) {
    display_->check_owner(tag_id(copy.tag), guard_.speaker());
    if (refuses_mistakes()) refuse_untold(copy.tag);
  }
  if (is_big(copy.layer, copy.tag)) copy.layer = nullptr;
  if (suffix_.empty()) return (display_->*display)(copy);
  const std::string id = tag_id(copy.tag);
  copy.tag = id.c_str();
  (display_->*display)(copy);
}

void LensNode::refuse_untold(const char* tag) const {
  const std::string known = join(tags_, "', '");
  throw Error(std::string("a value of the tag '") + tag + "' was reported before its tag; call Report::tag first" +
                  (known.empty() ? "" : ": reported tags are '" + known + "'"),
              LOUPE_INVALID);
}

void LensNode::tell_finding(const loupe_finding* finding) {
  expect({State::reporting, State::stepping}, "finding");
  has_shown_ = true;
  loupe_finding copy = detail::known_part(given(finding, told_null));
  check_finding(copy);
  ValidTexts texts;
  texts.make_valid(copy);
  const std::string tag = copy.tag != nullptr ? tag_id(copy.tag) : "";
  if (copy.tag != nullptr) copy.tag = tag.c_str();
  surroundings_.publish(copy, guard_.speaker());
}

/// See SourceState.
uint64_t LensNode::key_of(const loupe_source& source, const ModuleNode& module) {
  const std::string text =
      name() + '\n' + module.description().name + '\n' + source.gatherer->key() + '\n' + source.preprocessor + '\n';
  for (int number = 0;; ++number) {
    const uint64_t key = hash_of(text + std::to_string(number));
    if (by_key_.count(key) == 0) return key;
  }
}

}  // namespace loupe
