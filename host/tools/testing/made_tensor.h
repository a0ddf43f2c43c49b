#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <loupe/testing.h>

namespace loupe::testing {

/// A test's tensor in memory, as components see it. Shared by everybody who keeps it.
class MadeTensor : public std::enable_shared_from_this<MadeTensor> {
 public:
  /// Throws std::invalid_argument if values and sizes do not fit, or the type cannot hold a value.
  explicit MadeTensor(Tensor tensor);
  MadeTensor(const MadeTensor&) = delete;
  MadeTensor& operator=(const MadeTensor&) = delete;

  const loupe_tensor& view() const { return view_; }
  const Tensor& tensor() const { return tensor_; }
  /// Writes other values into the same memory, as an optimizer does.
  void overwrite(const std::vector<double>& values);

  /// The made tensor behind a view; null for any other's.
  static std::shared_ptr<const MadeTensor> behind(const loupe_tensor* view);

 private:
  Tensor tensor_;
  std::vector<std::int64_t> strides_;
  std::vector<std::byte> memory_;
  loupe_tensor view_{};
};

/// "[2, 3]"
std::string shape_text(const std::vector<std::int64_t>& sizes);

/// Offers the services for tensors: LOUPE_TENSORS_ID and LOUPE_DRAFT_TENSOR_MATH_ID. Once a process.
void offer_tensor_services();

}  // namespace loupe::testing
