#include "check/stub_wiring.h"

#include <loupe/detail/series_reading.h>
#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/loss_input.h>
#include <loupe/draft/abi/step_memory.h>
#include <loupe/draft/abi/step_time.h>
#include <loupe/error.h>
#include <loupe/preprocessor.h>
#include <loupe/row.h>
#include <loupe/text/nearest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "check/session.h"
#include "core/any_size.h"
#include "findings/finding_board.h"
#include "pipeline/lens_node.h"

namespace loupe::check {

/// The functions behind the tables, which note every call that may not be made.
struct StubWiring {
  // What Loupe's own preprocessors give, so that lenses that stand on them have something to report.
  static constexpr const char* series[] = {"norm",      "correlation", "activation", "death",
                                           "condition", "training",    "validation"};
  static constexpr double values[] = {0.25, 0.5, 0.75};

  // Loupe's own.
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
    if (!of(self).host().expect("subscribe", {Turn::opening})) return refuse(error, "subscribe comes out of turn");
    if (subscription->tap == 0) of(self).host().complain("subscribes to no tap");
    const uint32_t tap = subscription->tap;
    if (tap >= LOUPE_TAP_DRAFTS) {
      StubHost::note_draft(tap == LOUPE_DRAFT_TAP_LOSS_INPUT    ? "LOUPE_DRAFT_TAP_LOSS_INPUT"
                           : tap == LOUPE_DRAFT_TAP_STEP_TIME   ? "LOUPE_DRAFT_TAP_STEP_TIME"
                           : tap == LOUPE_DRAFT_TAP_STEP_MEMORY ? "LOUPE_DRAFT_TAP_STEP_MEMORY"
                                                                : "the tap " + std::to_string(tap));
    }
    return LOUPE_OK;
  }
  static loupe_status emit(void* self, const loupe_event*, loupe_error* error) {
    if (!of(self).host().expect("emit", {Turn::event})) return refuse(error, "emit comes out of turn");
    return LOUPE_OK;
  }

  /// Of Loupe's own gatherers of parameters, as those refuse it; empty where there is nothing to refuse.
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

  /// A misspelt name of one of Loupe's or of the file's own; another may be another plugin's.
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
    if (!session.host().expect("watch", {Turn::attaching, Turn::visiting}))
      return refuse(error, "watch comes out of turn");
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
    if (watch->preprocessor == nullptr) {
      if (watch->own_interface == nullptr) return refuse(error, "watch gives no preprocessor");
      made.own = watch->own_interface;
      made.own_self = watch->own_preprocessor;
      made.request = {.struct_size = sizeof(loupe_request)};
      const loupe_status status = made.own->request(made.own_self, &made.request, error);
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
    const Session::Watched& of_lens = watched(source);
    return of_lens.own != nullptr ? of_lens.own->series_count(of_lens.own_self) : std::size(series);
  }
  /// A preprocessor that is not the lens's own has every series here; those that are not made up above are empty.
  static loupe_status find(void* self, loupe_source* source, const char* name, size_t* index, loupe_error* error) {
    readable(self, source);
    Session::Watched& of_lens = watched(source);
    if (of_lens.own != nullptr) return detail::find_series(*of_lens.own, of_lens.own_self, name, index, error);
    if (name == nullptr) return refuse(error, "find is asked for no name");
    *index = 0;
    for (const char* each : series) {
      if (std::strcmp(each, name) == 0) return LOUPE_OK;
      ++*index;
    }
    for (const std::string& each : of_lens.asked_for) {
      if (each == name) return LOUPE_OK;
      ++*index;
    }
    of_lens.asked_for.emplace_back(name);
    return LOUPE_OK;
  }
  static loupe_status read(void* self, loupe_source* source, size_t i, loupe_series* row, loupe_error* error) {
    return detail::guarded(error, [&] {
      const Session::Watched& of_lens = readable(self, source);
      loupe_series read{};
      if (of_lens.own != nullptr) {
        read = detail::series_row(*of_lens.own, of_lens.own_self, i);
      } else {
        const bool is_made_up = i < std::size(series);
        if (!is_made_up && i - std::size(series) >= of_lens.asked_for.size())
          throw Error("there is no such series", LOUPE_NOT_FOUND);
        Series made;
        for (const double value : values) {
          if (is_made_up) made.push(value);
        }
        read = made.row(is_made_up ? series[i] : of_lens.asked_for[i - std::size(series)].c_str());
      }
      read.struct_size = row->struct_size;
      std::memcpy(row, &read, std::min<size_t>(row->struct_size, sizeof read));
    });
  }
  static loupe_status quantiles(void* self, loupe_source* source, size_t i, const double* q, size_t q_count,
                                double* found, loupe_error* error) {
    const Session::Watched& of_lens = readable(self, source);
    if (of_lens.own != nullptr) {
      const loupe_preprocessor& table = *of_lens.own;
      if (LOUPE_OFFERS(table, quantiles)) return table.quantiles(of_lens.own_self, i, q, q_count, found, error);
      detail::write_error(error, "quantiles are not kept");
      return LOUPE_UNSUPPORTED;
    }
    if (i >= std::size(series)) {
      detail::write_error(error, "there are no values");
      return LOUPE_NOT_FOUND;
    }
    for (size_t k = 0; k < q_count; ++k) found[k] = values[0] + q[k] * (values[2] - values[0]);
    return LOUPE_OK;
  }
  static loupe_status all_values(void* self, loupe_source* source, size_t i, double* found, size_t capacity,
                                 size_t* count, loupe_error* error) {
    const Session::Watched& of_lens = readable(self, source);
    if (of_lens.own != nullptr) {
      const loupe_preprocessor& table = *of_lens.own;
      if (LOUPE_OFFERS(table, values)) return table.values(of_lens.own_self, i, found, capacity, count, error);
      detail::write_error(error, "the values are not kept");
      return LOUPE_UNSUPPORTED;
    }
    *count = i < std::size(series) ? std::size(values) : 0;
    std::copy_n(values, std::min(*count, capacity), found);
    return LOUPE_OK;
  }

  static loupe_status rest(void* self, loupe_source* source, uint32_t what, loupe_error* error) {
    if (!of(self).host().expect("rest", {Turn::attaching, Turn::visiting, Turn::stepping, Turn::reporting}))
      return refuse(error, "rest comes out of turn");
    if (source == nullptr || watched(source).forgotten)
      of(self).host().complain("lets a source rest that is null, or whose module is forgotten");
    if ((what & LOUPE_REST_DRAFTS) != 0) StubHost::note_draft("LOUPE_REST_DRAFTS");
    constexpr uint32_t of_drafts = LOUPE_DRAFT_REST_MEASURES | LOUPE_DRAFT_REST_TENSORS;
    if ((what & ~(uint32_t{LOUPE_REST_EVENTS} | of_drafts)) != 0)
      of(self).host().complain("lets a source rest from what LOUPE_REST_ does not name");
    return LOUPE_OK;
  }

  static const void* extension(void*, const char* id) {
    StubHost::note_draft_id(id);
    return nullptr;
  }

  /// Refuses what the host refuses, by the host's own check.
  template <class Told, class Check>
  static loupe_status told(void* self, const Told* what, const char* function, std::initializer_list<Turn> turns,
                           loupe_error* error, Check&& check) {
    if (!of(self).host().expect(function, turns)) return refuse(error, "the sink is used out of turn");
    of(self).has_shown_ |= !std::is_same_v<Told, loupe_tag>;
    try {
      if (what == nullptr) throw Error("it is null");
      check(copy_known(*what));
    } catch (const Error& wrong) {
      of(self).host().complain(std::string("tells a ") + function + " that the host refuses: " + wrong.what());
      return refuse(error, wrong.what());
    }
    return LOUPE_OK;
  }
  static loupe_status need_tag(void* self, const char* tag, loupe_error* error) {
    if (of(self).tags_.count(tag) != 0) return LOUPE_OK;
    of(self).host().complain("tells a value of the tag '" + std::string(tag) + "' before the tag; tell that first");
    return refuse(error, "a value is told before its tag");
  }
  /// Of a tag that was told, and for the first time at this tick.
  template <class Told>
  static loupe_status need_news(void* self, const Told& told, LastValues& known, const std::string& name,
                                loupe_error* error) {
    if (const loupe_status status = need_tag(self, told.tag, error); status != LOUPE_OK) return status;
    const char* layer = told.layer != nullptr ? told.layer : told.tag;
    if (known.put(told.tag, layer, name, 0) == LastValues::Put::first) return LOUPE_OK;
    of(self).host().complain("tells '" + name + "' of '" + layer + "' in the tag '" + told.tag +
                             "' twice at one tick; give each number a name of its own");
    return refuse(error, "it was told at this tick already");
  }
  static loupe_status tag(void* self, const loupe_tag* tag, loupe_error* error) {
    return told(self, tag, "tag", {Turn::reporting}, error, [&](const loupe_tag& given) {
      check_told(given);
      of(self).tags_.insert(given.id);
    });
  }
  static loupe_status row(void* self, const loupe_row* row, loupe_error* error) {
    const auto check = [](const loupe_row& given) { check_told(given); };
    loupe_status status = told(self, row, "row", {Turn::reporting}, error, check);
    if (status == LOUPE_OK) status = need_tag(self, row->tag, error);
    if (status != LOUPE_OK) return status;
    each_value(*row, [&](const RowValue& value) {
      if (status == LOUPE_OK) status = need_news(self, value, of(self).values_, value.line, error);
    });
    each_range(*row, [&](const RowRange& range) {
      const std::string names = std::string(range.low_name) + ".." + range.high_name;
      if (status == LOUPE_OK) status = need_news(self, range, of(self).ranges_, names, error);
    });
    return status;
  }
  static loupe_status histogram(void* self, const loupe_histogram* histogram, loupe_error* error) {
    const auto check = [](const loupe_histogram& given) { check_told(given); };
    const loupe_status status = told(self, histogram, "histogram", {Turn::reporting}, error, check);
    return status == LOUPE_OK ? need_news(self, *histogram, of(self).histograms_, histogram->line, error) : status;
  }
  static const void* no_extension(void*, const char*) { return nullptr; }
  static loupe_status finding(void* self, const loupe_finding* finding, loupe_error* error) {
    return told(self, finding, "finding", {Turn::stepping, Turn::reporting}, error,
                [](const loupe_finding& given) { check_finding(given); });
  }
};

loupe_taps stub_taps(void* session) {
  return {.struct_size = sizeof(loupe_taps),
          .context = session,
          .subscribe = &StubWiring::subscribe,
          .emit = &StubWiring::emit,
          .get_extension = &StubWiring::no_extension};
}

loupe_wiring stub_wiring(void* session) {
  return {.struct_size = sizeof(loupe_wiring),
          .flags = LOUPE_WIRING_STRICT,
          .context = session,
          .watch = &StubWiring::watch,
          .series_count = &StubWiring::series_count,
          .find = &StubWiring::find,
          .read = &StubWiring::read,
          .quantiles = &StubWiring::quantiles,
          .values = &StubWiring::all_values,
          .rest = &StubWiring::rest,
          .get_extension = &StubWiring::extension};
}

loupe_sink stub_sink(void* session) {
  return {.struct_size = sizeof(loupe_sink),
          .context = session,
          .tag = &StubWiring::tag,
          .row = &StubWiring::row,
          .histogram = &StubWiring::histogram,
          .finding = &StubWiring::finding,
          .get_extension = &StubWiring::no_extension};
}

}  // namespace loupe::check
