#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace loupe {

/// How long a lock's text is at most, in bytes: names of machines are short.
inline constexpr std::size_t longest_run_lock = 512;

/// The process that holds a run's folder, as the folder's lock names it.
struct RunHolder {
  int process = 0;      ///< 0 where the lock does not say
  std::string host;     ///< the machine's name, for people; empty in locks of earlier versions
  std::string machine;  ///< tells machines, their starts and sets of process numbers apart; may be empty

  static RunHolder this_process();
  /// Reads what text() wrote; a text of any other form gives no process.
  static RunHolder in(std::string_view text);
  std::string text() const;

  /// Whether its number means the same process to this one.
  bool is_of_this_machine() const;
  /// "process 12", "process 12 on trainbox"; "another run" where the lock does not say.
  std::string in_words() const;
};

}  // namespace loupe
