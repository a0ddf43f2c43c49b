#pragma once

#include <loupe/files/compression.h>
#include <loupe/files/descriptor.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace loupe {
inline namespace v1_0 {

/// One line that an earlier run left in a file.
struct OldLine {
  std::string text;             ///< with its line end
  std::optional<double> epoch;  ///< none for a line outside epochs, for example a heading
  bool closes_epoch = false;    ///< its epoch is complete
  bool stands_alone = false;    ///< valid without the rest of its epoch, for example a finding
};

/// Reads the next whole line; false at the file's end, also if the last line is cut off; then `text` has its beginning.
using ReadOldLine = std::function<bool(std::istream&, OldLine&)>;

/// The part of an earlier run's file that a run continues from some epoch on: everything up to the last complete epoch
/// before that one, so that curves do not overlap, and later lines that are valid alone.
class OlderEpochs {
 public:
  /// @param compression  how the file is compressed, null if it is not. Throws std::system_error if it cannot be read.
  OlderEpochs(const std::filesystem::path& file, const Compression* compression, double first_epoch, ReadOldLine read)
      : file_(file), compression_(compression), first_(first_epoch), read_(std::move(read)) {
    const std::unique_ptr<std::istream> input = open();
    OldLine line;
    bool later = false, within = false;  // within an epoch that is not yet complete
    while (next(*input, line)) {
      read_bytes_ += line.text.size();
      const bool alone = line.stands_alone && !within;
      if (stays(line) ? line.closes_epoch || alone : alone && !later) {
        kept_bytes_ = read_bytes_;
        later_inside_ = later;
        within = false;
      } else if (!stays(line)) {
        later = true;
      } else {
        within = within || line.epoch;
      }
    }
    has_later_ = later;
    cut_off_ = input->bad() || !line.text.empty();
  }

  bool empty() const { return kept_bytes_ == 0; }
  /// Whether the file can be appended to without changes.
  bool is_whole() const { return kept_bytes_ == read_bytes_ && !cut_off_ && !later_inside_; }
  /// For the user: what is removed.
  std::string left_out() const {
    std::string text;
    if (has_later_) text = "later epochs";
    if (cut_off_)
      text += std::string(text.empty() ? "" : " and ") +
              (compression_ != nullptr ? "a part that was cut off or is damaged" : "a last line that was cut off");
    return text.empty() ? "an unfinished epoch" : text;
  }
  /// Passes on everything that is kept, in pieces. Throws std::system_error if the file cannot be read.
  template <class Write>
  void copy(Write&& write) const {
    constexpr std::size_t piece = std::size_t{1} << 20;
    const std::unique_ptr<std::istream> input = open();
    std::string text;
    std::uintmax_t bytes = 0;
    if (later_inside_) {
      for (OldLine line; bytes < kept_bytes_ && next(*input, line);) {
        bytes += line.text.size();
        if (stays(line)) text += line.text;
        if (text.size() < piece) continue;
        write(text);
        text.clear();
      }
    } else {
      for (; bytes < kept_bytes_ && *input; bytes += text.size()) {
        text.resize(static_cast<std::size_t>(std::min<std::uintmax_t>(piece, kept_bytes_ - bytes)));
        input->read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<std::size_t>(input->gcount()));
        write(text);
      }
      text.clear();
    }
    write(text);
    if (bytes != kept_bytes_) throw std::system_error(EIO, std::generic_category());
  }

 private:
  std::unique_ptr<std::istream> open() const {
    if (compression_ != nullptr) return compression_->open(file_);
    auto input = std::make_unique<std::ifstream>(file_, std::ios::binary);
    if (!*input) throw last_error();
    return input;
  }
  bool next(std::istream& input, OldLine& line) const {
    const bool read = read_(input, line);
    if (input.bad() && compression_ == nullptr) throw std::system_error(EIO, std::generic_category());
    return read;
  }
  bool stays(const OldLine& line) const { return !line.epoch || *line.epoch < first_; }

  std::filesystem::path file_;
  const Compression* compression_;
  double first_;
  ReadOldLine read_;
  std::uintmax_t read_bytes_ = 0, kept_bytes_ = 0;  // of its text
  bool later_inside_ = false, has_later_ = false, cut_off_ = false;
};

/// The text before epochs that are written together. The caller keeps the texts, which may be long, until the call
/// returns.
struct Preamble {
  std::string_view fresh;   ///< for an empty file
  std::string_view joined;  ///< once, after an earlier run's lines
  std::string_view more;    ///< after this run's own epochs
  /// Makes the line about lost epochs, before the first written one; may be empty.
  std::function<std::string(const std::string& lost, double next)> lost = {};
};

/// Epochs that are not yet written.
class WaitingEpochs {
 public:
  void add(double epoch, std::string text) {
    bytes_ += text.size();
    epochs_.push_back({epoch, std::move(text)});
  }
  /// Drops the oldest epochs beyond 64 MiB. Returns whether they are the first to be lost.
  bool trim() {
    const bool was_whole = lost_.empty();
    while (bytes_ > most_bytes && epochs_.size() > 1) lose_first();
    return was_whole && !lost_.empty();
  }
  void clear() {
    epochs_.clear();
    bytes_ = 0;
    lost_.clear();
  }
  bool empty() const { return epochs_.empty(); }
  double first() const { return epochs_.front().number; }
  // For the user: the waiting epochs, the lost ones ("" if none), and both.
  std::string span() const { return in_words(first(), epochs_.back().number); }
  const std::string& lost() const { return lost_; }
  std::string lost_and_waiting() const {
    return in_words(lost_.empty() ? first() : first_lost_, epochs_.back().number);
  }
  /// The line about lost epochs, which each_text passes first.
  void put_first(const std::function<std::string(const std::string&, double)>& lost_line) {
    lost_line_ = !lost_.empty() && lost_line ? lost_line(lost_, first()) : "";
  }
  template <class Take>
  void each_text(Take&& take) const {
    if (!lost_line_.empty()) take(lost_line_);
    for (const Epoch& epoch : epochs_) take(epoch.text);
  }

 private:
  struct Epoch {
    double number;
    std::string text;
  };
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  void lose_first() {
    if (lost_.empty()) first_lost_ = first();
    lost_ = in_words(first_lost_, first());
    bytes_ -= epochs_.front().text.size();
    epochs_.pop_front();
  }
  static std::string in_words(double first, double last) {
    if (first == last) return "epoch " + number_text(first);
    return "the data of epochs " + number_text(first) + " to " + number_text(last);
  }

  std::deque<Epoch> epochs_;
  std::size_t bytes_ = 0;
  std::string lost_, lost_line_;
  double first_lost_ = 0;
};

}  // namespace v1_0
}  // namespace loupe
