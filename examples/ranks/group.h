#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

namespace examples {

/// Which of the processes that train together this one is.
struct Place {
  int rank = 0, size = 1;

  bool is_last() const { return size > 1 && rank == size - 1; }
};

/// As torchrun, MPI or Slurm tell it in the environment; a process alone where they tell nothing. Throws
/// std::runtime_error where they tell what cannot be.
Place place_from_environment();

/// The processes that train together, joined by c10d's Gloo. Each must make the same calls in the same order; a call
/// that another process does not answer within a minute, or that finds one dead, throws.
class Group {
 public:
  /// Meets the others at MASTER_ADDR and MASTER_PORT, which rank 0 serves, or in `file`, where it names one: a file
  /// that is not there yet, and that all of them see. Throws std::runtime_error where neither is given.
  Group(Place place, const std::string& file);
  ~Group();

  const Place& place() const { return place_; }
  /// Sums each element over all ranks, in place.
  void sum(torch::Tensor tensor);
  /// The same of many tensors by one message.
  void sum(const std::vector<torch::Tensor>& tensors);
  void average(const std::vector<torch::Tensor>& tensors);
  /// Gives all ranks what rank 0 has.
  void broadcast(const std::vector<torch::Tensor>& tensors);
  /// Returns once all ranks have come here.
  void wait();

 private:
  struct Gloo;

  Place place_;
  std::unique_ptr<Gloo> gloo_;
};

}  // namespace examples
