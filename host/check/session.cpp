#include "check/session.h"

#include <loupe/error.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "check/stub_wiring.h"
#include "options/diagnostics.h"

namespace loupe::check {
namespace {

/// What an option that must be given is given: the first choice, the least number, or what is likely there.
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
    return std::make_shared<OptionSet>();  // the rule of defaults tells
  }
}

/// What the component's example sets, "- name: {option: value}"; null where it has none that can be read.
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

/// What the user gives; else the defaults; or, for what cannot be made with them, the options of its own example. Found
/// out once.
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
  } catch (...) {  // the rule of exceptions tells
  }
  return options;
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

Session::Session(const Subject& subject, Habits habits)
    : subject_(subject),
      habits_(habits),
      models_(std::make_unique<LentMemory>()),
      memory_(std::make_unique<LentMemory>()),
      options_(usual_options(subject)) {
  error_.struct_size = sizeof error_;
  error_.capacity = static_cast<uint32_t>(habits.message_capacity);
  error_.message = static_cast<char*>(lasting_.guarded(habits.message_capacity, "the buffer for its message"));
  lent_host_ = lasting_.lend(host_.get());
  taps_ = lasting_.lend(stub_taps(this));
  wiring_ = lasting_.lend(stub_wiring(this));
  sink_ = lasting_.lend(stub_sink(this));
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
  call("create", Turn::none, [&](LentMemory& memory, loupe_error* error) {
    const loupe_options* options = habits_.default_options ? lend_options(memory, *options_->get()) : nullptr;
    void** self = memory.buffer<void*>(1, "the place for its instance");
    *self = nullptr;
    const loupe_status status = subject_.component->create(subject_.component, lent_host_, options, self, error);
    self_ = *self;
    return status;
  });
}

void Session::destroy() {
  if (self_ == nullptr) return;
  call("destroy", Turn::none, [&](LentMemory&, loupe_error*) {
    subject_.component->destroy(self_);
    return LOUPE_OK;
  });
  self_ = nullptr;
}

void Session::enter(const char* function, Turn turn) {
  note_step(function);
  error_.message[0] = '\0';
  host_.set_turn(turn);
}

void Session::leave(Answer& answer) {
  host_.set_turn(Turn::none);
  if (answer.status != LOUPE_OK) {
    if (!answer.threw) answer.message.assign(error_.message, strnlen(error_.message, error_.capacity));
    failures_.push_back(answer);
  }
  if (!habits_.takes_away) {
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
  if (session.failures().size() > failed_before) data.sizes = {};  // as a loss is
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

}  // namespace loupe::check
