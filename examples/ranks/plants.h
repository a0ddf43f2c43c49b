#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ranks/trainer.h"

namespace examples {

/// A trainer in which one thing is different from the healthy one.
struct Plant {
  std::string name;
  std::string about;    ///< what is different, for people
  std::string twin_of;  ///< the fault that it resembles, where it is healthy; empty for a fault
  std::function<std::unique_ptr<Trainer>(Group& group, const std::string& data)> trainer;
};

/// What goes wrong where many processes train one model.
std::vector<Plant> faults();
/// What is done on purpose, looks like one of the faults, and must not be taken for it.
std::vector<Plant> healthy_twins();

/// For the lists of both.
template <class Changed>
Plant plant(std::string name, std::string about, std::string twin_of = "") {
  return {std::move(name), std::move(about), std::move(twin_of),
          [](Group& group, const std::string& data) { return std::make_unique<Changed>(group, data); }};
}

}  // namespace examples
