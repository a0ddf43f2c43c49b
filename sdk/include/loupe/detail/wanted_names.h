#pragma once

#include <loupe/host.h>
#include <loupe/options.h>
#include <loupe/text/nearest.h>

#include <fnmatch.h>

#include <set>
#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// Whether `name` matches `glob`: * matches any characters, ? one, and [3-5] one of a range.
inline bool fits_glob(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

/// The names that a user gave in one option, and which of them have matched something in the model so far. One that
/// matches nothing is usually misspelt; the warning suggests the nearest name.
class WantedNames {
 public:
  /// @param option the option's name, for messages  @param things what its values name: "module", "parameter"
  WantedNames(std::string option, std::string things, const Strings& names)
      : option_(std::move(option)), things_(std::move(things)) {
    for (const std::string& name : names) names_.push_back({name});
  }

  bool empty() const { return names_.empty(); }
  /// Whether `fits(name)` holds for any. Tests all names, so that each match is noted.
  template <class Fits>
  bool match(Fits&& fits) {
    bool any = false;
    for (Name& name : names_) {
      if (!fits(name.text)) continue;
      name.settled = true;
      any = true;
    }
    return any;
  }
  /// Adds a known name, for suggestions.
  void offer(const std::string& known) {
    if (!names_.empty()) known_.insert(known);
  }

  /// Warns, once, of the names that have matched nothing; returns whether there were any.
  bool warn(const Host& host) {
    bool any = false;
    for (Name& name : names_) {
      if (name.settled) continue;
      name.settled = any = true;
      const std::string meant = nearest(name.text, {known_.begin(), known_.end()});
      host.warn("no " + things_ + " fits '" + name.text + "' given in " + option_ +
                (meant.empty() ? there_are() : "; did you mean '" + meant + "'?"));
    }
    known_.clear();
    return any;
  }

 private:
  /// The first known names; types sort before the names of most models.
  std::string there_are() const {
    constexpr std::size_t most = 12;
    std::string list;
    std::size_t count = 0;
    for (const std::string& each : known_) {
      if (each.empty()) continue;
      if (count++ < most) list += (list.empty() ? "; there are: " : ", ") + each;
    }
    return count > most ? list + ", and " + std::to_string(count - most) + " more" : list;
  }

  struct Name {
    std::string text;
    bool settled = false;  ///< it has matched something, or the user was warned
  };

  std::string option_, things_;
  std::vector<Name> names_;
  std::set<std::string> known_;
};

}  // namespace v1_0
}  // namespace loupe
