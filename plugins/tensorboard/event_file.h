#pragma once

#include <loupe/host.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>

namespace loupe::tensorboard {

/// `message` framed as TensorFlow's record files have it: its length, itself, and a masked CRC32C of each.
std::string framed(const std::string& message);

/// A file of events that grows by whole ticks and is never left with half a record. What cannot be written waits in
/// memory, up to 64 MiB, and goes out with the next tick.
class EventFile {
 public:
  /// Makes no file yet. @param folder where "events.out.tfevents.TIME.HOST.PID.loupe" belongs
  EventFile(std::filesystem::path folder, const Host& host);

  const std::filesystem::path& folder() const { return folder_; }
  /// Adds a summary to the tick, with the current time.
  void add_summary(std::int64_t step, const std::string& summary);
  /// Adds the mark that a process begins at `step`: TensorBoard then forgets what the files before hold of it and
  /// later.
  void add_start(std::int64_t step);
  /// Writes the tick and those that wait. Throws Error when that fails; nothing of them is then in the file.
  void write();

 private:
  void open();
  void append();

  std::filesystem::path folder_, file_;
  Host host_;
  std::string tick_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::size_t lost_ = 0;  // ticks
};

}  // namespace loupe::tensorboard
