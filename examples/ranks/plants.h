#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ranks/trainer.h"

namespace examples {

/// A trainer with one difference from the healthy one.
struct Plant {
  std::string name;
  std::string about;    ///< the difference, for people
  std::string twin_of;  ///< the fault that a healthy twin resembles; empty for a fault
  std::function<std::unique_ptr<Trainer>(Group& group, const std::string& data)> trainer;
};

/// Faults that occur when many processes train one model.
std::vector<Plant> faults();
/// Healthy trainers that people write on purpose, which resemble the faults and must not be reported.
std::vector<Plant> healthy_twins();

/// Makes an entry of both lists.
template <class Changed>
Plant plant(std::string name, std::string about, std::string twin_of = "") {
  return {std::move(name), std::move(about), std::move(twin_of),
          [](Group& group, const std::string& data) { return std::make_unique<Changed>(group, data); }};
}

}  // namespace examples
