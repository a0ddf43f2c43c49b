// Compares models in Python with their ports to C++: correct ports agree, and for wrong ports the first difference
// and its likely reason are named.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <loupe/files/fingerprint.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "examples/process.h"
#include "paths.h"
#include "port/nets.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

const char* const models[] = {"mlp", "cnn", "residual", "lstm", "transformer", "tied"};
const char* const optimizers[] = {"sgd", "adam", "adamw", "rmsprop"};

/// The records of the originals. One Python process writes all of them for all processes of these tests, and writes
/// them again only after its scripts have changed.
const fs::path& originals() {
  static const fs::path folder = [] {
    fs::path made = fs::path(LOUPE_TEST_FOLDER) / "originals";
    fs::create_directories(made);
    const int lock = ::open((made / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    ::flock(lock, LOCK_EX);
    const fs::path done = made / "written by";
    const bool is_new = text_of(done) == TORCH_PYTHON && fs::last_write_time(done) > fs::last_write_time(PAIRS) &&
                        fs::last_write_time(done) > fs::last_write_time(RECORDER + "/loupe_record.py");
    if (!is_new) {
      std::string names;
      for (const char* model : models) {
        for (const char* optimizer : optimizers) names += std::string(" ") + model + "-" + optimizer;
      }
      const Finished finished = run(TORCH_PYTHON + " -W ignore " + PAIRS + " " + RECORDER + " ." + names, made);
      EXPECT_EQ(finished.exit_code, 0) << finished.output << TORCH_PYTHON
                                       << " needs torch; install it (python3-torch), or name another Python by "
                                          "-DLOUPE_TORCH_PYTHON";
      if (finished.exit_code == 0) std::ofstream(done) << TORCH_PYTHON;
    }
    ::close(lock);
    return made;
  }();
  return folder;
}

Finished compare(const fs::path& first, const fs::path& second, const std::string& options = "") {
  return run(LOUPE_COMMAND + " compare --port " + first.string() + " " + second.string() + " " + options, ".");
}

Finished compare_with_port(const std::string& model, const std::string& optimizer, const std::string& fault,
                           const std::string& options = "") {
  const fs::path folder = fresh_folder();
  record_port(model, optimizer, fault, folder);
  return compare(originals() / (model + "-" + optimizer), folder, options);
}

bool has(const Finished& finished, const std::string& text) {
  return finished.output.find(text) != std::string::npos;
}

class Port : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Port, ThatIsRightAgreesWithItsOriginal) {
  const auto [model, optimizer] = GetParam();
  const Finished finished = compare_with_port(model, optimizer, "");
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_TRUE(has(finished, "Python and C++ agree in 3 steps: ")) << finished.output;
  EXPECT_FALSE(has(finished, "ifferent")) << finished.output;
  EXPECT_FALSE(has(finished, "Not compared: only")) << finished.output;
}

INSTANTIATE_TEST_SUITE_P(Pairs, Port, testing::Combine(testing::ValuesIn(models), testing::ValuesIn(optimizers)),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param)) + "_" + std::get<1>(each.param);
                         });

struct Planted {
  const char *model, *optimizer, *fault;
  const char* place;   ///< where the records first differ
  const char* reason;  ///< the reason in the message
};

class PlantedDeparture : public testing::TestWithParam<Planted> {};

TEST_P(PlantedDeparture, IsNamedAtItsFirstPlace) {
  const Planted& planted = GetParam();
  const Finished finished = compare_with_port(planted.model, planted.optimizer, planted.fault);
  EXPECT_EQ(finished.exit_code, 1) << finished.output;
  EXPECT_TRUE(has(finished, "Python and C++ depart " + std::string(planted.place))) << finished.output;
  EXPECT_TRUE(has(finished, planted.reason)) << finished.output;
}

const Planted planted[] = {
    {"mlp", "sgd", "another seed", "before the first step: the parameter 'fc1.weight' differs", "another seed"},
    {"residual", "sgd", "transposed weight", "before the first step: the parameter 'block.fc1.weight' differs",
     "it is transposed in C++"},
    {"lstm", "adam", "permuted gates", "before the first step: the parameter 'lstm.weight_ih_l0' differs",
     "dimension 0 in another order"},
    {"mlp", "adam", "scaled weight", "before the first step: the parameter 'fc2.weight' differs",
     "it is 2 times as large in Python"},
    {"cnn", "sgd", "batch norm eps", "in step 1, in the forward of 'bn1': its input agrees",
     "eps is 1e-05 in Python and 0.001 in C++"},
    {"cnn", "sgd", "batch norm momentum", "after step 1: the buffer 'bn1.running_mean' differs",
     "momentum is 0.1 in Python and 0.01 in C++"},
    {"cnn", "adam", "align_corners", "in step 1, in the forward of 'up': its input agrees",
     "align_corners is false in Python and true in C++"},
    {"cnn", "sgd", "flatten order", "in step 1: the input of 'flatten' differs", "permuted in C++"},
    {"cnn", "sgd", "evaluation mode", "in step 1, in the forward of 'bn1': its input agrees",
     "in training mode in Python and in evaluation mode in C++"},
    {"cnn", "sgd", "BGR", "in step 1: the input of 'conv1' differs", "the same channels in another order"},
    {"cnn", "sgd", "NHWC", "in step 1: the input of 'conv1' differs", "C++ reads NHWC as NCHW"},
    {"mlp", "sgd", "dropout left on", "in step 1, in the forward of 'drop': its input agrees",
     "in training mode in C++ and in evaluation mode in Python"},
    {"mlp", "sgd", "shuffled samples", "in step 1: the input of 'fc1' differs",
     "it is the same in another order along dimension 0 (the batch, or time)"},
    {"lstm", "sgd", "batch order", "in step 1: the input of 'lstm' differs", "another order of the batches"},
    {"residual", "sgd", "not normalized", "in step 1: the input of 'block.fc1' differs", "it is scaled"},
    {"transformer", "sgd", "other data", "in step 1: the input of 'embed' differs", "different data"},
    {"mlp", "sgd", "no activation", "in step 1: the input of 'drop' differs",
     "'act' (Tanh) runs in between only in Python"},
    {"mlp", "sgd", "another activation", "in step 1, in the forward of 'act': its input agrees",
     "it is a Tanh in Python and a ReLU in C++"},
    {"mlp", "sgd", "another norm", "in step 1: the input of 'act' differs",
     "'norm' (LayerNorm) runs in between only in C++"},
    {"residual", "sgd", "another GELU", "in step 1, in the forward of 'block.act': its input agrees",
     "approximate is none in Python and tanh in C++"},
    {"transformer", "sgd", "attention heads", "in step 1, in the forward of 'encoder.layers.0.self_attn'",
     "num_heads is 2 in Python and 4 in C++"},
    {"residual", "sgd", "no skip", "in step 1: the input of 'head' differs",
     "in C++ it is the output of 'block.norm' itself, in Python something is computed in between"},
    {"transformer", "adam", "loss reduction", "in step 1: the loss differs",
     "the loss is 7 times as large in C++: a sum in place of a mean"},
    {"mlp", "sgd", "untold loss reduction",
     "in step 1, in the backward pass: the gradient of the output of 'fc2' differs",
     "it is 8 times as large in C++: a sum in place of a mean"},
    {"lstm", "sgd", "other targets", "in step 1: the loss differs",
     "other targets: the gradient of the output of 'head'"},
    {"mlp", "sgd", "gradients kept", "in step 2: the gradient of 'fc1.weight' differs", "call zero_grad()"},
    {"residual", "sgd", "gradients kept and clipped", "in step 2: the gradient of 'block.fc1.weight' differs",
     "call zero_grad()"},
    {"lstm", "sgd", "clipped gradients", "in step 1: the gradient of 'lstm.weight_ih_l0' differs", "clipped"},
    {"mlp", "adam", "weights changed", "in step 2, in the forward of 'fc1': its input agrees",
     "it is 1.002 times as large in Python"},
    {"residual", "adam", "weights rounded", "in step 2, in the forward of 'block.fc1': its input agrees",
     "changed outside the optimizer's step"},
    {"residual", "sgd", "zero gradient", "in step 1: the gradient of 'head.bias' differs", "it is 0 only in C++"},
    {"tied", "adam", "not tied", "in step 1: the gradient of 'embed.weight' differs",
     "'embed.weight' and 'head.weight' are one tensor in Python and two in C++"},
    {"mlp", "sgd", "frozen", "in step 1: the gradient of 'fc1.weight' is only in Python", "frozen"},
    {"residual", "adam", "default rate", "in step 1: the update of 'block.fc1.weight' differs",
     "lr is 0.01 in Python and 0.001 in C++"},
    {"transformer", "adamw", "coupled decay", "in step 1: the update of 'embed.weight' differs",
     "the optimizer is AdamW in Python and Adam in C++"},
    {"cnn", "rmsprop", "rmsprop alpha", "in step 1: the update of 'conv1.weight' differs",
     "alpha is 0.99 in Python and 0.9 in C++"},
    {"lstm", "sgd", "no momentum", "in step 2: the update of 'lstm.weight_ih_l0' differs",
     "momentum is 0.9 in Python and 0 in C++"},
};

INSTANTIATE_TEST_SUITE_P(Each, PlantedDeparture, testing::ValuesIn(planted), [](const auto& each) {
  std::string name = each.param.fault;
  for (char& letter : name) {
    if (letter == ' ') letter = '_';
  }
  return name;
});

/// Writes a file in the test's own folder.
fs::path write(const std::string& name, const std::string& text) {
  const fs::path file = fresh_folder() / name;
  std::ofstream(file) << text;
  return file;
}

TEST(PortOfAnotherLibTorch, AgreesButForRounding) {
  const fs::path folder = fresh_folder();
  record_port("cnn", "adam", "", folder);
  const Finished finished = compare(ORIGINAL_OF_ANOTHER_LIBTORCH, folder);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  // The gradient of the bias before a batch norm is only rounding errors, which Adam turns into whole steps.
  const bool same = has(finished, "171 tensors");
  EXPECT_TRUE(same || has(finished, "only by rounding: the gradient of 'conv1.bias'")) << finished.output;
}

class PortWithALaterFault : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(PortWithALaterFault, DepartsThoughRoundingHasMovedAParameterBefore) {
  const auto& [fault, place] = GetParam();
  const fs::path folder = fresh_folder();
  record_port("cnn", "adam", fault, folder);
  const Finished finished = compare(ORIGINAL_OF_ANOTHER_LIBTORCH, folder);
  EXPECT_EQ(finished.exit_code, 1) << finished.output;
  EXPECT_TRUE(has(finished, std::string("Python and C++ depart in step 2") + place)) << finished.output;
}

const std::pair<const char*, const char*> later[] = {
    {"gradients kept", ": the gradient of 'conv1.weight' differs"},
    {"later halved gradients", ": the gradient of 'conv1.weight' differs"},
    {"later random gradients", ": the gradient of 'conv1.weight' differs"},
    {"later rotated gradients", ": the gradient of 'conv1.weight' differs"},
    {"later other targets", ": the loss differs"},
    {"later evaluation mode", ", in the forward of 'bn1'"},
};

INSTANTIATE_TEST_SUITE_P(Each, PortWithALaterFault, testing::ValuesIn(later), [](const auto& each) {
  std::string name = each.param.first;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST(PortWithAFunctionForAModule, Agrees) {
  for (const char* model : {"mlp", "cnn"}) {
    for (const char* optimizer : {"sgd", "adam"}) {
      const Finished finished = compare_with_port(model, optimizer, "activation as a function");
      EXPECT_EQ(finished.exit_code, 0) << finished.output;
      EXPECT_TRUE(has(finished, "Python and C++ agree in 3 steps: ")) << finished.output;
    }
  }
}

TEST(PortWithOtherNames, IsAlignedByOrderAndSaysHow) {
  const fs::path folder = fresh_folder();
  record_port("mlp", "adam", "other names", folder / "port");
  const fs::path original = originals() / "mlp-adam";
  const Finished by_order = compare(original, folder / "port");
  EXPECT_EQ(by_order.exit_code, 0) << by_order.output;
  const std::string map = "modules:\n  act: squash\n  fc1: input\n  fc2: output\n";
  EXPECT_TRUE(has(by_order, map)) << by_order.output;

  std::ofstream(folder / "map.yaml") << map;
  const std::string options = "--map " + (folder / "map.yaml").string();
  const Finished by_map = compare(original, folder / "port", options);
  EXPECT_EQ(by_map.exit_code, 0) << by_map.output;
  EXPECT_FALSE(has(by_map, "modules:")) << by_map.output;

  std::ofstream(folder / "map.yaml") << "modules: {fc1: output, fc2: input}";
  EXPECT_EQ(compare(original, folder / "port", options).exit_code, 1) << "the wrong map is used";
}

TEST(PortToTheSameLanguage, IsNamedByFolders) {
  const fs::path folder = fresh_folder();
  record_port("lstm", "sgd", "", folder / "before");
  record_port("lstm", "sgd", "", folder / "after");
  const Finished same = compare(folder / "before", folder / "after");
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_TRUE(has(same, "before and after agree in 3 steps: ") && has(same, ", exactly")) << same.output;

  record_port("lstm", "sgd", "permuted gates", folder / "broken");
  const Finished other = compare(folder / "before", folder / "broken");
  EXPECT_EQ(other.exit_code, 1) << other.output;
  EXPECT_TRUE(has(other, "before and broken depart before the first step")) << other.output;
}

TEST(FingerprintPositions, AreTheSameInBothLanguages) {
  const std::vector<std::vector<int64_t>> shapes = {{},
                                                    {0},
                                                    {1},
                                                    {64},
                                                    {65},
                                                    {1000003},
                                                    {8, 8},
                                                    {9, 9},
                                                    {3, 700},
                                                    {700, 3},
                                                    {2, 3, 5},
                                                    {7, 31, 11},
                                                    {64, 3, 7, 7},
                                                    {7, 7, 3, 64},
                                                    {1, 1, 1, 65},
                                                    {0, 5},
                                                    {4, 4, 4, 4, 4},
                                                    {2, 3, 4, 5, 6, 7},
                                                    {50257, 768}};
  std::string lines, expected;
  for (const std::vector<int64_t>& shape : shapes) {
    for (const int64_t size : shape) lines += std::to_string(size) + " ";
    lines += "\n";
    std::string line;
    for (const int64_t position : fingerprint_positions(shape))
      line += (line.empty() ? "" : " ") + std::to_string(position);
    expected += line + "\n";
  }
  const fs::path file = write("shapes", lines);
  const Finished finished = run(
      TORCH_PYTHON + " -W ignore " + PAIRS + " " + RECORDER + " --positions <" + file.string() + " 2>/dev/null", ".");
  EXPECT_EQ(finished.output, expected);
}

}  // namespace
}  // namespace loupe::test
