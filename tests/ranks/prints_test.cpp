// Fingerprints of tensors on a device. The test plays the device.

#include "ranks/prints.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "monitored.h"

/// A sum on the device.
struct loupe_retained {
  uint64_t sum;
};

namespace loupe::ranks {
namespace {

int reads, kept;
bool can_add;

loupe_status take(void*, const loupe_tensor* tensor, loupe_retained** sum, loupe_error*) {
  if (!can_add) return LOUPE_UNSUPPORTED;
  const auto* values = static_cast<const float*>(tensor->data);
  uint64_t bits = 0;
  for (int64_t i = 0; i < tensor->numel; ++i) bits += static_cast<uint64_t>(values[i] * 1000);
  ++kept;
  *sum = new loupe_retained{bits};
  return LOUPE_OK;
}
loupe_status read(void*, const loupe_retained* const* sums, std::size_t count, uint64_t* values, loupe_error*) {
  ++reads;
  for (std::size_t i = 0; i < count; ++i) values[i] = sums[i]->sum;
  return LOUPE_OK;
}
const void* get_extension(void*, const char* id) {
  static const loupe_draft_fingerprint_service prints = {
      .struct_size = sizeof prints, .reserved = 0, .take = &take, .read = &read};
  static const loupe_tensor_service tensors = [] {
    loupe_tensor_service table{};
    table.struct_size = sizeof table;
    table.release = [](void*, loupe_retained* sum) {
      --kept;
      delete sum;
    };
    return table;
  }();
  const std::string_view wanted = id;
  return wanted == LOUPE_DRAFT_FINGERPRINTS_ID ? static_cast<const void*>(&prints)
         : wanted == LOUPE_TENSORS_ID          ? &tensors
                                               : nullptr;
}

class PrintsOnADevice : public testing::Test {
 protected:
  PrintsOnADevice() {
    reads = kept = 0;
    can_add = true;
  }
  ~PrintsOnADevice() override { EXPECT_EQ(kept, 0); }
  uint64_t take(std::vector<float> values, int32_t device = LOUPE_DEVICE_CUDA) {
    const FloatTensor tensor(std::move(values), device);
    return prints.take(TensorView(tensor.get()));
  }
  uint64_t filled(uint64_t print) const {
    std::vector<uint64_t> one = {print};
    prints.fill(one);
    return one[0];
  }

  loupe_host host = {sizeof(loupe_host),
                     LOUPE_ABI_MAJOR,
                     LOUPE_ABI_MINOR,
                     0,
                     "",
                     "",
                     nullptr,
                     [](void* messages, int32_t, const char*) { static_cast<void>(messages); },
                     &get_extension};
  Prints prints{Host(&host)};
};

TEST_F(PrintsOnADevice, AreReadTogetherAtATickAndEqualForEqualElements) {
  const uint64_t one = take({1, 2, 3}), same = take({1, 2, 3}), other = take({1, 2, 4});
  EXPECT_EQ(reads, 0) << "it waited for the device";
  prints.read();
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(filled(one), filled(same));
  EXPECT_NE(filled(one), filled(other));
  EXPECT_TRUE(are_comparable(filled(one), filled(other)));
  EXPECT_EQ(filled(filled(one)), filled(one)) << "a value stays after its first reading";
  const uint64_t later = take({1, 2, 3});
  EXPECT_EQ(filled(later), 0U) << "it was not read yet";
  const uint64_t before = filled(one);
  prints.read();
  EXPECT_EQ(filled(later), before) << "it is the same at a later tick";
}

TEST_F(PrintsOnADevice, AreNotComparedWithThoseOfTheHost) {
  const uint64_t device = take({1, 2, 3}), processor = take({1, 2, 3}, LOUPE_DEVICE_CPU);
  prints.read();
  EXPECT_NE(processor, 0U);
  EXPECT_EQ(filled(processor), processor);
  EXPECT_FALSE(are_comparable(filled(device), processor));
  EXPECT_TRUE(are_comparable(processor, take({1, 2, 4}, LOUPE_DEVICE_CPU)));
}

TEST_F(PrintsOnADevice, AreUnknownIfTheDeviceCannotAdd) {
  can_add = false;
  EXPECT_EQ(take({1, 2, 3}), 0U);
  prints.read();
  EXPECT_EQ(reads, 0);
}

}  // namespace
}  // namespace loupe::ranks
