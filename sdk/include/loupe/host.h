#pragma once

#include <loupe/abi.h>
#include <loupe/detail/tensor.h>
#include <loupe/error.h>

#include <string>
#include <type_traits>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// The host as one component's instance sees it: its log lines name the component. Cheap to copy; valid until the
/// component is destroyed. Any thread, unless stated otherwise.
class Host {
 public:
  explicit Host(const loupe_host* host) : host_(host) {}

  const char* version() const { return host_->version; }
  /// The instance's name, as the user knows it: the component's, or the one given by `as`; "" from an old host.
  const char* name() const { return LOUPE_OFFERS(*host_, name) ? host_->name : ""; }
  /// The file that this plugin was loaded from; "" if it is part of the program.
  const char* plugin_path() const { return host_->plugin_path; }
  /// Prints one line to the user.
  void info(const std::string& message) const { host_->log(host_->context, LOUPE_LOG_INFO, message.c_str()); }
  void warn(const std::string& message) const { host_->log(host_->context, LOUPE_LOG_WARNING, message.c_str()); }
  /// A service that the host may offer, by its id; null if it does not.
  const void* get_extension(const char* id) const { return host_->get_extension(host_->context, id); }

  /// A service by its id. Throws Error if the host does not offer it.
  template <class Table>
  const Table& service(const char* id) const {
    const auto* table = static_cast<const Table*>(get_extension(id));
    if (table == nullptr) throw Error(std::string("this host does not offer ") + id, LOUPE_UNSUPPORTED);
    return *table;
  }

  /// Every element in row-major order. Waits for the device: do not call it in an event.
  std::vector<double> copy(const loupe_tensor& tensor) const {
    std::vector<double> values(static_cast<std::size_t>(tensor.numel));
    std::size_t count = 0;
    detail::ErrorBuffer error;
    error.check(tensors().copy(host_->context, &tensor, values.data(), values.size(), &count, error.get()));
    return values;
  }
  /// The run that this component is part of, also while a file is only validated; null for a gatherer, and from an old
  /// host. A run never changes, and lives as long as the inspector; one that continues in another folder is
  /// another run.
  const loupe_run* run() const {
    const auto* table = static_cast<const loupe_run_service*>(get_extension(LOUPE_RUN_ID));
    const loupe_run* run = table != nullptr ? table->run(host_->context) : nullptr;
    return run != nullptr && LOUPE_REACHES(*run, lens_count) ? run : nullptr;
  }

  /// Calls `take(const loupe_tensor&)` with a parameter or buffer of the module as it is now, or with its gradient;
  /// false if there is none. Call it in an event only when there is something to report.
  template <class Take>
  bool lend_parameter(const loupe_module* module, const char* name, bool gradient, Take&& take) const {
    const loupe_parameter_service* table = parameters();
    if (table == nullptr) return false;
    const auto call = [](void* context, const loupe_tensor* tensor) {
      (*static_cast<std::remove_reference_t<Take>*>(context))(*tensor);
    };
    return table->lend(host_->context, module, name, gradient ? uint32_t{LOUPE_LEND_GRADIENT} : 0u, call, &take,
                       nullptr) == LOUPE_OK;
  }

  /// The LOUPE_PARAMETER_ bits of one of the module's parameters at the last step or tick; at attach if the host does
  /// not know them, as in a recorded run.
  uint32_t parameter_flags(const loupe_module* module, std::size_t index) const {
    uint32_t flags = module->parameters[index]->flags;
    if (const loupe_parameter_service* table = parameters())
      table->flags(host_->context, module, index, &flags, nullptr);
    return flags;
  }

  /// The service of parameters, for frequent use; null if there is none.
  const loupe_parameter_service* parameters() const {
    return static_cast<const loupe_parameter_service*>(get_extension(LOUPE_PARAMETERS_ID));
  }
  /// The service of tensors, for its other functions. Throws Error if there is no LibTorch.
  const loupe_tensor_service& tensors() const { return service<loupe_tensor_service>(LOUPE_TENSORS_ID); }
  /// The first argument of every function of these services.
  void* context() const { return host_->context; }

 private:
  const loupe_host* host_;
};

}  // namespace v1_0
}  // namespace loupe
