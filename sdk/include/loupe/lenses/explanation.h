#pragma once

#include <loupe/report.h>

#include <string>

namespace loupe {
inline namespace v1_0 {

/// What a plot means, for people who see it for the first time, each a sentence or two: what it is, with its formula;
/// what is healthy; what to do when it is not.
struct Explanation {
  std::string description = {}, healthy = {}, advice = {};
};

/// The style with those words.
inline TagStyle explained(TagStyle style, const Explanation& words) {
  style.description = words.description;
  style.healthy = words.healthy;
  style.advice = words.advice;
  return style;
}

/// Of a plot in which each layer has a share. @param what such as "output norm"
inline Explanation share_explained(const std::string& what) {
  return {
      "Each layer's " + what + " as a share of the sum over all layers; the shares add up to 1.",
      "The shares settle after the first epochs, and no layer takes nearly all.",
      "A share that grows towards 1 is of a layer that runs away: look at its own plot, and lower the learning rate "
      "or normalize."};
}

/// The sentence that a norm's description ends with where it is divided by its size.
inline std::string size_explained(bool normalized) {
  return normalized ? " Divided by the square root of the number of elements, so that layers of different size compare."
                    : "";
}

}  // namespace v1_0
}  // namespace loupe
