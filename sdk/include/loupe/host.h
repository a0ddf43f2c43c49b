#pragma once

#include <loupe/abi.h>
#include <loupe/detail/tensor.h>
#include <loupe/error.h>

#include <string>
#include <type_traits>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// The host as one component's instance sees it: its lines say which component speaks. Cheap to copy; valid until the
/// component is destroyed. Any thread, where not said otherwise.
class Host {
 public:
  explicit Host(const loupe_host* host) : host_(host) {}

  const char* version() const { return host_->version; }
  /// The instance's, as the user knows it: the component's own, or what `as` gives it; "" from a host that does not
  /// say.
  const char* name() const { return LOUPE_OFFERS(*host_, name) ? host_->name : ""; }
  /// The file that this plugin was loaded from; "" where it is part of the program.
  const char* plugin_path() const { return host_->plugin_path; }
  /// One line to the user.
  void info(const std::string& message) const { host_->log(host_->context, LOUPE_LOG_INFO, message.c_str()); }
  void warn(const std::string& message) const { host_->log(host_->context, LOUPE_LOG_WARNING, message.c_str()); }
  /// A service that the host may offer, by its id; null when it does not.
  const void* get_extension(const char* id) const { return host_->get_extension(host_->context, id); }

  /// A service by its id. Throws Error where the host does not offer it.
  template <class Table>
  const Table& service(const char* id) const {
    const auto* table = static_cast<const Table*>(get_extension(id));
    if (table == nullptr) throw Error(std::string("this host does not offer ") + id, LOUPE_UNSUPPORTED);
    return *table;
  }

  /// Every element in row-major order. Waits for a device: not for an event.
  std::vector<double> copy(const loupe_tensor& tensor) const {
    std::vector<double> values(static_cast<std::size_t>(tensor.numel));
    std::size_t count = 0;
    detail::ErrorBuffer error;
    error.check(tensors().copy(host_->context, &tensor, values.data(), values.size(), &count, error.get()));
    return values;
  }
  /// The run that this component is part of; null while there is none, as where a file is only validated, and from a
  /// host that does not say. It never changes, and lives as long as the inspector; a run that goes on in another folder
  /// is another.
  const loupe_run* run() const {
    const auto* table = static_cast<const loupe_run_service*>(get_extension(LOUPE_RUN_ID));
    const loupe_run* run = table != nullptr ? table->run(host_->context) : nullptr;
    return run != nullptr && LOUPE_REACHES(*run, lens_count) ? run : nullptr;
  }

  /// Calls `take(const loupe_tensor&)` with a parameter or buffer of the module as it is now, or with its gradient;
  /// false where there is none. From an event only when there is something to say.
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

  /// The LOUPE_PARAMETER_ bits, as of the last step or tick, of that one of the module's parameters; as it was attached
  /// where the host does not say, as in a recorded run.
  uint32_t parameter_flags(const loupe_module* module, std::size_t index) const {
    uint32_t flags = module->parameters[index]->flags;
    if (const loupe_parameter_service* table = parameters())
      table->flags(host_->context, module, index, &flags, nullptr);
    return flags;
  }

  /// The service of parameters, for those that ask often; null where there is none.
  const loupe_parameter_service* parameters() const {
    return static_cast<const loupe_parameter_service*>(get_extension(LOUPE_PARAMETERS_ID));
  }
  /// The service, for what else it offers. Throws Error where there is no LibTorch.
  const loupe_tensor_service& tensors() const { return service<loupe_tensor_service>(LOUPE_TENSORS_ID); }
  /// The first argument of every function there.
  void* context() const { return host_->context; }

 private:
  const loupe_host* host_;
};

}  // namespace v1_0
}  // namespace loupe
