#ifndef LOUPE_COMMAND_VIEW_H
#define LOUPE_COMMAND_VIEW_H

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "plugins/catalogue.h"

namespace loupe {

/// `loupe view`: a page of the runs under some folders, served to a browser until the process is told to end.
struct View {
  std::vector<std::string> folders;
  std::string address = "127.0.0.1";
  std::optional<int> port;

  CLI::App* add_to(CLI::App& app);
  /// The page's address goes to `out`, warnings go to `errors`. Returns at SIGINT, SIGTERM or SIGHUP, which it holds
  /// back from all threads; a second one ends the process. Throws UsageError for a folder that is not there, and Error
  /// where it cannot listen.
  void run(const Catalogue& catalogue, std::ostream& out, std::ostream& errors) const;
};

}  // namespace loupe

#endif
