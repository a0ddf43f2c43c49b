#pragma once

#include <loupe/host.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>

namespace loupe::tensorboard {

/// `message` in the frame of TensorFlow's record files: its length, the message, and a masked CRC32C of each.
std::string framed(const std::string& message);

/// A file of events that grows by whole ticks and never ends within a record. Events that cannot be written wait in
/// memory, up to 64 MiB, and are written with the next tick.
class EventFile {
 public:
  /// Creates no file yet. @param folder the folder for "events.out.tfevents.TIME.HOST.PID.loupe"
  EventFile(std::filesystem::path folder, const Host& host);

  const std::filesystem::path& folder() const { return folder_; }
  /// Adds a summary to the tick.
  void add_summary(std::int64_t step, const std::string& summary);
  /// Marks that a process begins at `step`: TensorBoard then drops earlier events of this step and later ones.
  void add_start(std::int64_t step);
  /// Writes the tick and the waiting ones. Throws Error if that fails; the file then contains nothing of them.
  void write();

 private:
  void open();
  void append();

  std::filesystem::path folder_, file_;
  Host host_;
  std::string tick_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::size_t lost_ = 0;  // the number of lost ticks
};

}  // namespace loupe::tensorboard
