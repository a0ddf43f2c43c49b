#pragma once

#include <loupe/abi.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace loupe {

/// What the components of one inspector, or of one replay, share: the run they are part of and its parameters. Outlives
/// them.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  /// Null while there is none. Any thread.
  virtual const loupe_run* run() const = 0;
  /// Whether two modules are shown under one name, so that lenses have two numbers of it. Where calls never overlap.
  virtual bool has_equal_names() const { return false; }
  using Take = std::function<void(const loupe_tensor&)>;
  /// Calls with a parameter or buffer of an attached module, or its gradient; false where there is none. Any thread.
  virtual bool lend(const loupe_module& module, const std::string& name, bool gradient, const Take& take) = 0;
  /// The LOUPE_PARAMETER_ bits of a parameter of an attached module as of now; none where there is none. Any thread.
  virtual std::optional<uint32_t> parameter_flags(const loupe_module& module, std::size_t parameter) = 0;
};

/// The host as one instance of a component sees it: its lines to the user begin with who speaks.
class ComponentHost {
 public:
  /// @param speaker  "the lens 'x'"  @param surroundings  may be null
  /// @param plugin_path  the file of its plugin; empty where that is part of the program
  ComponentHost(std::string speaker, Surroundings* surroundings, std::string plugin_path = "");
  ComponentHost(const ComponentHost&) = delete;
  ComponentHost& operator=(const ComponentHost&) = delete;

  const loupe_host* get() const { return &host_; }
  /// Leaves out its warnings from now on: they are about options that the user did not write.
  void leave_out_warnings() { leaves_out_warnings_ = true; }
  bool leaves_out(int32_t level) const { return leaves_out_warnings_ && level == LOUPE_LOG_WARNING; }
  const std::string& speaker() const { return speaker_; }
  Surroundings* surroundings() const { return surroundings_; }

 private:
  std::string speaker_, plugin_path_;
  Surroundings* surroundings_;
  bool leaves_out_warnings_ = false;
  loupe_host host_;
};

/// Offers a service, such as LOUPE_TENSORS_ID, to all components of this process. The table must live for good. Any
/// thread.
void offer_interface(const char* id, const void* table);

}  // namespace loupe
