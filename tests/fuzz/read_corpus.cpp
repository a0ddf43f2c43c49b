// Passes each file of the command line to the target once, as libFuzzer does, but with any compiler.

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FILE...\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    std::ifstream stream(argv[i], std::ios::binary);
    if (!stream) {
      std::fprintf(stderr, "%s cannot be read\n", argv[i]);
      return 2;
    }
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    std::printf("%s\n", argv[i]);
    std::fflush(stdout);  // after a crash, the last printed file is the cause
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  return 0;
}
