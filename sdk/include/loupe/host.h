#ifndef LOUPE_HOST_H
#define LOUPE_HOST_H

#include <loupe/abi.h>
#include <loupe/error.h>

#include <string>
#include <vector>

namespace loupe {

/// The host as a component sees it. Cheap to copy; lives as long as the process.
class Host {
 public:
  explicit Host(const loupe_host* host) : host_(host) {}

  const char* version() const { return host_->version; }
  /// One line to the user.
  void info(const std::string& message) const { host_->log(host_->context, LOUPE_LOG_INFO, message.c_str()); }
  void warn(const std::string& message) const { host_->log(host_->context, LOUPE_LOG_WARNING, message.c_str()); }
  /// A service that the host may offer, by its id; null when it does not.
  const void* get_interface(const char* id) const { return host_->get_interface(host_->context, id); }

  /// Every element in row-major order. Waits for a device: not for an event.
  std::vector<double> copy(const loupe_tensor& tensor) const {
    std::vector<double> values(static_cast<std::size_t>(tensor.numel));
    detail::ErrorBuffer error;
    error.check(tensors().copy(host_->context, &tensor, values.data(), error.get()));
    return values;
  }
  /// The singular values of a matrix, largest first; more dimensions are flattened from dim 1. Slow.
  std::vector<double> singular_values(const loupe_tensor& matrix) const {
    std::size_t count = 0;
    std::vector<double> values(static_cast<std::size_t>(matrix.dim > 0 ? matrix.sizes[0] : 1));
    detail::ErrorBuffer error;
    error.check(tensors().singular_values(host_->context, &matrix, values.data(), values.size(), &count, error.get()));
    values.resize(count);
    return values;
  }

  /// What the two above stand on, for what else it offers. Throws Error where there is no LibTorch.
  const loupe_tensors& tensors() const {
    const auto* table = static_cast<const loupe_tensors*>(get_interface(LOUPE_TENSORS_ID));
    if (table == nullptr) throw Error("this host does not offer " LOUPE_TENSORS_ID, LOUPE_UNSUPPORTED);
    return *table;
  }
  /// The first argument of every function there.
  void* context() const { return host_->context; }

 private:
  const loupe_host* host_;
};

}  // namespace loupe

#endif
