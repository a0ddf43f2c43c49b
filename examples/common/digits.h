#pragma once

#include <torch/torch.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace examples {

/// Images are {count, 1, 8, 8} floats in 0..1, labels are {count} in 0..9.
struct Digits {
  torch::Tensor images, labels;

  int64_t count() const { return labels.size(0); }
  Digits at(const torch::Tensor& indices) const {
    return {images.index_select(0, indices), labels.index_select(0, indices)};
  }
};

/// Reads data/digits.csv, or a file of the same form. Throws std::runtime_error with the file and the line.
inline Digits load_digits(const std::string& path) {
  constexpr int64_t pixels = 64;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read the digits from '" + path + "'; name the file with --data");
  std::vector<float> images;
  std::vector<int64_t> labels;
  std::string line;
  while (std::getline(file, line)) {
    std::vector<float> numbers;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) numbers.push_back(std::stof(field));
    if (numbers.size() != pixels + 1) {
      throw std::runtime_error(path + ":" + std::to_string(labels.size() + 1) + ": expected 65 numbers, found " +
                               std::to_string(numbers.size()));
    }
    images.insert(images.end(), numbers.begin(), numbers.end() - 1);
    labels.push_back(static_cast<int64_t>(numbers.back()));
  }
  const auto count = static_cast<int64_t>(labels.size());
  return {torch::tensor(images).view({count, 1, 8, 8}) / 16, torch::tensor(labels)};
}

}  // namespace examples
