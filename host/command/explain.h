#ifndef LOUPE_COMMAND_EXPLAIN_H
#define LOUPE_COMMAND_EXPLAIN_H

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "plugins/catalogue.h"

namespace loupe {

/// `loupe explain`: what the plots mean that lenses show.
struct Explain {
  std::string tag;  ///< "" lists all
  bool as_glossary = false;

  CLI::App* add_to(CLI::App& app);
  /// Explains the plot of that name, all whose names begin with it or else have it within; case does not matter. False,
  /// and a message to `errors`, when there is none.
  /// @param paths further folders or files with plugins
  bool run(const Catalogue& catalogue, const std::vector<std::string>& paths, std::ostream& out,
           std::ostream& errors) const;
};

}  // namespace loupe

#endif
