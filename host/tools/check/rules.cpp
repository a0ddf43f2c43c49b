#include "check/session.h"

namespace loupe::check {
namespace {

bool keeps_state(const Subject& subject) {
  if (subject.kind != Kind::preprocessor) return false;
  const auto& table = *static_cast<const loupe_preprocessor*>(subject.component->table);
  return LOUPE_OFFERS(table, save_state) || LOUPE_OFFERS(table, merge_state);
}

bool has_example(const Subject& subject) {
  return LOUPE_OFFERS(*subject.component, example);
}
bool has_given_options(const Subject& subject) {
  return declares_any(*subject.component, subject.options);
}
bool takes_events(const Subject& subject) {
  return subject.kind != Kind::visualizer;
}

}  // namespace

const std::vector<Rule>& file_rules() {
  static const std::vector<Rule> rules = {
      {"exports", "it exports " LOUPE_ENTRY_SYMBOL " and nothing else", &check_exports},
      {"read_without_running", "its entry can be read from the file, and says the ABI's version, before any code runs",
       &check_read_without_running},
      {"links", "every symbol that it uses is in a library that it links", &check_links},
      {"bootstrap", "its entry has Loupe's mark, this ABI's major version and get_extension", &check_bootstrap},
      {"unknown_ids", "get_extension returns null for unknown ids", &check_unknown_ids},
      {"plugin", "it offers " LOUPE_PLUGIN_ID " with a name, a version and components", &check_plugin}};
  return rules;
}

const std::vector<Rule>& component_rules() {
  static const std::vector<Rule> rules = {
      {"functions", "its kind is known, and every function that its kind must have is there", &check_functions},
      {"names", "its name, its aliases and its options' names are snake_case, each once", &check_names},
      {"help", "it and each of its options have a line of help", &check_help},
      {"defaults", "its options' defaults keep the types, bounds and choices that it declares", &check_defaults},
      {"options", "it takes the options that are given by --options", &check_options, &has_given_options},
      {"example", "its example is a valid configuration", &check_example, &has_example},
      {"creation", "instances are created and destroyed many at once, in any order", &check_creation},
      {"life", "a usual life, from creation to destruction, has no failure", &check_life},
      {"exceptions", "no exception comes out", &check_exceptions},
      {"two_instances", "two instances at once work like a single one", &check_two_instances},
      {"struct_sizes", "it reads no further than struct_size, and takes structs that are longer than it knows",
       &check_struct_sizes},
      {"data", "data of any type, shape and value, NaN, Inf and none, are taken or refused", &check_data},
      {"wrong_calls", "calls in the wrong state, or with wrong arguments, are answered", &check_wrong_calls},
      {"messages", "a call that fails leaves a message, cut to fit the buffer", &check_messages},
      {"threads", "it works on any thread, and calls the host only where and when it may", &check_threads},
      {"leaks", "all its memory is freed when it is destroyed", &check_leaks},
      {"events", "in its events it neither waits nor allocates, and its memory does not grow", &check_events,
       &takes_events},
      {"measured", "it reads no number that it did not ask to have measured", &check_measured, &takes_events},
      {"drafts", "it needs no draft of the ABI; those that it uses are named, and may change or disappear",
       &check_drafts},
      {"nothing_kept", "it keeps no pointer to memory lent for a call", &check_nothing_kept},
      {"state", "state that was saved can be merged, and other bytes are refused", &check_state, &keeps_state}};
  return rules;
}

}  // namespace loupe::check
