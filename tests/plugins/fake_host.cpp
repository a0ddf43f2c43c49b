#include <loupe/draft/abi/tensor_math.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "component.h"

namespace loupe::test {
namespace {

std::vector<double> elements(const loupe_tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.numel; ++i) {
    int64_t rest = i, offset = 0;
    for (int64_t d = tensor.dim; d-- > 0;) {
      offset += rest % tensor.sizes[d] * tensor.strides[d];
      rest /= tensor.sizes[d];
    }
    values.push_back(static_cast<const float*>(tensor.data)[offset]);
  }
  return values;
}

/// One-sided Jacobi on the columns: turned pairwise until all are at right angles, their lengths are what is sought.
std::vector<double> singular_values(const loupe_tensor& matrix) {
  const auto rows = static_cast<size_t>(matrix.sizes[0]);
  const size_t columns = static_cast<size_t>(matrix.numel) / rows;
  std::vector<double> a = elements(matrix);
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (size_t p = 0; p < columns; ++p) {
      for (size_t q = p + 1; q < columns; ++q) {
        double pp = 0, qq = 0, pq = 0;
        for (size_t r = 0; r < rows; ++r) {
          pp += a[r * columns + p] * a[r * columns + p];
          qq += a[r * columns + q] * a[r * columns + q];
          pq += a[r * columns + p] * a[r * columns + q];
        }
        if (pq == 0) continue;
        const double angle = 0.5 * std::atan2(2 * pq, pp - qq);
        for (size_t r = 0; r < rows; ++r) {
          const double x = a[r * columns + p], y = a[r * columns + q];
          a[r * columns + p] = std::cos(angle) * x + std::sin(angle) * y;
          a[r * columns + q] = std::cos(angle) * y - std::sin(angle) * x;
        }
      }
    }
  }
  std::vector<double> lengths;
  for (size_t c = 0; c < columns; ++c) {
    double square = 0;
    for (size_t r = 0; r < rows; ++r) square += a[r * columns + c] * a[r * columns + c];
    lengths.push_back(std::sqrt(square));
  }
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  lengths.resize(std::min(rows, columns));
  return lengths;
}

const loupe_tensor_service tensors = {.struct_size = sizeof(loupe_tensor_service),
                                      .copy = [](void*, const loupe_tensor* tensor, double* values, size_t capacity,
                                                 size_t* count, loupe_error*) -> loupe_status {
                                        const std::vector<double> all = elements(*tensor);
                                        *count = all.size();
                                        std::copy_n(all.begin(), std::min(*count, capacity), values);
                                        return LOUPE_OK;
                                      }};
const loupe_draft_tensor_math_service math = {
    .struct_size = sizeof(loupe_draft_tensor_math_service),
    .singular_values = [](void*, const loupe_tensor* matrix, double* values, size_t capacity, size_t* count,
                          loupe_error* error) -> loupe_status {
      return detail::guarded(error, [&] {
        for (double value : elements(*matrix)) {
          if (!std::isfinite(value)) throw Error("the decomposition of a matrix with NaN or Inf fails");
        }
        const std::vector<double> all = singular_values(*matrix);
        if (all.size() > capacity) throw Error("there is no room for the singular values");
        std::copy(all.begin(), all.end(), values);
        *count = all.size();
      });
    }};

const void* service(void*, const char* id) {
  if (std::strcmp(id, LOUPE_TENSORS_ID) == 0) return &tensors;
  return std::strcmp(id, LOUPE_DRAFT_TENSOR_MATH_ID) == 0 ? &math : nullptr;
}

}  // namespace

std::vector<std::string>& fake_log() {
  static std::vector<std::string> log;
  return log;
}

const loupe_host& fake_host() {
  static const loupe_host host = {.struct_size = sizeof(loupe_host),
                                  .abi_major = LOUPE_ABI_MAJOR,
                                  .abi_minor = LOUPE_ABI_MINOR,
                                  .version = "0.1.0",
                                  .plugin_path = "",
                                  .log = [](void*, int32_t, const char* message) { fake_log().push_back(message); },
                                  .get_extension = &service};
  return host;
}

}  // namespace loupe::test
