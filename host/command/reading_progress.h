#pragma once

#include <cstddef>
#include <string>

#include "record/record_line.h"

namespace loupe {

/// Says in a line of its own, on a terminal at standard error, how far the reading of records is, once it takes more
/// than a second. The line goes with this. One at a time, while nothing else is written there.
class ReadingProgress {
 public:
  /// @param records how many there are  @param shown false where something else writes to the terminal meanwhile
  explicit ReadingProgress(std::size_t records, bool shown = true);
  ~ReadingProgress() { clear(); }
  ReadingProgress(const ReadingProgress&) = delete;
  ReadingProgress& operator=(const ReadingProgress&) = delete;

  /// There are so many more.
  void expect(std::size_t more) { records_ += more; }
  /// The next record is read from now on.
  void begin(const std::string& record);
  /// A line of it.
  void take(const replay::RecordLine& line);
  /// Makes room for what others write.
  void clear();

 private:
  void draw(double now);

  std::size_t records_, record_number_ = 0, lines_ = 0;
  std::string record_;
  double epoch_ = 0, begun_, drawn_ = 0;  // seconds
  bool shown_, stands_ = false;
};

}  // namespace loupe
