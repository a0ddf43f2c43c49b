// The functions for components: the host's services, taps, wiring and sink, which note every breach.

#include <loupe/detail/preprocessor_table.h>
#include <loupe/detail/series_reading.h>
#include <loupe/detail/whole.h>
#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/loss_input.h>
#include <loupe/draft/abi/option_names.h>
#include <loupe/draft/abi/step_time.h>
#include <loupe/draft/abi/tensor_math.h>
#include <loupe/error.h>
#include <loupe/row.h>
#include <loupe/text/nearest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "check/session.h"
#include "findings/finding_board.h"
#include "loupe/version.h"
#include "pipeline/lens_node.h"

struct loupe_retained {
  loupe_tensor view{};
  std::vector<int64_t> sizes, strides;
  std::shared_ptr<std::vector<float>> elements;
  alignas(void*) char native[loupe::TensorLending::size];

  loupe_retained() = default;
  ~loupe_retained() { loupe::check::destroy_native(view.native); }
  loupe_retained(const loupe_retained&) = delete;
  loupe_retained& operator=(const loupe_retained&) = delete;
};

namespace loupe::check {

/// The services that LibTorch provides elsewhere. Elements are made up; only the calls matter.
struct StubTensors {
  static StubHost& of(void* host) { return *static_cast<StubHost*>(host); }

  static loupe_status keep(void* host, const loupe_tensor* tensor, bool one_item, loupe_retained** kept,
                           loupe_error* error) {
    return detail::guarded(error, [&] {
      auto made = std::make_unique<loupe_retained>();
      made->sizes.assign(tensor->sizes, tensor->sizes + tensor->dim);
      if (one_item && !made->sizes.empty()) made->sizes.erase(made->sizes.begin());
      int64_t numel = 1;
      made->strides.resize(made->sizes.size());
      for (std::size_t d = made->sizes.size(); d-- > 0; numel *= made->sizes[d]) made->strides[d] = numel;
      made->elements = std::make_shared<std::vector<float>>(static_cast<std::size_t>(numel) + 1, 0.5f);
      made->view = {.struct_size = sizeof(loupe_tensor),
                    .dtype_code = LOUPE_DTYPE_FLOAT,
                    .dtype_bits = 32,
                    .dtype_lanes = 1,
                    .device_type = LOUPE_DEVICE_CPU,
                    .data = made->elements->data(),
                    .sizes = made->sizes.data(),
                    .strides = made->strides.data(),
                    .dim = static_cast<int64_t>(made->sizes.size()),
                    .numel = numel};
      add_native(made->view, made->native, made->elements);
      *kept = made.release();
      ++of(host).retained_;
      of(host).has_copied_ = true;
    });
  }
  static loupe_status retain(void* host, const loupe_tensor* tensor, loupe_retained** kept, loupe_error* error) {
    return keep(host, tensor, false, kept, error);
  }
  static void release(void* host, loupe_retained* kept) {
    if (kept == nullptr) return;
    delete kept;
    --of(host).retained_;
  }
  static const loupe_tensor* view(void*, const loupe_retained* kept) { return &kept->view; }
  static loupe_status clone_item(void* host, const loupe_tensor* tensor, int64_t, loupe_retained** kept,
                                 loupe_error* error) {
    return keep(host, tensor, true, kept, error);
  }
  static loupe_status copy(void* host, const loupe_tensor* tensor, double* values, std::size_t capacity,
                           std::size_t* count, loupe_error*) {
    of(host).has_copied_ = true;
    *count = static_cast<std::size_t>(tensor->numel);
    std::fill_n(values, std::min(*count, capacity), 0.5);
    return LOUPE_OK;
  }
  static loupe_status singular_values(void* host, const loupe_tensor* matrix, double* values, std::size_t capacity,
                                      std::size_t* count, loupe_error* error) {
    return detail::guarded(error, [&] {
      of(host).has_copied_ = true;
      const int64_t rows = matrix->dim > 0 ? matrix->sizes[0] : 1;
      const int64_t columns = rows > 0 ? matrix->numel / rows : 0;
      *count = static_cast<std::size_t>(std::min(rows, columns));
      if (*count > capacity) throw Error("there is no room for the singular values", LOUPE_INVALID);
      for (std::size_t i = 0; i < *count; ++i) values[i] = 1.0 / static_cast<double>(i + 1);
    });
  }
  static loupe_status fold(void*, loupe_retained*, const loupe_tensor*, uint32_t, uint64_t, loupe_error*) {
    return LOUPE_OK;
  }
  static loupe_status save(void*, const loupe_retained* const*, std::size_t, uint32_t, const char*, loupe_error*) {
    return LOUPE_OK;
  }
  static loupe_status lend_states(void*, const loupe_tensor*, loupe_draft_take_state, void*, loupe_error*) {
    return LOUPE_NOT_FOUND;  // the answer for plain SGD
  }
  static const loupe_run* run(void* host) { return of(host).run_; }
};

namespace {

constexpr loupe_tensor_service tensors = {.struct_size = sizeof(loupe_tensor_service),
                                          .retain = &StubTensors::retain,
                                          .release = &StubTensors::release,
                                          .view = &StubTensors::view,
                                          .clone = &StubTensors::retain,
                                          .copy = &StubTensors::copy};
constexpr loupe_draft_tensor_math_service tensor_math = {.struct_size = sizeof(loupe_draft_tensor_math_service),
                                                         .singular_values = &StubTensors::singular_values,
                                                         .clone_item = &StubTensors::clone_item,
                                                         .fold = &StubTensors::fold};
constexpr loupe_draft_tensor_file_service tensor_files = {.struct_size = sizeof(loupe_draft_tensor_file_service),
                                                          .save = &StubTensors::save};
constexpr loupe_draft_optimizer_state_service optimizer_states = {
    .struct_size = sizeof(loupe_draft_optimizer_state_service), .lend = &StubTensors::lend_states};
constexpr loupe_run_service run_service = {.struct_size = sizeof(loupe_run_service), .run = &StubTensors::run};

std::mutex drafts_mutex;
std::set<std::string>& drafts() {
  static std::set<std::string> asked_for;
  return asked_for;
}

struct Service {
  const char* id;
  const void* table;
};
const Service services[] = {{LOUPE_TENSORS_ID, &tensors},
                            {LOUPE_DRAFT_TENSOR_MATH_ID, &tensor_math},
                            {LOUPE_DRAFT_TENSOR_FILES_ID, &tensor_files},
                            {LOUPE_DRAFT_OPTIMIZER_STATES_ID, &optimizer_states},
                            {LOUPE_RUN_ID, &run_service}};

}  // namespace

StubHost::StubHost()
    : host_{.struct_size = sizeof(loupe_host),
            .abi_major = LOUPE_ABI_MAJOR,
            .abi_minor = LOUPE_ABI_MINOR,
            .version = LOUPE_VERSION,
            .plugin_path = "plugin.so",
            .context = this,
            .log =
                [](void* host, int32_t, const char* message) {
                  if (message == nullptr) static_cast<StubHost*>(host)->complain("logs a message that is null");
                },
            .get_extension = &StubHost::service,
            .name = "check"} {}

const void* StubHost::service(void*, const char* id) {
  note_draft_id(id);
  for (const char* draft :
       {LOUPE_DRAFT_FLAGS_ID, LOUPE_DRAFT_LOSS_INPUT_ID, LOUPE_DRAFT_STEP_TIME_ID, LOUPE_DRAFT_OPTION_NAMES_ID}) {
    if (std::strcmp(draft, id) == 0) return &services;  // the caller does not read it
  }
  for (const Service& each : services) {
    if (std::strcmp(each.id, id) == 0) return each.table;
  }
  return nullptr;
}

void StubHost::note_draft(const std::string& what) {
  const std::lock_guard lock(drafts_mutex);
  drafts().insert(what);
}

void StubHost::note_draft_id(const std::string& id) {
  if (id.find("/draft-") != std::string::npos) note_draft(id);
}

void StubHost::note_draft_measures(uint32_t measures) {
  if ((measures & LOUPE_MEASURE_DRAFTS) != 0) note_draft("measures of LOUPE_MEASURE_DRAFTS");
}

std::vector<std::string> StubHost::take_drafts() {
  const std::lock_guard lock(drafts_mutex);
  const std::set<std::string> asked = std::exchange(drafts(), {});
  return {asked.begin(), asked.end()};
}

bool StubHost::expect(const char* function, std::initializer_list<Phase> phases) {
  if (std::find(phases.begin(), phases.end(), phase_) == phases.end()) {
    complain(std::string("calls ") + function + " in a wrong state: see its @state");
    return false;
  }
  if (std::this_thread::get_id() == thread_) return true;
  complain(std::string("calls ") + function + " from its own thread");
  return false;
}

void StubHost::complain(const std::string& what) {
  const std::lock_guard lock(mutex_);
  complaints_.push_back(what);
}

std::vector<std::string> StubHost::complaints() const {
  const std::lock_guard lock(mutex_);
  return complaints_;
}

/// Stands for another plugin's preprocessor: has the series of Loupe's own, so that lenses have something to report,
/// and adds any other series, empty, on request.
class Session::MadeUp : public Preprocessor {
 public:
  MadeUp() {
    for (const char* name : {"norm", "correlation", "activation", "death", "condition", "training", "validation"}) {
      Series& series = add_series(name, Series::Keep::values);
      for (const double value : {0.25, 0.5, 0.75}) series.push(value);
    }
  }
  void ask_for(const char* name) { find_or_add_series(name, Series::Keep::values); }
  Request request() const override { return {}; }
  void process(const Event&) override {}
};

/// The functions behind the tables of taps, wiring and sink.
struct StubWiring {
  // The host's own.
  static constexpr const char* gatherers[] = {LOUPE_GATHER_FORWARD,
                                              LOUPE_GATHER_FORWARD_INPUT,
                                              LOUPE_GATHER_OUTPUT_GRADIENT,
                                              LOUPE_GATHER_INPUT_GRADIENT,
                                              LOUPE_GATHER_PARAMETER_GRADIENT,
                                              LOUPE_GATHER_STEP_GRADIENT,
                                              LOUPE_GATHER_CALL_PARAMETER,
                                              LOUPE_GATHER_OPTIMIZER_STEP,
                                              LOUPE_GATHER_TICK,
                                              LOUPE_GATHER_ATTRIBUTE,
                                              LOUPE_GATHER_PUSH,
                                              LOUPE_DRAFT_GATHER_LOSS_INPUT,
                                              LOUPE_DRAFT_GATHER_STEP_TIME,
                                              LOUPE_DRAFT_GATHER_STEP_MEMORY};

  static Session& of(void* session) { return *static_cast<Session*>(session); }
  static Session::Watched& watched(loupe_source* source) { return *reinterpret_cast<Session::Watched*>(source); }

  static loupe_status refuse(loupe_error* error, const char* why) {
    detail::write_error(error, why);
    return LOUPE_INVALID;
  }

  static loupe_status subscribe(void* self, const loupe_subscription* subscription, loupe_error* error) {
    if (!of(self).host().expect("subscribe", {Phase::opening}))
      return refuse(error, "subscribe is called at the wrong time");
    if (subscription->tap == 0) of(self).host().complain("subscribes to no tap");
    const uint32_t tap = subscription->tap;
    if (tap >= LOUPE_TAP_DRAFTS) {
      StubHost::note_draft(tap == LOUPE_DRAFT_TAP_LOSS_INPUT    ? "LOUPE_DRAFT_TAP_LOSS_INPUT"
                           : tap == LOUPE_DRAFT_TAP_STEP_TIME   ? "LOUPE_DRAFT_TAP_STEP_TIME"
                           : tap == LOUPE_DRAFT_TAP_STEP_MEMORY ? "LOUPE_DRAFT_TAP_STEP_MEMORY"
                                                                : "the tap " + std::to_string(tap));
    } else if (tap > LOUPE_TAP_ATTRIBUTE) {
      detail::write_error(error, "this host has no such tap");  // a plugin of a newer version continues without it
      return LOUPE_UNSUPPORTED;
    }
    return LOUPE_OK;
  }
  static loupe_status emit(void* self, const loupe_event*, loupe_error* error) {
    if (!of(self).host().expect("emit", {Phase::event})) return refuse(error, "emit is called at the wrong time");
    return LOUPE_OK;
  }

  /// Why one of the host's gatherers of parameters refuses a watch; empty if it does not.
  static std::string lacking_parameter(const loupe_watch& watch) {
    constexpr std::string_view of_parameters[] = {LOUPE_GATHER_PARAMETER_GRADIENT, LOUPE_GATHER_STEP_GRADIENT,
                                                  LOUPE_GATHER_CALL_PARAMETER, LOUPE_GATHER_TICK,
                                                  LOUPE_GATHER_OPTIMIZER_STEP};
    if (watch.module == nullptr || std::find(std::begin(of_parameters), std::end(of_parameters),
                                             std::string_view(watch.gatherer)) == std::end(of_parameters))
      return "";
    if (watch.label == nullptr)
      return std::string("the gatherer '") + watch.gatherer + "' needs the name of a parameter, such as 'weight'";
    std::string own;
    for (std::size_t i = 0; i < watch.module->parameter_count; ++i) {
      const std::string name = watch.module->parameters[i]->name;
      if (name == watch.label) return "";
      own += (own.empty() ? "'" : ", '") + name + "'";
    }
    return std::string(watch.module->name) + " of the type " + watch.module->type + " has no '" + watch.label +
           "'; it has " + (own.empty() ? "no parameter" : own);
  }

  /// The fault of a name that is close to one of the host's or the file's; any other may belong to another plugin.
  static std::string misspelt(const loupe_plugin& plugin, const std::string& gatherer) {
    std::vector<std::string> known(std::begin(gatherers), std::end(gatherers));
    for (std::size_t i = 0; i < plugin.component_count; ++i) known.emplace_back(plugin.components[i]->name);
    if (std::find(known.begin(), known.end(), gatherer) != known.end()) return "";
    const std::string meant = nearest(gatherer, known);
    const bool is_near = !meant.empty() && edit_distance(gatherer, meant) <= 2;
    return is_near ? "there is no gatherer '" + gatherer + "'; did you mean '" + meant + "'?" : "";
  }

  static loupe_status watch(void* self, const loupe_watch* watch, loupe_source** source, loupe_error* error) {
    Session& session = of(self);
    if (!session.host().expect("watch", {Phase::attaching, Phase::visiting}))
      return refuse(error, "watch is called at the wrong time");
    if (watch->gatherer == nullptr) return refuse(error, "watch names no gatherer");
    if (const std::string wrong = misspelt(*session.subject_.plugin, watch->gatherer); !wrong.empty())
      return refuse(error, wrong.c_str());
    if (const std::string lacking = lacking_parameter(*watch); !lacking.empty()) return refuse(error, lacking.c_str());
    if (std::string_view(watch->gatherer).substr(0, std::strlen(LOUPE_DRAFT_GATHERERS)) == LOUPE_DRAFT_GATHERERS)
      StubHost::note_draft(std::string("the gatherer '") + watch->gatherer + "'");
    Session::Watched& made = session.watched_.emplace_back();
    made.module = watch->module;
    if (watch->label != nullptr) made.label = watch->label;
    made.comes_at_ticks = std::strcmp(watch->gatherer, "tick") == 0;
    if (watch->preprocessor != nullptr) {
      made.made_up = std::make_shared<Session::MadeUp>();
      made.table = detail::preprocessor_table();
      made.self = static_cast<Preprocessor*>(made.made_up.get());
    } else {
      if (watch->own_interface == nullptr) return refuse(error, "watch has no preprocessor");
      made.table = watch->own_interface;
      made.self = watch->own_preprocessor;
      made.request = {.struct_size = sizeof(loupe_request)};
      const loupe_status status = made.table->request(made.self, &made.request, error);
      if (status != LOUPE_OK) return status;
      StubHost::note_draft_measures(made.request.measures);
    }
    *source = reinterpret_cast<loupe_source*>(&made);
    return LOUPE_OK;
  }
  static const Session::Watched& readable(void* self, loupe_source* source) {
    const Session::Watched& of_lens = watched(source);
    if (of_lens.forgotten) of(self).host().complain("reads a source whose module is forgotten");
    return of_lens;
  }
  static size_t series_count(void*, loupe_source* source) {
    return watched(source).table->series_count(watched(source).self);
  }
  static loupe_status find(void* self, loupe_source* source, const char* name, size_t* index, loupe_error* error) {
    const Session::Watched& of_lens = readable(self, source);
    if (of_lens.made_up != nullptr && name != nullptr) of_lens.made_up->ask_for(name);
    return detail::find_series(*of_lens.table, of_lens.self, name, index, error);
  }
  static loupe_status read(void* self, loupe_source* source, size_t i, loupe_series* row, loupe_error* error) {
    return detail::guarded(error, [&] {
      const Session::Watched& of_lens = readable(self, source);
      loupe_series read = detail::series_row(*of_lens.table, of_lens.self, i);
      read.struct_size = row->struct_size;
      std::memcpy(row, &read, std::min<size_t>(row->struct_size, sizeof read));
    });
  }
  static loupe_status quantiles(void* self, loupe_source* source, size_t i, const double* q, size_t q_count,
                                double* found, loupe_error* error) {
    const Session::Watched& of_lens = readable(self, source);
    const loupe_preprocessor& table = *of_lens.table;
    if (LOUPE_OFFERS(table, quantiles)) return table.quantiles(of_lens.self, i, q, q_count, found, error);
    detail::write_error(error, "quantiles are not kept");
    return LOUPE_UNSUPPORTED;
  }
  static loupe_status all_values(void* self, loupe_source* source, size_t i, double* found, size_t capacity,
                                 size_t* count, loupe_error* error) {
    const Session::Watched& of_lens = readable(self, source);
    const loupe_preprocessor& table = *of_lens.table;
    if (LOUPE_OFFERS(table, values)) return table.values(of_lens.self, i, found, capacity, count, error);
    detail::write_error(error, "the values are not kept");
    return LOUPE_UNSUPPORTED;
  }

  static loupe_status rest(void* self, loupe_source* source, uint32_t what, loupe_error* error) {
    if (!of(self).host().expect("rest", {Phase::attaching, Phase::visiting, Phase::stepping, Phase::reporting}))
      return refuse(error, "rest is called at the wrong time");
    if (source == nullptr || watched(source).forgotten)
      of(self).host().complain("lets a source rest that is null, or whose module is forgotten");
    if ((what & LOUPE_REST_DRAFTS) != 0) StubHost::note_draft("LOUPE_REST_DRAFTS");
    return LOUPE_OK;
  }

  static const void* extension(void*, const char* id) {
    StubHost::note_draft_id(id);
    return nullptr;
  }

  /// Refuses messages by the host's own checks.
  template <class Told, class Check>
  static loupe_status told(void* self, const Told* what, const char* function, std::initializer_list<Phase> phases,
                           loupe_error* error, Check&& check) {
    if (!of(self).host().expect(function, phases)) return refuse(error, "the sink is used at the wrong time");
    of(self).has_shown_ |= !std::is_same_v<Told, loupe_tag>;
    try {
      if (what == nullptr) throw Error("it is null");
      check(detail::known_part(*what));
    } catch (const Error& wrong) {
      of(self).host().complain(std::string("reports a ") + function + " that the host refuses: " + wrong.what());
      return refuse(error, wrong.what());
    }
    return LOUPE_OK;
  }
  static loupe_status need_tag(void* self, const char* tag, loupe_error* error) {
    if (of(self).tags_.count(tag) != 0) return LOUPE_OK;
    of(self).host().complain("reports a value of the tag '" + std::string(tag) + "' before the tag; report that first");
    return refuse(error, "a value was reported before its tag");
  }
  /// Refuses values of tags that were not shown, and second values at one tick.
  template <class Told>
  static loupe_status need_news(void* self, const Told& told, LastValues& known, const std::string& name,
                                loupe_error* error) {
    if (const loupe_status status = need_tag(self, told.tag, error); status != LOUPE_OK) return status;
    const char* layer = told.layer != nullptr ? told.layer : told.tag;
    if (known.put(told.tag, layer, name, 0) == LastValues::Put::first) return LOUPE_OK;
    of(self).host().complain("reports '" + name + "' of '" + layer + "' in the tag '" + told.tag +
                             "' twice at one tick; give each number its own name");
    return refuse(error, "it was already reported at this tick");
  }
  static loupe_status tag(void* self, const loupe_tag* tag, loupe_error* error) {
    return told(self, tag, "tag", {Phase::reporting}, error, [&](const loupe_tag& given) {
      check_message(given);
      of(self).tags_.insert(given.id);
    });
  }
  static loupe_status row(void* self, const loupe_row* row, loupe_error* error) {
    const auto check = [](const loupe_row& given) { check_message(given); };
    loupe_status status = told(self, row, "row", {Phase::reporting}, error, check);
    if (status == LOUPE_OK) status = need_tag(self, row->tag, error);
    if (status != LOUPE_OK) return status;
    const loupe_row whole = detail::known_part(*row);
    const std::string of_step = whole.step != 0 ? " of step " + std::to_string(whole.step) : "";
    each_value(whole, [&](const RowValue& value) {
      if (status == LOUPE_OK) status = need_news(self, value, of(self).values_, value.line + of_step, error);
    });
    each_range(whole, [&](const RowRange& range) {
      const std::string names = std::string(range.low_name) + ".." + range.high_name + of_step;
      if (status == LOUPE_OK) status = need_news(self, range, of(self).ranges_, names, error);
    });
    return status;
  }
  static loupe_status histogram(void* self, const loupe_histogram* histogram, loupe_error* error) {
    const auto check = [](const loupe_histogram& given) { check_message(given); };
    const loupe_status status = told(self, histogram, "histogram", {Phase::reporting}, error, check);
    return status == LOUPE_OK ? need_news(self, *histogram, of(self).histograms_, histogram->line, error) : status;
  }
  static loupe_status finding(void* self, const loupe_finding* finding, loupe_error* error) {
    return told(self, finding, "finding", {Phase::stepping, Phase::reporting}, error,
                [](const loupe_finding& given) { check_finding(given); });
  }
};

void Session::lend_host_tables() {
  taps_ = lasting_.lend(loupe_taps{.struct_size = sizeof(loupe_taps),
                                   .context = this,
                                   .subscribe = &StubWiring::subscribe,
                                   .emit = &StubWiring::emit,
                                   .get_extension = &StubWiring::extension});
  wiring_ = lasting_.lend(loupe_wiring{.struct_size = sizeof(loupe_wiring),
                                       .flags = LOUPE_WIRING_STRICT,
                                       .context = this,
                                       .watch = &StubWiring::watch,
                                       .series_count = &StubWiring::series_count,
                                       .find = &StubWiring::find,
                                       .read = &StubWiring::read,
                                       .quantiles = &StubWiring::quantiles,
                                       .values = &StubWiring::all_values,
                                       .rest = &StubWiring::rest,
                                       .get_extension = &StubWiring::extension});
  sink_ = lasting_.lend(loupe_sink{.struct_size = sizeof(loupe_sink),
                                   .context = this,
                                   .tag = &StubWiring::tag,
                                   .row = &StubWiring::row,
                                   .histogram = &StubWiring::histogram,
                                   .finding = &StubWiring::finding,
                                   .get_extension = &StubWiring::extension});
}

}  // namespace loupe::check
