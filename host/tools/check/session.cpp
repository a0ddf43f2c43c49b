#include "check/session.h"

#include <loupe/detail/series_reading.h>
#include <loupe/error.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

#include "options/diagnostics.h"

namespace loupe::check {
namespace {

/// Fills in options that must be given: with the first choice, the least number, or a likely name.
void fill_required(const OptionTable& table, std::vector<loupe_option_value>& values) {
  for (const loupe_option* option : table) {
    if ((option->flags & LOUPE_OPTION_REQUIRED) == 0) continue;
    loupe_option_value value{};
    value.struct_size = sizeof value;
    value.type = option->type;
    value.name = option->name;
    value.number = has_minimum(*option) ? option->minimum : 1;
    value.integer = option->type == LOUPE_TYPE_BOOLEAN ? 0 : static_cast<int64_t>(value.number);
    value.string = option->choice_count > 0 ? option->choices[0] : "forward";
    values.push_back(value);
  }
}

std::shared_ptr<const OptionSet> default_options(const loupe_component& component) {
  const OptionTable table{component.options, component.option_count};
  std::vector<loupe_option_value> values;
  fill_required(table, values);
  std::vector<const loupe_option_value*> pointers;
  for (const loupe_option_value& value : values) pointers.push_back(&value);
  const loupe_options required{
      .struct_size = sizeof(loupe_options), .values = pointers.data(), .value_count = pointers.size()};
  try {
    return OptionSet::from_values(table, &required, std::string("'") + component.name + "'");
  } catch (const std::exception&) {
    return std::make_shared<OptionSet>();  // the rule `defaults` reports that
  }
}

/// The options of the component's example, "- name: {option: value}"; null without one that can be read.
std::shared_ptr<const OptionSet> options_of_example(const loupe_component& component) {
  if (component.example == nullptr) return nullptr;
  try {
    const YAML::Node text = YAML::Load(component.example);
    const YAML::Node node = text.IsSequence() && text.size() > 0 ? text[0] : text;
    Diagnostics diagnostics("example");
    std::shared_ptr<const OptionSet> options = OptionSet::from_yaml({component.options, component.option_count},
                                                                    node[component.name], component.name, diagnostics);
    if (diagnostics.empty()) return options;
  } catch (const std::exception&) {
  }
  return nullptr;
}

/// The user's options, else the defaults, or those of its own example if it cannot be made with the defaults. Cached.
std::shared_ptr<const OptionSet> usual_options(const Subject& subject) {
  const loupe_component& component = *subject.component;
  static std::map<const loupe_component*, std::shared_ptr<const OptionSet>> known;
  std::shared_ptr<const OptionSet>& options = known[&component];
  if (options != nullptr) return options;
  if (declares_any(component, subject.options)) return options = read_options(component, subject.options);
  options = default_options(component);
  const std::shared_ptr<const OptionSet> example = options_of_example(component);
  if (example == nullptr) return options;
  const StubHost host;
  void* self = nullptr;
  loupe::detail::ErrorBuffer error;
  try {
    if (component.create(&component, &host.get(), options->get(), &self, error.get()) == LOUPE_OK) {
      component.destroy(self);
    } else {
      options = example;
    }
  } catch (...) {  // the rule `exceptions` reports that
  }
  return options;
}

/// The data that the host passes for such a request; nullopt if no such event comes.
std::optional<Data> as_asked(Data data, const loupe_request& request) {
  if (!data.has_tensor || request.places == 0) return data;
  const bool is_there = data.device != LOUPE_DEVICE_CPU;
  if ((request.places & (is_there ? LOUPE_PLACE_DEVICE : LOUPE_PLACE_CPU)) != 0) return data;
  if (is_there) return std::nullopt;
  data.device = LOUPE_DEVICE_CUDA;  // it sees only tensors of devices
  return data;
}

}  // namespace

bool declares_any(const loupe_component& component, const std::string& options) {
  const YAML::Node node = options.empty() ? YAML::Node() : YAML::Load(options);
  for (std::size_t i = 0; node.IsMap() && i < component.option_count; ++i) {
    if (node[component.options[i]->name].IsDefined()) return true;
  }
  return false;
}

std::shared_ptr<const OptionSet> read_options(const loupe_component& component, const std::string& options) {
  Diagnostics diagnostics("--options");
  std::shared_ptr<const OptionSet> read = OptionSet::from_yaml({component.options, component.option_count},
                                                               YAML::Load(options), component.name, diagnostics);
  if (!diagnostics.empty()) throw Broken(diagnostics.messages());
  return read;
}

Session::Session(const Subject& subject, Conditions conditions)
    : subject_(subject),
      conditions_(conditions),
      models_(std::make_unique<LentMemory>()),
      memory_(std::make_unique<LentMemory>()),
      options_(usual_options(subject)) {
  error_.struct_size = sizeof error_;
  error_.capacity = static_cast<uint32_t>(conditions.message_capacity);
  error_.message = static_cast<char*>(lasting_.guarded(conditions.message_capacity, "the buffer for its message"));
  lent_host_ = lasting_.lend(host_.get());
  lend_host_tables();
  network_ = lend_network(*models_);
  static int runs = 0;
  if (subject.kind == Kind::visualizer) {
    folder_ = subject.folder + "/" + std::to_string(runs++);
    std::filesystem::create_directories(folder_);
    host_.set_run(lend_run(lasting_, folder_));
  }
  create();
}

Session::~Session() {
  destroy();
}

void Session::create() {
  call("create", Phase::none, [&](LentMemory& memory, loupe_error* error) {
    const loupe_options* options = conditions_.default_options ? lend_options(memory, *options_->get()) : nullptr;
    void** self = memory.buffer<void*>(1, "the place for its instance");
    *self = nullptr;
    const loupe_status status = subject_.component->create(subject_.component, lent_host_, options, self, error);
    if (status == LOUPE_OK) self_ = *self;  // otherwise there is no instance
    return status;
  });
}

void Session::destroy() {
  if (self_ == nullptr) return;
  call("destroy", Phase::none, [&](LentMemory&, loupe_error*) {
    subject_.component->destroy(self_);
    return LOUPE_OK;
  });
  self_ = nullptr;
}

void Session::enter(const char* function, Phase phase) {
  note_step(function);
  error_.message[0] = '\0';
  host_.set_phase(phase);
}

void Session::leave(Answer& answer) {
  host_.set_phase(Phase::none);
  if (answer.status != LOUPE_OK) {
    if (!answer.threw) answer.message.assign(error_.message, strnlen(error_.message, error_.capacity));
    answer.threw = answer.threw || answer.message.rfind("it panicked: ", 0) == 0;  // the Rust crate's report
    failures_.push_back(answer);
  }
  if (!conditions_.takes_away) {
    memory_->scribble();
    return;
  }
  memory_->take_away();
  taken_.push_back(std::move(memory_));
  memory_ = std::make_unique<LentMemory>();
}

Data Session::usual_data() const {
  static std::map<const loupe_component*, Data> known;
  const auto found = known.find(subject_.component);
  if (found != known.end()) return found->second;
  Data data;
  known[subject_.component] = data;
  Session session(subject_);
  session.begin();
  const std::size_t failed_before = session.failures().size();
  session.feed(data);
  if (session.failures().size() > failed_before) data.sizes = {};  // like a loss
  known[subject_.component] = data;
  return data;
}

void Session::live() {
  begin();
  for (int i = 0; i < 2; ++i) {
    feed();
    feed();
    tick();
  }
  finish();
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (x != x && y != y); });
}

void Session::begin() {
  if (self_ == nullptr) return;
  const std::size_t failed_before = failures_.size();
  if (subject_.kind == Kind::gatherer) begin_gatherer();
  if (subject_.kind == Kind::preprocessor) {
    call("request", Phase::none, [&](LentMemory& memory, loupe_error* error) {
      loupe_request* asked = memory.lend_to_fill<loupe_request>(loupe_request{});
      const loupe_status status = table<loupe_preprocessor>().request(self_, asked, error);
      request_ = loupe_request{};
      std::memcpy(&request_, asked, std::min<std::size_t>(asked->struct_size, sizeof request_));
      StubHost::note_draft_measures(request_.measures);
      return status;
    });
  }
  if (subject_.kind == Kind::lens) {
    ask("attach", Phase::attaching, &loupe_lens::attach, wiring_);
    for (const loupe_module* module : network_.modules) ask("visit", Phase::visiting, &loupe_lens::visit, module);
  }
  if (subject_.kind == Kind::visualizer) {
    ask("begin", Phase::none, &loupe_visualizer::begin, lent(lend_run, folder_));
    ask("model", Phase::none, &loupe_visualizer::model, [](LentMemory& memory) { return lend_network(memory).model; });
  }
  failed_to_begin_ = failures_.size() > failed_before;
}

/// Only a gatherer knows its stream: of a module, of a parameter, or of pushed values. One of these must work.
void Session::begin_gatherer() {
  struct Place {
    const loupe_module* module;
    const char* label;
  };
  const loupe_module* linear = network_.modules[1];
  const Place places[] = {{linear, nullptr}, {linear, "weight"}, {nullptr, nullptr}, {nullptr, "accuracy"}};
  const std::vector<Answer> before = failures_;
  for (const Place& place : places) {
    if (self_ == nullptr) create();  // one that failed to open cannot be used again
    if (self_ == nullptr) return;
    label_ = place.label != nullptr ? place.label : "";
    opened_on_ = place.module;
    const Answer answer =
        ask("open", Phase::opening, &loupe_gatherer::open, taps_, place.module,
            [&](LentMemory& memory) { return place.label != nullptr ? memory.text(place.label) : nullptr; });
    open_ = answer.ok();
    if (open_) {
      failures_ = before;
      return;
    }
    if (answer.threw) return;
    destroy();
  }
}

template <class Take>
Answer Session::send(const char* function, const Data& data, const loupe_module* module, const std::string& label,
                     uint32_t measures, bool is_metered, Take&& take) {
  return call(function, Phase::event, [&](LentMemory& memory, loupe_error* error) {
    const loupe_event* event =
        lend_event(memory, data, module, label.empty() ? nullptr : label.c_str(), events_++, measures);
    const auto taken = [&] { return take(event, error); };
    return is_metered && meter_ != nullptr ? meter_->around(taken) : taken();
  });
}

void Session::process_own(Watched& watched, const Data& data) {
  const std::optional<Data> asked = as_asked(data, watched.request);
  if (!asked) return;
  send("process of its own preprocessor", *asked, watched.module, watched.label, watched.request.measures,
       !watched.comes_at_ticks, [&](const loupe_event* event, loupe_error* error) {
         return watched.table->process(watched.self, event, error);
       });
}

void Session::feed(const Data& data) {
  if (self_ == nullptr || failed_to_begin_) return;
  if (subject_.kind == Kind::gatherer && open_ && LOUPE_OFFERS(table<loupe_gatherer>(), event)) {
    send("event", data, opened_on_, label_, ~0u, true, [&](const loupe_event* event, loupe_error* error) {
      return table<loupe_gatherer>().event(self_, event, error);
    });
  }
  const std::optional<Data> asked = as_asked(data, request_);
  if (subject_.kind == Kind::preprocessor && asked) {
    send("process", *asked, network_.modules[1], "", request_.measures, true,
         [&](const loupe_event* event, loupe_error* error) {
           return table<loupe_preprocessor>().process(self_, event, error);
         });
  }
  if (subject_.kind != Kind::lens) return;
  for (Watched& watched : watched_) {
    // While events are being timed, events of ticks come only with the tick.
    if (watched.is_alive_and_own() && (!watched.comes_at_ticks || meter_ == nullptr)) process_own(watched, data);
  }
  if (LOUPE_OFFERS(table<loupe_lens>(), step))
    ask("step", Phase::stepping, &loupe_lens::step, lent(lend_step, ++events_), sink_);
}

void Session::tick() {
  if (self_ == nullptr || failed_to_begin_) return;
  if (subject_.kind == Kind::preprocessor) {
    numbers();
    ask("reset", Phase::none, &loupe_preprocessor::reset);
  }
  if (subject_.kind == Kind::lens) tick_lens();
  if (subject_.kind == Kind::visualizer) tick_visualizer();
  ++ticks_;
}

std::vector<double> Session::numbers() {
  std::vector<double> numbers;
  if (subject_.kind == Kind::preprocessor && self_ != nullptr) add_numbers(table<loupe_preprocessor>(), self_, numbers);
  for (const Watched& watched : watched_) {
    if (watched.is_alive_and_own()) add_numbers(*watched.table, watched.self, numbers);
  }
  return numbers;
}

bool Session::keeps_name(void* preprocessor, std::size_t series, const char* name) {
  if (name == nullptr) return false;
  const auto& known = names_.try_emplace({preprocessor, series}, name, name).first->second;
  return known.first == name && known.second == name;
}

void Session::add_numbers(const loupe_preprocessor& counts, void* self, std::vector<double>& numbers) {
  call("series", Phase::none, [&](LentMemory& memory, loupe_error* error) -> loupe_status {
    const std::size_t count = counts.series_count(self);
    for (std::size_t i = 0; i < count; ++i) {
      // A copy of the host's struct that ends at a guard page.
      auto* lent = const_cast<loupe_series*>(memory.lend(loupe_series{}));
      const loupe_status status = counts.read(self, i, lent, error);
      if (status != LOUPE_OK) return status;
      loupe_series row{};
      std::memcpy(&row, lent, std::min<std::size_t>(lent->struct_size, sizeof row));
      if (LOUPE_REACHES(*lent, name) && !keeps_name(self, i, row.name)) {
        loupe::detail::write_error(error, "the name of a series is null, or has moved or changed; keep it as it is");
        return LOUPE_INVALID;
      }
      for (const uint64_t number : {row.count, row.nan_count, row.inf_count})
        numbers.push_back(static_cast<double>(number));
      for (const double number : {row.sum, row.mean, row.standard_deviation, row.minimum, row.maximum, row.last})
        numbers.push_back(number);
      if (LOUPE_OFFERS(counts, quantiles)) {
        constexpr double q[] = {0, 0.25, 0.5, 0.75, 1};
        double values[std::size(q)] = {NAN, NAN, NAN, NAN, NAN};  // values that stay if the series has none
        const loupe_status status = counts.quantiles(self, i, q, std::size(q), values, error);
        for (const double value : values)
          numbers.push_back(status == LOUPE_OK ? value : std::numeric_limits<double>::infinity());
      }
      if (!LOUPE_OFFERS(counts, values)) continue;
      try {
        const std::vector<double> values = loupe::detail::series_values(counts, self, i);
        numbers.insert(numbers.end(), values.begin(), values.end());
      } catch (const Error&) {  // they are folded, not kept
      }
    }
    return LOUPE_OK;
  });
}

bool Session::is_blind() const {
  return subject_.kind == Kind::lens && watched_.empty() && !has_shown_ && !LOUPE_OFFERS(table<loupe_lens>(), step);
}

void Session::tick_lens() {
  for (Watched& watched : watched_) {
    if (meter_ != nullptr && watched.is_alive_and_own() && watched.comes_at_ticks) process_own(watched, usual_data());
  }
  for (LastValues* shown : {&values_, &ranges_, &histograms_}) shown->begin_tick();
  ask("report", Phase::reporting, &loupe_lens::report, lent(lend_tick, ticks_), sink_);
  for (const Watched& watched : watched_) {
    if (!watched.is_alive_and_own()) continue;
    call("reset of its own preprocessor", Phase::none,
         [&](LentMemory&, loupe_error* error) { return watched.table->reset(watched.self, error); });
  }
}

void Session::tick_visualizer() {
  using Shows = loupe_visualizer;
  const auto show = [&](const char* function, auto member, const auto&... shown) {
    ask(function, Phase::none, member, shown...);
  };
  const std::vector<std::pair<const char*, double>> mean{{"mean", 0.5}}, both{{"mean", 0.5}, {"min", -2}};
  show("tag", &Shows::tag, lent(lend_tag, "Norm", false));
  for (uint32_t type = LOUPE_TYPE_BOOLEAN; type <= LOUPE_TYPE_STRINGS; ++type)
    show("hyperparameter", &Shows::hyperparameter, lent(lend_hyperparameter, type));
  show("begin_tick", &Shows::begin_tick, lent(lend_tick, ticks_));
  show("tag", &Shows::tag, lent(lend_tag, "Loss", true));
  show("row", &Shows::row, lent(lend_row, "Norm", "0", both, 1));
  show("row", &Shows::row, lent(lend_row, "Loss", nullptr, mean, std::nullopt));
  show("histogram", &Shows::histogram, lent(lend_histogram, "Norm", 5, 3));
  show("finding", &Shows::finding, lent(lend_finding, network_.modules[1]));
  show("end_tick", &Shows::end_tick);
  show("progress", &Shows::progress, [](LentMemory& memory) {
    return memory.lend(
        loupe_progress{.at = {20, 1, 1.7e9, 2}, .epochs = 4, .steps = 10, .steps_before = 10, .seconds = 0.5});
  });
  show("note", &Shows::note, [](LentMemory& memory) {
    return memory.lend(
        loupe_note{.kind = LOUPE_NOTE_INCIDENT, .text = memory.text("a note"), .at = {3, 0.3, 1.7e9, 2}, .finding = 7});
  });
}

void Session::finish() {
  if (self_ == nullptr || failed_to_begin_) return;
  if (subject_.kind == Kind::lens) {
    for (const loupe_module* module : network_.modules) {
      if (LOUPE_OFFERS(table<loupe_lens>(), forget)) {
        call("forget", Phase::none, [&](LentMemory&, loupe_error*) {
          table<loupe_lens>().forget(self_, module);
          return LOUPE_OK;
        });
      }
      for (Watched& watched : watched_) watched.forgotten |= watched.module == module;
    }
    if (conditions_.takes_away) models_->take_away();
  }
  if (subject_.kind != Kind::visualizer) return;
  ask("flush", Phase::none, &loupe_visualizer::flush);
  ask("end", Phase::none, &loupe_visualizer::end, [](LentMemory& memory) {
    return memory.lend(
        loupe_ending{.how = LOUPE_END_COMPLETED, .at = {20, 2, 1.7e9, 2}, .message = memory.text("The run is over.")});
  });
}

}  // namespace loupe::check
