#ifndef LOUPE_TORCH_SCRIPT_FUSION_H
#define LOUPE_TORCH_SCRIPT_FUSION_H

#include <string>
#include <vector>

namespace loupe {

/// The operators that the interpreter of TorchScript computed in one piece with others when it last ran on this thread,
/// each once, as "aten::relu": what they give is nowhere to be seen.
std::vector<std::string> fused_operators();

}  // namespace loupe

#endif
