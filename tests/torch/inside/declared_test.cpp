// Every forward and activation that LibTorch exports has a tap, or is listed here with the reason why it has none.

#include <ATen/Operators.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <regex>
#include <set>
#include <string>

#include "torch/taps/tap_lists.h"

namespace {

std::string demangled(const char* symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : "";
  std::free(text);
  return name;
}

/// All demangled names that the object with `address` exports whose symbol contains `part`.
std::set<std::string> exports_beside(const void* address, const char* part) {
  Dl_info info{};
  link_map* map = nullptr;
  std::set<std::string> names;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return names;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* hash = nullptr;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) hash = reinterpret_cast<const std::uint32_t*>(entry->d_un.d_ptr);
  }
  if (symbols == nullptr || strings == nullptr || hash == nullptr) return names;
  // The hash table's chains list the defined symbols. A chain ends at an odd value.
  const std::uint32_t bucket_count = hash[0], first = hash[1], bloom_size = hash[2];
  const std::uint32_t* buckets = hash + 4 + bloom_size * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chains = buckets + bucket_count;
  for (std::uint32_t b = 0; b < bucket_count; ++b) {
    if (buckets[b] < first) continue;
    for (std::uint32_t i = buckets[b];; ++i) {
      const char* symbol = strings + symbols[i].st_name;
      if (std::strstr(symbol, part) != nullptr) names.insert(demangled(symbol));
      if ((chains[i - first] & 1U) != 0) break;
    }
  }
  return names;
}

/// The exported name of the function that a pointer to a member or function points to.
template <class Pointer>
std::string exported_name(Pointer pointer) {
  const void* address = nullptr;
  std::memcpy(&address, &pointer, sizeof address);
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_sname != nullptr ? demangled(info.dli_sname) : "";
}

const void* in_libtorch() {
  return reinterpret_cast<const void*>(&at::_ops::native_dropout::call);
}

}  // namespace

TEST(Declared, IsEveryForwardThatLibTorchExports) {
  std::set<std::string> declared;
#define DECLARED(TYPE)                                                                            \
  EXPECT_TRUE(declared.insert(exported_name(&torch::nn::TYPE##Impl::forward)).first->size() != 0) \
      << #TYPE << "'s forward has a tap, but LibTorch no longer exports it: no slot leads to it";
  LOUPE_LEAVES(DECLARED)
  LOUPE_LEAVES_SINCE(DECLARED)
  LOUPE_INNERS(DECLARED)
  const std::regex is_forward("^torch::nn::[A-Za-z0-9]+Impl(<.*>)?::forward\\(.*");
  std::size_t found = 0;
  for (const std::string& name : exports_beside(in_libtorch(), "7forwardE")) {
    if (!std::regex_match(name, is_forward)) continue;
    ++found;
    EXPECT_TRUE(declared.count(name) != 0) << name << " is exported, but no tap is declared for it";
  }
  EXPECT_GT(found, 100U);
}

TEST(Declared, IsEveryActivationFunctionThatLibTorchExports) {
  std::set<std::string> declared;
#define DECLARED_FUNCTION(KIND, OPERATOR) declared.insert(#OPERATOR);
  LOUPE_FUNCTIONS_EVERYWHERE(DECLARED_FUNCTION)
  LOUPE_FUNCTIONS(DECLARED_FUNCTION)
  // Names that look like an activation, but that no model's forward calls, with the reason.
  const std::regex left_out(
      ".*(backward|_jvp|grad_input).*"                                 // gradients
      "|.*(_out|_output)$|.*_out_.*"                                   // write the result to an existing tensor
      "|_foreach_.*|.*(cudnn|miopen|mkldnn|quantized|fbgemm|mps).*"    // lists; kernels of one device
      "|.*(_sparse|_nested|_masked|_jagged).*|_safe_softmax"           // kernels of other layouts, which LibTorch calls
      "|_(log_)?softmax(_.*)?|log_sigmoid_forward|rrelu_with_noise.*"  // inner parts of the declared functions
      "|_prelu_kernel|_?native_dropout|_fused_dropout.*|_add_relu.*|_addmm_activation"
      "|rnn_.*|_?(arc|a)tanh_?|soft_margin_loss.*"               // recurrent layers; a different function; a loss
      "|clamp_max.*|clamp_+Tensor|clamp_min_+Tensor|maximum_.*"  // have an upper limit, or limits in tensors
      "|_scaled_dot_product.*|_triton.*|_transform_bias.*"       // compute attention in one kernel
      "|_flash_attention.*|_efficient_attention.*|_fill_mem_eff_dropout_mask.*");
  const std::regex looks_so(
      ".*(relu|elu|sigmoid|tanh|softmax|softplus|softsign|softmin|soft_|hardswish|shrink|mish|silu|glu|dropout|"
      "threshold|"
      "clamp|maximum|expit).*|max_other");
  std::set<std::string> missing = declared;
  const std::regex is_call("^at::_ops::([A-Za-z0-9_]+)::call\\(.*");
  for (const std::string& name : exports_beside(in_libtorch(), "4callE")) {
    std::smatch match;
    if (!std::regex_match(name, match, is_call)) continue;
    missing.erase(match[1]);
    if (!std::regex_match(match[1].str(), looks_so)) continue;
    EXPECT_TRUE(declared.count(match[1]) != 0 || std::regex_match(match[1].str(), left_out))
        << match[1] << " is exported and looks like an activation function, but no tap is declared for it";
  }
  for (const std::string& name : missing) ADD_FAILURE() << name << " has a tap, but LibTorch no longer exports it";
}
