#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

namespace examples {

/// The number of this process among the processes that train together.
struct Place {
  int rank = 0, size = 1;

  bool is_last() const { return size > 1 && rank == size - 1; }
};

/// Reads the place from the environment, as torchrun, MPI or Slurm set it; a single process if they set nothing. Throws
/// std::runtime_error if the values are impossible.
Place place_from_environment();

/// The processes that train together, joined by c10d's Gloo. Each must make the same calls in the same order; a call
/// that another process does not answer within a minute, or that finds one dead, throws.
class Group {
 public:
  /// Meets the others at MASTER_ADDR and MASTER_PORT, which rank 0 serves, or in `file` if not empty: a new file that
  /// all processes can see. Throws std::runtime_error if neither is given.
  Group(Place place, const std::string& file);
  ~Group();

  const Place& place() const { return place_; }
  /// Sums each element over all ranks, in place.
  void sum(torch::Tensor tensor);
  /// Sums many tensors with one message.
  void sum(const std::vector<torch::Tensor>& tensors);
  void average(const std::vector<torch::Tensor>& tensors);
  /// Copies the tensors of rank 0 to all ranks.
  void broadcast(const std::vector<torch::Tensor>& tensors);
  /// Returns once all ranks have called this.
  void wait();

 private:
  struct Gloo;

  Place place_;
  std::unique_ptr<Gloo> gloo_;
};

}  // namespace examples
