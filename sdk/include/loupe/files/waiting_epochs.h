#pragma once

#include <loupe/text/number_text.h>

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

namespace loupe {
inline namespace v1_0 {

/// Epochs that are not written yet, up to 64 MiB of them; then the oldest are lost.
class WaitingEpochs {
 public:
  void add(double epoch, std::string text) {
    bytes_ += text.size();
    epochs_.push_back({epoch, std::move(text)});
    while (bytes_ > most_bytes && epochs_.size() > 1) lose_first();
  }
  void clear() {
    epochs_.clear();
    bytes_ = 0;
    lost_.clear();
  }
  bool empty() const { return epochs_.empty(); }
  double first() const { return epochs_.front().number; }
  /// For the user: the epochs that wait, and those that were lost; "" where none was.
  std::string span() const { return in_words(first(), epochs_.back().number); }
  const std::string& lost() const { return lost_; }
  template <class Take>
  void each_text(Take&& take) const {
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
    return "what epochs " + number_text(first) + " to " + number_text(last) + " brought";
  }

  std::deque<Epoch> epochs_;
  std::size_t bytes_ = 0;
  std::string lost_;
  double first_lost_ = 0;
};

}  // namespace v1_0
}  // namespace loupe
