#include "check/stub_host.h"

#include <loupe/draft/abi/tensor_math.h>
#include <loupe/error.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "check/libtorch.h"
#include "loupe/version.h"

struct loupe_retained {
  loupe_tensor view{};
  std::vector<int64_t> sizes, strides;
  std::shared_ptr<std::vector<float>> elements;
  alignas(void*) char native[loupe::TensorLending::size];

  loupe_retained() = default;
  ~loupe_retained() { loupe::check::destroy_native(view.native); }
  loupe_retained(const loupe_retained&) = delete;
  loupe_retained& operator=(const loupe_retained&) = delete;
};

namespace loupe::check {

/// The services that LibTorch gives otherwise. Elements are made up: it is the calls that count.
struct StubTensors {
  static StubHost& of(void* host) { return *static_cast<StubHost*>(host); }

  static loupe_retained* keep(const loupe_tensor& tensor, bool one_item) {
    auto* kept = new loupe_retained();
    kept->sizes.assign(tensor.sizes, tensor.sizes + tensor.dim);
    if (one_item && !kept->sizes.empty()) kept->sizes.erase(kept->sizes.begin());
    int64_t numel = 1;
    kept->strides.resize(kept->sizes.size());
    for (std::size_t d = kept->sizes.size(); d-- > 0; numel *= kept->sizes[d]) kept->strides[d] = numel;
    kept->elements = std::make_shared<std::vector<float>>(static_cast<std::size_t>(numel) + 1, 0.5f);
    kept->view = {};
    kept->view.struct_size = sizeof(loupe_tensor);
    kept->view.dtype_code = LOUPE_DTYPE_FLOAT;
    kept->view.dtype_bits = 32;
    kept->view.dtype_lanes = 1;
    kept->view.device_type = LOUPE_DEVICE_CPU;
    kept->view.data = kept->elements->data();
    kept->view.sizes = kept->sizes.data();
    kept->view.strides = kept->strides.data();
    kept->view.dim = static_cast<int64_t>(kept->sizes.size());
    kept->view.numel = numel;
    add_native(kept->view, kept->native, kept->elements);
    return kept;
  }
  static loupe_status retain(void* host, const loupe_tensor* tensor, loupe_retained** kept, loupe_error* error) {
    return detail::guarded(error, [&] {
      *kept = keep(*tensor, false);
      ++of(host).retained_;
      of(host).has_copied_ = true;
    });
  }
  static void release(void* host, loupe_retained* kept) {
    if (kept == nullptr) return;
    delete kept;
    --of(host).retained_;
  }
  static const loupe_tensor* view(void*, const loupe_retained* kept) { return &kept->view; }
  static loupe_status clone_item(void* host, const loupe_tensor* tensor, int64_t, loupe_retained** kept,
                                 loupe_error* error) {
    return detail::guarded(error, [&] {
      *kept = keep(*tensor, true);
      ++of(host).retained_;
      of(host).has_copied_ = true;
    });
  }
  static loupe_status copy(void* host, const loupe_tensor* tensor, double* values, std::size_t capacity,
                           std::size_t* count, loupe_error*) {
    of(host).has_copied_ = true;
    *count = static_cast<std::size_t>(tensor->numel);
    std::fill_n(values, std::min(*count, capacity), 0.5);
    return LOUPE_OK;
  }
  static loupe_status singular_values(void* host, const loupe_tensor* matrix, double* values, std::size_t capacity,
                                      std::size_t* count, loupe_error* error) {
    return detail::guarded(error, [&] {
      of(host).has_copied_ = true;
      const int64_t rows = matrix->dim > 0 ? matrix->sizes[0] : 1;
      const int64_t columns = rows > 0 ? matrix->numel / rows : 0;
      *count = static_cast<std::size_t>(std::min(rows, columns));
      if (*count > capacity) throw Error("there is no room for the singular values", LOUPE_INVALID);
      for (std::size_t i = 0; i < *count; ++i) values[i] = 1.0 / static_cast<double>(i + 1);
    });
  }
  static loupe_status fold(void*, loupe_retained*, const loupe_tensor*, uint32_t, uint64_t, loupe_error*) {
    return LOUPE_OK;
  }
  static loupe_status save(void*, const loupe_retained* const*, std::size_t, uint32_t, const char*, loupe_error*) {
    return LOUPE_OK;
  }
  static const loupe_run* run(void* host) { return of(host).run_; }
};

namespace {

constexpr loupe_tensor_service tensors = {.struct_size = sizeof(loupe_tensor_service),
                                          .retain = &StubTensors::retain,
                                          .release = &StubTensors::release,
                                          .view = &StubTensors::view,
                                          .clone = &StubTensors::retain,
                                          .copy = &StubTensors::copy};
constexpr loupe_draft_tensor_math_service tensor_math = {.struct_size = sizeof(loupe_draft_tensor_math_service),
                                                         .singular_values = &StubTensors::singular_values,
                                                         .clone_item = &StubTensors::clone_item,
                                                         .fold = &StubTensors::fold};
constexpr loupe_draft_tensor_file_service tensor_files = {.struct_size = sizeof(loupe_draft_tensor_file_service),
                                                          .save = &StubTensors::save};
constexpr loupe_run_service run_service = {.struct_size = sizeof(loupe_run_service), .run = &StubTensors::run};

std::mutex drafts_mutex;
std::set<std::string>& drafts() {
  static std::set<std::string> asked_for;
  return asked_for;
}

struct Service {
  const char* id;
  const void* table;
};
const Service services[] = {{LOUPE_TENSORS_ID, &tensors},
                            {LOUPE_DRAFT_TENSOR_MATH_ID, &tensor_math},
                            {LOUPE_DRAFT_TENSOR_FILES_ID, &tensor_files},
                            {LOUPE_RUN_ID, &run_service}};

}  // namespace

StubHost::StubHost()
    : host_{.struct_size = sizeof(loupe_host),
            .abi_major = LOUPE_ABI_MAJOR,
            .abi_minor = LOUPE_ABI_MINOR,
            .version = LOUPE_VERSION,
            .plugin_path = "plugin.so",
            .context = this,
            .log =
                [](void* host, int32_t, const char* message) {
                  if (message == nullptr) static_cast<StubHost*>(host)->complain("logs a message that is null");
                },
            .get_extension = &StubHost::service} {}

const void* StubHost::service(void*, const char* id) {
  note_draft_id(id);
  for (const Service& each : services) {
    if (std::strcmp(each.id, id) == 0) return each.table;
  }
  return nullptr;
}

void StubHost::note_draft(const std::string& what) {
  const std::lock_guard lock(drafts_mutex);
  drafts().insert(what);
}

void StubHost::note_draft_id(const std::string& id) {
  if (id.find("/draft-") != std::string::npos) note_draft(id);
}

void StubHost::note_draft_measures(uint32_t measures) {
  if ((measures & LOUPE_MEASURE_DRAFTS) != 0) note_draft("measures of LOUPE_MEASURE_DRAFTS");
}

std::vector<std::string> StubHost::take_drafts() {
  const std::lock_guard lock(drafts_mutex);
  const std::set<std::string> asked = std::exchange(drafts(), {});
  return {asked.begin(), asked.end()};
}

bool StubHost::expect(const char* function, std::initializer_list<Turn> turns) {
  if (std::find(turns.begin(), turns.end(), turn_) == turns.end()) {
    complain(std::string("calls ") + function + " where it may not: see its @state");
    return false;
  }
  if (std::this_thread::get_id() == thread_) return true;
  complain(std::string("calls ") + function + " from a thread of its own");
  return false;
}

void StubHost::complain(const std::string& what) {
  const std::lock_guard lock(mutex_);
  complaints_.push_back(what);
}

std::vector<std::string> StubHost::complaints() const {
  const std::lock_guard lock(mutex_);
  return complaints_;
}

}  // namespace loupe::check
