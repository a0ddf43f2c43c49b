#include "core/part.h"
#include "timing/timed_steps.h"
#include "timing/torch_calls.h"

namespace loupe {
namespace {

constexpr TimingTable table{&make_step_timing, &step_over, &begin_pass};

}  // namespace
}  // namespace loupe

LOUPE_PART(loupe::table)
