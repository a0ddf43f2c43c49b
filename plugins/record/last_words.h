#pragma once

#include <loupe/draft/last_words.h>

#include <filesystem>
#include <optional>

namespace loupe::record {

/// The last line of a record, of the kind "end", for a process that ends in a signal handler: prepared in advance, and
/// discarded if the run ends in another way.
class LastWords {
 public:
  explicit LastWords(const Host& host);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  /// @param record  its absolute path; it may be compressed by now  @param epoch  the last one in it
  void prepare(const std::filesystem::path& record, double epoch);
  void take_back();

 private:
  struct Place* place_ = nullptr;  // null where there are too many: this one goes without
  std::optional<draft::LastWords> told_;
};

}  // namespace loupe::record
