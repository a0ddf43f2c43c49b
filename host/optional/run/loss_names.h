#pragma once

#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// Names the losses of a program by the places in its code that they come from, in the order in which these are first
/// reached: a loss whose gradients are summed over several batches stays one. One thread at a time.
class LossNames {
 public:
  /// @param first  the name of the first loss; the others are "first#2", …  @param given  names to use before these;
  /// "-" leaves a loss out
  LossNames(std::string first, std::vector<std::string> given) : first_(std::move(first)), given_(std::move(given)) {}

  struct Named {
    std::string name;     ///< empty if it is left out
    bool is_main;         ///< the first loss that is not left out
    bool is_new = false;  ///< the place was not known before
  };
  /// @param place  a return address, only to compare with
  Named of(const void* place);
  std::size_t count() const { return places_.size(); }
  bool knows(const void* place) { return find(place) != places_.end(); }
  /// Losses from `place` belong to the loss of `other`.
  void join(const void* place, const void* other) { joined_.emplace_back(place, other); }
  /// Whether the loss of this place would be named by its number, because no name was given for it.
  bool is_numbered(const void* place);
  /// Names the loss of this place; "name#2", … if another loss has that name.
  std::string call(const void* place, const std::string& name);

 private:
  static constexpr std::size_t most_places = 32;
  std::string first_;
  std::vector<std::string> given_;
  struct Place {
    const void* address;
    std::string name;
  };
  std::vector<Place>::iterator find(const void* place);
  std::vector<Place> places_;
  std::vector<std::pair<const void*, const void*>> joined_;  // a place, and the place whose loss it has
};

}  // namespace loupe
