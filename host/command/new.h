#ifndef LOUPE_COMMAND_NEW_H
#define LOUPE_COMMAND_NEW_H

#include <CLI/CLI.hpp>
#include <ostream>
#include <string>

namespace loupe {

/// `loupe new KIND NAME`: a folder with a plugin that builds, and a test of it that passes.
class New {
 public:
  /// Adds the command; this outlives the parsing.
  CLI::App* add_to(CLI::App& app);
  /// Throws UsageError for a name that no plugin can have or a folder that is there already.
  void run(std::ostream& out) const;

 private:
  std::string kind_, name_, folder_;
  bool plain_c_ = false;
};

}  // namespace loupe

#endif
