#include "ranks/group.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace examples {
namespace {

using Store = c10::intrusive_ptr<c10d::Store>;
using torch::Tensor;

constexpr std::chrono::milliseconds longest_wait = std::chrono::minutes(1);

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int number_in(const char* name, int least, int most) {
  const std::string text = environment(name);
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number < least || number > most) {
    throw std::runtime_error(std::string(name) + " is '" + text + "'; it must be a number from " +
                             std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

Store store_at_master(const Place& place) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(number_in("MASTER_PORT", 1, 65535));
  // Torchrun may serve this port itself.
  options.isServer = place.rank == 0 && environment("TORCHELASTIC_USE_AGENT_STORE") != "True";
  options.numWorkers = place.size;
  options.waitWorkers = false;
  options.timeout = longest_wait;
  return c10::make_intrusive<c10d::TCPStore>(environment("MASTER_ADDR"), options);
}

Store meeting_point(const Place& place, const std::string& file) {
  Store store;
  if (place.size == 1) {
    store = c10::make_intrusive<c10d::HashStore>();
  } else if (!file.empty()) {
    store = c10::make_intrusive<c10d::FileStore>(file, place.size);
  } else if (!environment("MASTER_ADDR").empty()) {
    store = store_at_master(place);
  } else {
    throw std::runtime_error(
        "the ranks do not know where to meet: set MASTER_ADDR and MASTER_PORT, or name a new file that all of them "
        "see with --store");
  }
  store->setTimeout(longest_wait);
  // After a restart by torchrun, the store still holds the addresses of the earlier processes.
  return c10::make_intrusive<c10d::PrefixStore>("trainer/" + environment("TORCHELASTIC_RESTART_COUNT"), store);
}

}  // namespace

Place place_from_environment() {
  static constexpr const char* variables[][2] = {{"RANK", "WORLD_SIZE"},
                                                 {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                 {"PMI_RANK", "PMI_SIZE"},
                                                 {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank, size] : variables) {
    if (environment(rank).empty() || environment(size).empty()) continue;
    Place place;
    place.size = number_in(size, 1, 1 << 20);
    place.rank = number_in(rank, 0, place.size - 1);
    return place;
  }
  return {};
}

struct Group::Gloo {
  Gloo(const Place& place, const std::string& file) : store(meeting_point(place, file)) {
    auto options = c10d::ProcessGroupGloo::Options::create(longest_wait);
    const std::string interface = environment("GLOO_SOCKET_IFNAME");
    options->devices.push_back(interface.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                                                 : c10d::ProcessGroupGloo::createDeviceForInterface(interface));
    processes = c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.size, options);
  }

  Store store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> processes;
};

Group::Group(Place place, const std::string& file) : place_(place), gloo_(std::make_unique<Gloo>(place, file)) {}
Group::~Group() = default;

void Group::sum(Tensor tensor) {
  std::vector<Tensor> tensors{std::move(tensor)};
  gloo_->processes->allreduce(tensors)->wait();
}

void Group::sum(const std::vector<Tensor>& tensors) {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> pieces;
  for (const Tensor& tensor : tensors) pieces.push_back(tensor.flatten());
  const Tensor bucket = torch::cat(pieces);
  sum(bucket);
  int64_t begin = 0;
  for (const Tensor& tensor : tensors) {
    tensor.copy_(bucket.slice(0, begin, begin + tensor.numel()).view_as(tensor));
    begin += tensor.numel();
  }
}

void Group::average(const std::vector<Tensor>& tensors) {
  sum(tensors);
  const torch::NoGradGuard no_grad;
  for (const Tensor& tensor : tensors) tensor.div_(place_.size);
}

void Group::broadcast(const std::vector<Tensor>& tensors) {
  const torch::NoGradGuard no_grad;
  for (const Tensor& tensor : tensors) {
    std::vector<Tensor> one{tensor.detach()};
    gloo_->processes->broadcast(one)->wait();
  }
}

void Group::wait() {
  gloo_->processes->barrier()->wait();
}

}  // namespace examples
