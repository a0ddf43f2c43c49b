#pragma once

#include <loupe/finding.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "zoo/trainer.h"

namespace zoo {

/// How one run of a trainer ended.
struct Outcome {
  std::string rule, architecture;
  std::uint64_t seed = 0;
  bool planted = false;
  bool caught = false;       ///< its own rule was told, in time; of a healthy run: was told at all
  bool layer_right = false;  ///< of the right layer, or of any where the fault concerns no one layer
  std::optional<std::uint64_t> step = std::nullopt;   ///< when its own rule was told
  std::vector<loupe::Finding> own = {}, others = {};  ///< of its own rule, and of all others
  double first_loss = 0, last_loss = 0;               ///< of the first and last few steps; NaN where it tells none
  std::string failure = {};                           ///< why training broke off

  /// A planted fault is caught in the right layer, or a healthy run learns and has nothing told of it.
  bool is_right() const;
  bool learns() const;
};

/// @param told  all findings of the run; notes among them count for nothing
Outcome judge(const Trainer& trainer, std::uint64_t seed, bool planted, const std::vector<loupe::Finding>& told,
              const std::vector<double>& losses);

/// A line a run, what was told wrongly or not at all under it, and precision and recall at the end.
void print_table(const std::vector<Outcome>& outcomes, std::ostream& out);

/// An array with an object a run.
void print_json(const std::vector<Outcome>& outcomes, std::ostream& out);

}  // namespace zoo
