#pragma once

#include <loupe/abi.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "loader/kind.h"

namespace loupe::check {

/// What a rule looks at. What is not known yet, or not to be had, is null.
struct Subject {
  std::string file;
  std::string options;  ///< a YAML map of those that components are made with instead of their defaults; may be empty
  std::string folder;   ///< where visualizers may write; empty at first, deleted in the end
  const loupe_entry* entry = nullptr;
  const loupe_plugin* plugin = nullptr;
  const loupe_component* component = nullptr;
  Kind kind = Kind::lens;  ///< the component's
};

/// Thrown by a rule that is broken; what() says how, in one line.
class Broken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What every plugin, or every component, must keep to.
struct Rule {
  const char* name;
  const char* meaning;                         ///< one line
  void (*examine)(const Subject&);             ///< throws Broken
  bool (*concerns)(const Subject&) = nullptr;  ///< null: all
};

/// In the order in which they are looked at. The first are the file's, the others each component's.
const std::vector<Rule>& file_rules();
const std::vector<Rule>& component_rules();

/// Tells what is about to be called, for the case that it never returns: "process".
void note_step(const std::string& step);
/// And in which circumstances, until told otherwise: " with a loupe_tensor of 8 bytes".
void note_context(const std::string& context);

/// Tells what is worth knowing of a rule that is kept.
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
