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
  bool caught = false;       ///< the expected rule was reported, in time; for a healthy run: was reported at all
  bool layer_right = false;  ///< in an expected layer, or in any if the fault concerns no specific layer
  std::optional<std::uint64_t> step = std::nullopt;   ///< first step that the expected rule reported
  std::vector<loupe::Finding> own = {}, others = {};  ///< findings of the expected rule, and of all others
  double first_loss = 0, last_loss = 0;               ///< means over the first and last few steps; NaN without losses
  std::string failure = {};                           ///< the error that ended training early

  /// A planted fault is caught in the right layer, or a healthy run learns and has no findings.
  bool is_right() const;
  bool learns() const;
};

/// @param told  all findings of the run; notes among them are ignored
Outcome judge(const Trainer& trainer, std::uint64_t seed, bool planted, const std::vector<loupe::Finding>& told,
              const std::vector<double>& losses);

/// Prints one line per run, the wrong and missed findings of a run under it, and precision and recall at the end.
void print_table(const std::vector<Outcome>& outcomes, std::ostream& out);

/// Prints an array with one object per run.
void print_json(const std::vector<Outcome>& outcomes, std::ostream& out);

}  // namespace zoo
