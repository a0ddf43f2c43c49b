#ifndef LOUPE_CONSOLE_FINDINGS_H
#define LOUPE_CONSOLE_FINDINGS_H

#include <loupe/visualizer.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "console/layout.h"

namespace loupe::console {

/// What is wrong with the run, as people read it: each finding in full once, then only that it still stands when
/// something else changes, and that it is gone.
class Findings {
 public:
  void clear() { all_.clear(); }
  void take(const loupe_finding& finding);

  /// Lines on what changed since this was last asked, the worst first; "" where nothing did.
  std::string news(double epoch, const Layout& layout);
  /// The same for new errors alone, which cannot wait for a tick.
  std::string urgent(const Layout& layout);
  /// Lines on what stands, the worst first; "" where nothing does.
  std::string standing(double epoch, const Layout& layout) const;
  /// LOUPE_SEVERITY_ of the worst that stands of what a tag shows of a layer, or of a layer's parameter; 0 without any.
  std::uint32_t standing_of(const std::string& tag, const std::string& shown) const;
  /// How many were told of the run, those that are gone too.
  std::size_t count() const { return all_.size(); }

 private:
  enum class News { none, raised, gone };
  struct Known {
    std::string key, rule, place, message, advice;
    std::string tag, layer, parameter;  ///< as told
    std::uint32_t severity = 0;
    double first_epoch = 0;
    bool stands = false, shown = false;
    News news = News::none;

    std::string called() const { return place.empty() ? rule : rule + " of " + place; }
    std::string in_words() const { return place.empty() ? message : place + ": " + message; }
  };

  static std::string in_full(Known& each, const Layout& layout);

  std::vector<Known> all_;
};

/// "note", and what happened.
std::string note_lines(const Note& note, const Layout& layout);

}  // namespace loupe::console

#endif
