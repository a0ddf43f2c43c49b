#pragma once

#include <loupe/draft/last_words.h>

#include <filesystem>
#include <optional>

namespace loupe::record {

/// The "end" line of a record for a process that ends in a signal handler. It is prepared in advance, and discarded if
/// the run ends in a different way.
class LastWords {
 public:
  explicit LastWords(const Host& host);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  /// @param record  its absolute path; the file may be compressed later  @param epoch  the record's last epoch
  void prepare(const std::filesystem::path& record, double epoch);
  void take_back();

 private:
  struct Place* place_ = nullptr;  // null if there are too many objects: this one writes nothing
  std::optional<draft::LastWords> told_;
};

}  // namespace loupe::record
