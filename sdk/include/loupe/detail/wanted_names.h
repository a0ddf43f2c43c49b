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

/// Whether `name` is `glob`, in which * stands for any letters, ? for one, and [3-5] for one of those.
inline bool fits_glob(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

/// The names that a user gave in one option, and which of them something in the model has fitted so far: one that fits
/// nothing is misspelt more often than not, and then told with the name nearest to it.
class WantedNames {
 public:
  /// @param option its name, for the user  @param things what it names: "module", "parameter"
  WantedNames(std::string option, std::string things, const Strings& names)
      : option_(std::move(option)), things_(std::move(things)) {
    for (const std::string& name : names) names_.push_back({name});
  }

  bool empty() const { return names_.empty(); }
  /// Whether `fits(name)` holds for any; it is asked of each, so that none counts as unmatched for another's sake.
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
  /// Something that a name might have meant.
  void offer(const std::string& known) {
    if (!names_.empty()) known_.insert(known);
  }

  /// Tells, once, the names that nothing has fitted; gives whether there were any.
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
  /// The first of what could have been named; types sort before the names of most models.
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
    bool settled = false;  ///< something has fitted it, or it was told
  };

  std::string option_, things_;
  std::vector<Name> names_;
  std::set<std::string> known_;
};

}  // namespace v1_0
}  // namespace loupe
