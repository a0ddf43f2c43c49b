#pragma once

#include <torch/script.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

namespace loupe::testing {

/// Creates TorchScript modules with names as torch.jit.script gives them.
class ScriptMaker {
 public:
  /// @param type  for example "Net", or "torch.nn.modules.linear.Linear"
  torch::jit::Module module(const std::string& type) const {
    const std::string mangled = "___torch_mangle_" + std::to_string(++count_) + ".";
    const auto dot = type.rfind('.');
    const std::string name =
        dot == std::string::npos ? mangled + type : type.substr(0, dot + 1) + mangled + type.substr(dot + 1);
    torch::jit::Module made(c10::QualifiedName("__torch__." + name), unit_, /*shouldMangle=*/true);
    made.register_attribute("training", c10::BoolType::get(), true);
    return made;
  }
  torch::jit::Module linear(int64_t inputs, int64_t outputs) const {
    torch::jit::Module made = module("torch.nn.modules.linear.Linear");
    made.register_parameter("weight", parameter({outputs, inputs}), false);
    made.register_parameter("bias", parameter({outputs}), false);
    made.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
    return made;
  }
  torch::jit::Module convolution(int64_t inputs, int64_t outputs, int64_t size) const {
    torch::jit::Module made = module("torch.nn.modules.conv.Conv2d");
    made.register_parameter("weight", parameter({outputs, inputs, size, size}), false);
    made.register_parameter("bias", parameter({outputs}), false);
    const std::string padding = std::to_string(size / 2);
    made.define("def _conv_forward(self, x, weight, bias):\n  return torch.conv2d(x, weight, bias, [1, 1], [" +
                padding + ", " + padding + "], [1, 1], 1)\n");
    made.define("def forward(self, x):\n  return self._conv_forward(x, self.weight, self.bias)\n");
    return made;
  }
  torch::jit::Module batch_norm(int64_t features) const {
    torch::jit::Module made = module("torch.nn.modules.batchnorm.BatchNorm2d");
    made.register_parameter("weight", torch::ones({features}).set_requires_grad(true), false);
    made.register_parameter("bias", torch::zeros({features}).set_requires_grad(true), false);
    made.register_buffer("running_mean", torch::zeros({features}));
    made.register_buffer("running_var", torch::ones({features}));
    made.register_buffer("num_batches_tracked", torch::zeros({}, torch::kLong));
    made.define(
        "def forward(self, x):\n"
        "  if self.training:\n"
        "    self.num_batches_tracked.add_(1)\n"
        "  return torch.batch_norm(x, self.weight, self.bias, self.running_mean, self.running_var, self.training, 0.1, "
        "1e-5, True)\n");
    return made;
  }
  torch::jit::Module relu(bool in_place) const {
    torch::jit::Module made = module("torch.nn.modules.activation.ReLU");
    made.define(in_place ? "def forward(self, x):\n  return torch.relu_(x)\n"
                         : "def forward(self, x):\n  return torch.relu(x)\n");
    return made;
  }
  torch::jit::Module dropout() const {
    torch::jit::Module made = module("torch.nn.modules.dropout.Dropout");
    made.define("def forward(self, x):\n  return torch.dropout(x, 0.25, self.training)\n");
    return made;
  }
  /// A module that runs these modules one after another, named 0, 1, ….
  torch::jit::Module sequential(const std::vector<torch::jit::Module>& modules) const {
    torch::jit::Module made = module("torch.nn.modules.container.Sequential");
    std::string body;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      made.register_module(std::to_string(i), modules[i]);
      body += "  x = getattr(self, \"" + std::to_string(i) + "\").forward(x)\n";
    }
    made.define("def forward(self, x):\n" + body + "  return x\n");
    return made;
  }

  static torch::Tensor parameter(const std::vector<int64_t>& sizes) {
    return (torch::randn(sizes) * 0.3).set_requires_grad(true);
  }

 private:
  std::shared_ptr<torch::jit::CompilationUnit> unit_ = std::make_shared<torch::jit::CompilationUnit>();
  mutable int count_ = 0;
};

/// A model with convolutions, batch norms, a shortcut, functions, and modules without parameters.
inline torch::jit::Module residual_script(const ScriptMaker& make) {
  torch::jit::Module block = make.module("models.Block");
  block.register_module("conv1", make.convolution(4, 4, 3));
  block.register_module("bn1", make.batch_norm(4));
  block.register_module("conv2", make.convolution(4, 4, 3));
  block.register_module("short", make.convolution(4, 4, 1));
  block.define(
      "def forward(self, x):\n"
      "  y = torch.relu(self.bn1.forward(self.conv1.forward(x)))\n"
      "  return torch.relu(self.conv2.forward(y) + self.short.forward(x))\n");
  torch::jit::Module net = make.module("models.Net");
  net.register_module("stem", make.sequential({make.convolution(1, 4, 3), make.relu(true), make.dropout()}));
  net.register_module("block", block);
  net.register_module("norm", make.batch_norm(4));
  net.register_module("fc", make.linear(4 * 5 * 5, 3));
  net.define(
      "def forward(self, x):\n"
      "  x = self.stem.forward(x)\n"
      "  x = self.norm.forward(self.block.forward(x))\n"
      "  return torch.log_softmax(self.fc.forward(torch.flatten(x, 1)), 1)\n");
  return net;
}

inline std::vector<torch::Tensor> parameters_of(const torch::jit::Module& script) {
  std::vector<torch::Tensor> parameters;
  for (const auto& each : script.parameters()) parameters.push_back(each);
  return parameters;
}

}  // namespace loupe::testing
