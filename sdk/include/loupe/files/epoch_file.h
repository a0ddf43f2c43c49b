#ifndef LOUPE_FILES_EPOCH_FILE_H
#define LOUPE_FILES_EPOCH_FILE_H

#include <loupe/files/older.h>
#include <loupe/files/older_epochs.h>
#include <loupe/files/replacement.h>
#include <loupe/host.h>
#include <loupe/number_text.h>
#include <loupe/visualizer.h>

#include <cmath>
#include <deque>
#include <filesystem>
#include <string>
#include <utility>

namespace loupe {

/// What goes before the epochs that are written together.
struct Preamble {
  std::string fresh;   ///< into a file that holds nothing
  std::string joined;  ///< once, behind what an earlier run left
  std::string more;    ///< behind this run's own epochs
};

/// A text file that grows by whole epochs. The file is opened for each of them, so that one that was moved, emptied or
/// deleted is noticed; epochs that could not be written are kept in memory and written together with the next.
class EpochFile {
 public:
  /// @param read how to read what an earlier run left  @param sync whether to wait for the disk at each epoch
  EpochFile(OutputPath path, bool sync, ReadOldLine read, const Host& host)
      : path_(std::move(path)), sync_(sync), read_(std::move(read)), host_(host) {}

  /// Warns the user at once when the file cannot be written. That is no failure yet: epochs are kept until it can be.
  void begin(const Run& run) { begin(run, path_.in(run)); }
  void begin(const Run& run, const std::filesystem::path& file) {
    file_ = file;
    resumed_ = (run.flags & LOUPE_RUN_RESUMED) != 0;
    start_time_ = run.start_time;
    started_ = false;
    kept_.clear();
    waiting_.clear();
    waiting_bytes_ = 0;
    lost_.clear();
    try {
      check_writable(file_);
    } catch (const std::system_error& reason) {
      host_.warn(cannot_write(file_, reason, "epochs are kept in memory until it can be").what());
    }
  }

  /// Writes an epoch, and those that wait. Throws Error when that fails; nothing of them is then in the file.
  void write(double epoch, std::string text, const Preamble& preamble) {
    waiting_bytes_ += text.size();
    waiting_.push_back({epoch, std::move(text)});
    while (waiting_bytes_ > most_waiting_bytes && waiting_.size() > 1) lose_first();
    try {
      write_waiting(preamble);
    } catch (const std::system_error& reason) {
      const std::string lost = lost_.empty() ? "" : lost_ + " is lost, ";
      throw cannot_write(file_, reason, lost + span() + " is kept in memory and written as soon as the file can be");
    }
  }

  /// The last chance of what waits. Throws Error when it is lost.
  void end(const Preamble& preamble) {
    if (waiting_.empty()) return;
    try {
      write_waiting(preamble);
    } catch (const std::system_error& reason) {
      const std::string lost = span();
      waiting_.clear();
      throw cannot_write(file_, reason, lost + " is lost");
    }
  }

 private:
  struct Epoch {
    double number;
    std::string text;
  };
  static constexpr std::size_t most_waiting_bytes = std::size_t{64} << 20;

  void lose_first() {
    if (lost_.empty()) first_lost_ = waiting_.front().number;
    lost_ = epochs(first_lost_, waiting_.front().number);
    waiting_bytes_ -= waiting_.front().text.size();
    waiting_.pop_front();
  }
  static std::string epochs(double first, double last) {
    if (first == last) return "epoch " + number_text(first);
    return "what epochs " + number_text(first) + " to " + number_text(last) + " brought";
  }
  std::string span() const { return epochs(waiting_.front().number, waiting_.back().number); }

  void write_waiting(const Preamble& preamble) {
    if (started_) {
      append(preamble.more, preamble.fresh);
    } else {
      start(preamble);
    }
    started_ = true;
    waiting_.clear();
    waiting_bytes_ = 0;
    lost_.clear();
  }

  void start(const Preamble& preamble) {
    if (!resumed_ || !std::filesystem::is_regular_file(file_)) return replace(preamble.fresh, nullptr);
    const OlderEpochs older(file_, waiting_.front().number, read_);
    if (older.is_whole() && !older.empty()) return append(preamble.joined, preamble.fresh);
    replace(older.empty() ? preamble.fresh : preamble.joined, &older);
    if (kept_.empty()) return;
    const double first = waiting_.front().number;
    host_.warn("'" + file_.string() + "' had " + older.left_out() + "; it now continues " +
               (std::isinf(first) ? "without" : "from epoch " + number_text(first)) +
               ", and the complete earlier file is kept as '" + kept_.string() + "'");
  }

  void replace(const std::string& head, const OlderEpochs* older) {
    Replacement replacement(file_);
    if (older != nullptr) older->copy([&](const std::string& text) { replacement.write(text); });
    replacement.write(head);
    for (const Epoch& epoch : waiting_) replacement.write(epoch.text);
    // What an earlier run recorded is never lost.
    if (older != nullptr && kept_.empty() && std::filesystem::file_size(file_) > 0)
      kept_ = keep_replaced(file_, start_time_);
    replacement.commit(sync_);
  }

  void append(const std::string& head, const std::string& fresh) {
    make_folder_of(file_);
    const Descriptor output(file_, O_WRONLY | O_APPEND | O_CREAT);
    const struct stat before = output.status();
    const bool regular = S_ISREG(before.st_mode);
    try {
      write_all(output.get(), regular && before.st_size == 0 ? fresh : head);
      for (const Epoch& epoch : waiting_) write_all(output.get(), epoch.text);
      if (sync_) output.sync();
    } catch (const std::system_error&) {
      // Half an epoch would stand in the way of those that follow.
      if (regular && ::ftruncate(output.get(), before.st_size) != 0) throw last_error();
      throw;
    }
  }

  OutputPath path_;
  bool sync_;
  ReadOldLine read_;
  Host host_;
  std::filesystem::path file_;
  double start_time_ = 0;
  std::filesystem::path kept_;  // what the earlier run left, where not all of it stays
  bool resumed_ = false, started_ = false;
  std::deque<Epoch> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::string lost_;
  double first_lost_ = 0;
};

}  // namespace loupe

#endif
