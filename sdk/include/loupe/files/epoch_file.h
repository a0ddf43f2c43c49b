#pragma once

#include <loupe/files/compression.h>
#include <loupe/files/older_epochs.h>
#include <loupe/files/output_path.h>
#include <loupe/files/replacement.h>
#include <loupe/host.h>
#include <loupe/text/number_text.h>
#include <loupe/visualizer.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace loupe {
inline namespace v1_0 {

/// A text file that grows by whole epochs. The file is opened for each epoch, so that a file that was moved, emptied or
/// deleted is noticed. Epochs that could not be written are kept in memory, up to 64 MiB, and written together with the
/// next; a warning and a line in the file name lost ones. With a compression, a long file is replaced by a compressed
/// one, to which each write adds a member.
class EpochFile {
 public:
  /// @param read how to read an earlier run's lines  @param sync whether to wait for the disk at each epoch
  EpochFile(OutputPath path, bool sync, ReadOldLine read, const Host& host,
            const std::optional<Compression>& compression = std::nullopt)
      : path_(std::move(path)), sync_(sync), read_(std::move(read)), host_(host), compression_(compression) {}

  /// Warns the user at once if the file cannot be written. That is not yet a failure: epochs are kept until it can be.
  void begin(const Run& run) {
    const std::filesystem::path file = path_.in(run);
    begin(run, file);
    // Compressing would remove the file that a link names, and break the link.
    stays_plain_ = stays_plain_ || file != path_.named_in(run.directory);
  }
  void begin(const Run& run, const std::filesystem::path& file) {
    resumed_ = (run.flags & LOUPE_RUN_RESUMED) != 0;
    name_ = file;
    file_ = resumed_ && compression_ ? text_file_at(file) : file;
    stays_plain_ = !compression_;
    start_time_ = run.start_time;
    started_ = false;
    kept_.clear();
    waiting_.clear();
    try {
      check_writable(file_);
    } catch (const std::system_error& reason) {
      host_.warn(cannot_write(file_, reason, "epochs are kept in memory until it can be written").what());
    }
  }

  /// Writes an epoch and the waiting ones. Throws Error if that fails; then the file has none of them.
  void write(double epoch, std::string text, const Preamble& preamble) {
    waiting_.add(epoch, std::move(text));
    try {
      write_waiting(preamble);
    } catch (const std::system_error& reason) {
      patience_ms_ = reason.code() == std::errc::resource_unavailable_try_again ? 0 : output_patience_ms;
      const bool loses = waiting_.trim();
      const std::string lost = waiting_.lost().empty() ? "" : waiting_.lost() + " is lost, ";
      const Error error =
          cannot_write(file_, reason, lost + waiting_.span() + " is kept in memory until the file can be written");
      if (loses) host_.warn(std::string(error.what()) + "; no more than 64 MiB are kept");
      throw error;
    }
  }

  /// Tries a last time to write the waiting epochs. Throws Error if they are lost.
  void end(const Preamble& preamble) {
    if (waiting_.empty()) return;
    try {
      write_waiting(preamble);
    } catch (const std::system_error& reason) {
      const std::string lost = waiting_.lost_and_waiting();
      waiting_.clear();
      throw cannot_write(file_, reason, lost + " is lost");
    }
  }

 private:
  void write_waiting(const Preamble& preamble) {
    waiting_.put_first(preamble.lost);
    if (started_) {
      append(preamble.more, preamble.fresh);
    } else {
      start(preamble);
    }
    started_ = true;
    if (!waiting_.lost().empty())
      host_.warn("'" + file_.string() + "' can be written again, but " + waiting_.lost() + " is lost");
    waiting_.clear();
    patience_ms_ = output_patience_ms;
    if (is_long()) compress();
  }

  bool is_compressed() const { return compression_ && is_compressed_name(file_); }
  bool is_long() const {
    std::error_code none;
    return !stays_plain_ && !is_compressed() && std::filesystem::is_regular_file(file_, none) &&
           std::filesystem::file_size(file_, none) >= compression_->long_size;
  }

  /// Continues with a compressed file; with the plain one if that cannot be written.
  void compress() {
    const std::filesystem::path compressed = compressed_name(file_);
    try {
      keep_other();
      compress_file(file_, *compression_);
      host_.info("'" + file_.string() + "' has become long and is now compressed as '" + compressed.string() + "'");
      file_ = compressed;
    } catch (const std::system_error& reason) {
      stays_plain_ = true;
      host_.warn(cannot_write(compressed, reason, "'" + file_.string() + "' continues without compression").what());
    }
  }

  /// The text is under one of two names; keeps another file under the other name out of it.
  void keep_other() const {
    const std::filesystem::path other = file_ == name_ ? compressed_name(name_) : name_;
    std::error_code none;
    if (compression_ && other != file_ && std::filesystem::is_regular_file(other, none)) keep_older(other, start_time_);
  }

  template <class Write>
  void put(std::string_view head, Write&& write) const {
    if (!is_compressed()) {
      write(head);
      return waiting_.each_text(write);
    }
    std::string before(head);
    waiting_.each_text([&](const std::string& text) {
      compression_->write_members(before + text, write);
      before.clear();
    });
  }

  void start(const Preamble& preamble) {
    for (const std::filesystem::path& each : {name_, compressed_name(name_)})
      NewFile::remove_left_behind(each.parent_path(), each.filename().string());
    keep_other();
    if (!resumed_ || !std::filesystem::is_regular_file(file_)) return replace(preamble.fresh, nullptr);
    const OlderEpochs older(file_, is_compressed() ? &*compression_ : nullptr, waiting_.first(), read_);
    if (older.is_whole() && !older.empty()) return append(preamble.joined, preamble.fresh);
    replace(older.empty() ? preamble.fresh : preamble.joined, &older);
    if (kept_.empty()) return;
    const double first = waiting_.first();
    host_.warn("'" + file_.string() + "' had " + older.left_out() + "; it now continues " +
               (std::isinf(first) ? "without" : "from epoch " + number_text(first)) +
               ", and the complete earlier file is kept as '" + kept_.string() + "'");
  }

  void replace(std::string_view head, const OlderEpochs* older) {
    Replacement replacement(file_);
    if (older != nullptr) {
      older->copy([&](const std::string& text) {
        if (is_compressed())
          return compression_->write_members(text, [&](const std::string& member) { replacement.write(member); });
        replacement.write(text);
      });
    }
    put(head, [&](std::string_view text) { replacement.write(text); });
    // Never lose the records of an earlier run.
    if (older != nullptr && kept_.empty() && std::filesystem::file_size(file_) > 0)
      kept_ = keep_replaced(file_, start_time_);
    replacement.commit(sync_);
  }

  void append(std::string_view head, std::string_view fresh) {
    make_folder_of(file_);
    const Descriptor output(file_, O_WRONLY | O_APPEND | O_CREAT);
    const struct stat before = output.status();
    const bool regular = S_ISREG(before.st_mode);
    try {
      put(regular && before.st_size == 0 ? fresh : head,
          [&](std::string_view text) { write_all(output.get(), text, patience_ms_); });
      if (sync_) output.sync();
    } catch (const std::system_error&) {
      // Remove a half-written epoch, which would damage the following ones.
      if (regular && ::ftruncate(output.get(), before.st_size) != 0) throw last_error();
      throw;
    }
  }

  OutputPath path_;
  bool sync_;
  ReadOldLine read_;
  Host host_;
  std::optional<Compression> compression_;
  std::filesystem::path name_, file_, kept_;  // as named, as it is now, and the kept file of an earlier run
  double start_time_ = 0;
  bool resumed_ = false, started_ = false, stays_plain_ = true;
  WaitingEpochs waiting_;
  int patience_ms_ = output_patience_ms;  // only the first write waits for a pipe that nobody reads
};

}  // namespace v1_0
}  // namespace loupe
