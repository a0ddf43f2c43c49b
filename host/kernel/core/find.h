#pragma once

#include "core/part.h"

namespace YAML {
class Node;
}

namespace loupe {

class Diagnostics;
class FoundValues;

/// The table of the part `run` by which an inspector gets losses that its trainer does not push.
struct FindTable {
  static constexpr Part part = Part::run;
  static constexpr const char* without = "losses are not found; push them";
  /// From now on passes on the losses of the program. Call it without the inspector's mutex, like `forget`.
  void (*find)(FoundValues& values);
  void (*forget)(const FoundValues& values);
  /// Checks the section `run_program` of a configuration.
  void (*check)(const YAML::Node& section, Diagnostics& diagnostics);
};

}  // namespace loupe
