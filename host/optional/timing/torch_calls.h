#pragma once

namespace torch::optim {
class Optimizer;
}

namespace loupe {

/// See TimingTable.
void step_over(const torch::optim::Optimizer* optimizer);
void begin_pass();

}  // namespace loupe
