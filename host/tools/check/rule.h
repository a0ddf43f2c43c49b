#pragma once

#include <loupe/abi.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "loader/kind.h"

namespace loupe::check {

/// The subject of a rule. Members that are unknown or unavailable are null.
struct Subject {
  std::string file;
  std::string options;  ///< a YAML map that replaces defaults of the components' options; may be empty
  std::string folder;   ///< where visualizers may write; empty at first, deleted at the end
  const loupe_entry* entry = nullptr;
  const loupe_plugin* plugin = nullptr;
  const loupe_component* component = nullptr;
  Kind kind = Kind::lens;  ///< the component's
};

/// Thrown when a rule is broken; what() says how, in one line.
class Broken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A rule for every plugin, or for every component.
struct Rule {
  const char* name;
  const char* meaning;                         ///< one line
  void (*examine)(const Subject&);             ///< throws Broken
  bool (*concerns)(const Subject&) = nullptr;  ///< null: all
};

/// The rules in checking order: those of the file, and those of each component.
const std::vector<Rule>& file_rules();
const std::vector<Rule>& component_rules();

/// Names the call that begins, in case it never returns: "process".
void note_step(const std::string& step);
/// Names the circumstances of the following calls: " with a loupe_tensor of 8 bytes".
void note_context(const std::string& context);

/// Adds a remark to a rule that is kept.
void note_remark(const std::string& remark);

// The rules, by the files that hold them.
void check_exports(const Subject&);
void check_links(const Subject&);
void check_bootstrap(const Subject&);
void check_read_without_running(const Subject&);
void check_unknown_ids(const Subject&);
void check_plugin(const Subject&);
void check_functions(const Subject&);
void check_names(const Subject&);
void check_help(const Subject&);
void check_defaults(const Subject&);
void check_options(const Subject&);
void check_example(const Subject&);
void check_life(const Subject&);
void check_creation(const Subject&);
void check_two_instances(const Subject&);
void check_struct_sizes(const Subject&);
void check_data(const Subject&);
void check_wrong_calls(const Subject&);
void check_messages(const Subject&);
void check_exceptions(const Subject&);
void check_threads(const Subject&);
void check_leaks(const Subject&);
void check_measured(const Subject&);
void check_events(const Subject&);
void check_drafts(const Subject&);
void check_nothing_kept(const Subject&);
void check_state(const Subject&);

}  // namespace loupe::check
