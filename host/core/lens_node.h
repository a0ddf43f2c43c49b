#ifndef LOUPE_CORE_LENS_NODE_H
#define LOUPE_CORE_LENS_NODE_H

#include <loupe/abi.h>

#include <functional>
#include <list>
#include <optional>
#include <string>

#include "core/config.h"
#include "core/display.h"
#include "core/module_node.h"

namespace loupe {

/// One lens of an inspector with the sources it watches. Trainer's thread.
class LensNode {
 public:
  /// @param find_module  the node behind a loupe_module, or the pushes' node for null
  LensNode(const ComponentConfig& config, const Catalogue& catalogue, bool stop_on_error,
           std::function<ModuleNode&(const loupe_module*)> find_module);
  LensNode(const LensNode&) = delete;
  LensNode& operator=(const LensNode&) = delete;

  const std::string& name() const { return guard_.lens(); }
  bool quarantined() const { return guard_.quarantined(); }
  void attach();
  void visit(const ModuleNode& module);
  void forget(const ModuleNode& module);
  void introduce(Display& display);
  /// Reports the epoch and empties the sources.
  void report(double epoch, Display& display);
  std::optional<double> query(const std::string& key);

 private:
  struct Sink {
    LensNode* lens;
    Display* display;
    loupe_run run;
  };
  template <class Call>
  void guarded_call(const std::string& where, Call&& call);
  loupe_source& watch(const loupe_watch& watch);
  loupe_sink make_sink(Sink& sink) const;
  std::string tag_name(const char* tag) const { return suffix_.empty() ? tag : tag + suffix_; }

  LensGuard guard_;
  std::string suffix_;  // of its tags, when it has a name of its own
  const Catalogue& catalogue_;
  std::function<ModuleNode&(const loupe_module*)> find_module_;
  loupe_wiring wiring_{};
  std::list<loupe_source> sources_;
  ComponentInstance instance_;  // last: a lens's own preprocessors outlive no source
};

}  // namespace loupe

#endif
