#pragma once

#include <cstdint>
#include <string>

namespace loupe::health {

/// What is wrong with what a loss function was given.
struct LossFault {
  enum class Kind {
    none,
    distribution,     ///< a cross entropy, probabilities
    one_class,        ///< a cross entropy, one score a sample
    broadcast,        ///< an elementwise loss, an input that is repeated to fit the target
    target_repeated,  ///< and a target that is repeated to fit the input
    no_logarithms,    ///< a loss that takes logarithms of probabilities, something else
    bounded,          ///< a loss that takes scores, the output of a bounded function
    rectified,        ///< the same, of a rectifier
    swapped           ///< the target where the input belongs
  };
  Kind kind = Kind::none;
  const char* function = "";  ///< "mse_loss"
  std::string given;          ///< what it was given, for a sentence
  double floor = 0;           ///< bounded: what the loss cannot fall below; 0 where that is not known
};

}  // namespace loupe::health
