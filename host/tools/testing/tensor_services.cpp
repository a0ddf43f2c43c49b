// The services for tensors, without LibTorch.

#include <loupe/detail/elements.h>
#include <loupe/draft/abi/tensor_math.h>
#include <loupe/error.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "loader/component_instance.h"
#include "testing/made_tensor.h"

/// The handle that plugins hold; defined in no namespace because abi.h declares it so.
struct loupe_retained {
  std::shared_ptr<const loupe::testing::MadeTensor> tensor;
};

namespace loupe::testing {
namespace {

std::shared_ptr<const MadeTensor> made(const loupe_tensor* view) {
  auto tensor = MadeTensor::behind(view);
  if (tensor == nullptr) throw Error("this tensor does not belong to the test", LOUPE_UNSUPPORTED);
  return tensor;
}

loupe_status retain(void*, const loupe_tensor* tensor, loupe_retained** kept, loupe_error* error) {
  return detail::guarded(error, [&] { *kept = new loupe_retained{made(tensor)}; });
}

loupe_status clone(void*, const loupe_tensor* tensor, loupe_retained** kept, loupe_error* error) {
  return detail::guarded(error,
                         [&] { *kept = new loupe_retained{std::make_shared<MadeTensor>(made(tensor)->tensor())}; });
}

loupe_status clone_item(void*, const loupe_tensor* tensor, int64_t item, loupe_retained** kept, loupe_error* error) {
  return detail::guarded(error, [&] {
    Tensor copy = made(tensor)->tensor();
    if (copy.sizes.empty() || item < 0 || item >= copy.sizes[0]) {
      throw Error("a tensor of shape " + shape_text(copy.sizes) + " has no item " + std::to_string(item),
                  LOUPE_NOT_FOUND);
    }
    const auto size = static_cast<std::ptrdiff_t>(copy.values.size()) / copy.sizes[0];
    const auto first = copy.values.begin() + item * size;
    copy.values = {first, first + size};
    copy.sizes.erase(copy.sizes.begin());
    if (copy.sizes.empty()) copy.sizes = {1};
    *kept = new loupe_retained{std::make_shared<MadeTensor>(std::move(copy))};
  });
}

loupe_status copy(void*, const loupe_tensor* tensor, double* values, std::size_t capacity, std::size_t* count,
                  loupe_error* error) {
  return detail::guarded(error, [&] {
    // Read the elements from memory, because the type may have rounded them.
    const auto from = made(tensor);
    const Elements stored(&from->view());
    *count = from->tensor().values.size();
    for (std::size_t place = 0; place < std::min(*count, capacity); ++place)
      values[place] = stored.at(static_cast<int64_t>(place));
  });
}

/// Uses one-sided Jacobi rotations: slow, and exact enough for a test's matrices.
std::vector<double> singular_values_of(std::vector<double> a, std::size_t rows, std::size_t columns) {
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (std::size_t p = 0; p < columns; ++p) {
      for (std::size_t q = p + 1; q < columns; ++q) {
        double pp = 0, qq = 0, pq = 0;
        for (std::size_t r = 0; r < rows; ++r) {
          pp += a[r * columns + p] * a[r * columns + p];
          qq += a[r * columns + q] * a[r * columns + q];
          pq += a[r * columns + p] * a[r * columns + q];
        }
        if (pq == 0) continue;
        const double angle = 0.5 * std::atan2(2 * pq, pp - qq);
        for (std::size_t r = 0; r < rows; ++r) {
          const double x = a[r * columns + p], y = a[r * columns + q];
          a[r * columns + p] = std::cos(angle) * x + std::sin(angle) * y;
          a[r * columns + q] = std::cos(angle) * y - std::sin(angle) * x;
        }
      }
    }
  }
  std::vector<double> lengths;
  for (std::size_t c = 0; c < columns; ++c) {
    double square = 0;
    for (std::size_t r = 0; r < rows; ++r) square += a[r * columns + c] * a[r * columns + c];
    lengths.push_back(std::sqrt(square));
  }
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  lengths.resize(std::min(rows, columns));
  return lengths;
}

loupe_status singular_values(void*, const loupe_tensor* matrix, double* values, std::size_t capacity,
                             std::size_t* count, loupe_error* error) {
  return detail::guarded(error, [&] {
    const Tensor tensor = made(matrix)->tensor();
    if (tensor.sizes.size() < 2)
      throw Error("singular values need a matrix, not a tensor of fewer dimensions", LOUPE_INVALID);
    if (!std::all_of(tensor.values.begin(), tensor.values.end(), [](double value) { return std::isfinite(value); }))
      throw Error("a matrix with NaN or Inf has no singular values", LOUPE_NOT_FOUND);
    std::vector<double> all;
    if (!tensor.values.empty()) {
      const auto rows = static_cast<std::size_t>(tensor.sizes[0]);
      all = singular_values_of(tensor.values, rows, tensor.values.size() / rows);
    }
    *count = std::min(capacity, all.size());
    std::copy_n(all.begin(), *count, values);
  });
}

double folded(double into, double other, uint32_t aggregation, uint64_t count) {
  switch (aggregation) {
    case LOUPE_DRAFT_FOLD_SUM:
      return into + other;
    case LOUPE_DRAFT_FOLD_MEAN:
      return into + (other - into) / static_cast<double>(count + 1);
    case LOUPE_DRAFT_FOLD_MAX:
      return std::isnan(other) || other > into ? other : into;
    case LOUPE_DRAFT_FOLD_MIN:
      return std::isnan(other) || other < into ? other : into;
    default:
      throw Error("tensors can only be folded into their sum, mean, max or min", LOUPE_UNSUPPORTED);
  }
}

loupe_status fold(void*, loupe_retained* into, const loupe_tensor* tensor, uint32_t aggregation, uint64_t count,
                  loupe_error* error) {
  return detail::guarded(error, [&] {
    const auto other = made(tensor);
    Tensor sum = into->tensor->tensor();
    if (other->tensor().sizes != sum.sizes) {
      throw Error("a tensor of shape " + shape_text(other->tensor().sizes) + " cannot be folded into one of shape " +
                      shape_text(sum.sizes) + ", which came first",
                  LOUPE_INVALID);
    }
    for (std::size_t i = 0; i < sum.values.size(); ++i) {
      sum.values[i] = folded(sum.values[i], other->tensor().values[i], aggregation, count);
    }
    into->tensor = std::make_shared<MadeTensor>(std::move(sum));
  });
}

const loupe_tensor_service tensors = {.struct_size = sizeof(loupe_tensor_service),
                                      .retain = &retain,
                                      .release = [](void*, loupe_retained* kept) { delete kept; },
                                      .view = [](void*, const loupe_retained* kept) { return &kept->tensor->view(); },
                                      .clone = &clone,
                                      .copy = &copy};
const loupe_draft_tensor_math_service math = {.struct_size = sizeof(loupe_draft_tensor_math_service),
                                              .singular_values = &singular_values,
                                              .clone_item = &clone_item,
                                              .fold = &fold};

}  // namespace

void offer_tensor_services() {
  offer_interface(LOUPE_TENSORS_ID, &tensors);
  offer_interface(LOUPE_DRAFT_TENSOR_MATH_ID, &math);
}

}  // namespace loupe::testing
