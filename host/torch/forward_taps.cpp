// Every forward that LibTorch exports, with the tap that its calls are redirected to.

#include <typeindex>
#include <unordered_map>

#include "loupe/tapped.h"
#include "torch/forward_scope.h"
#include "torch/module_types.h"
#include "torch/norm_taps.h"
#include "torch/redirections.h"

namespace loupe {
namespace {

template <auto Forward>
struct ForwardTap;

// A free function whose first parameter is the object is called like a member function (Itanium C++ ABI), also where
// the result is returned through memory.
template <class Class, class Result, class... Arguments, Result (Class::*Forward)(Arguments...)>
struct ForwardTap<Forward> {
  static inline Result (*real)(Class*, Arguments...) = nullptr;

  static Result tap(Class* self, Arguments... arguments) {
    if (active_attachments.load(std::memory_order_relaxed) == 0)
      return real(self, std::forward<Arguments>(arguments)...);
    ForwardScope scope(self);
    scope.enter(arguments...);
    Result result = real(self, std::forward<Arguments>(arguments)...);
    scope.leave(result);
    return result;
  }

  static void* address() {
    // A pointer to a non-virtual member begins with the function's address (Itanium C++ ABI).
    const auto member = Forward;
    void* address = nullptr;
    std::memcpy(&address, &member, sizeof address);
    return address;
  }
};

struct KnownForward {
  std::string symbol;
  bool opaque;  // a leaf
};

class ForwardTable {
 public:
  static const ForwardTable& instance() {
    static const ForwardTable table;
    return table;
  }
  /// By the type itself, or by a base of it when the type is the user's own.
  const KnownForward* find(const torch::nn::Module& module) const {
    const auto found = known_.find(std::type_index(typeid(module)));
    if (found != known_.end()) return &found->second;
    for (const auto& [is_base, type] : bases_) {
      if (is_base(module)) return &known_.at(type);
    }
    return nullptr;
  }

 private:
  template <class Type, auto Forward>
  void add(bool opaque = true) {
    using Tap = ForwardTap<Forward>;
    void* address = Tap::address();
    std::memcpy(&Tap::real, &address, sizeof address);
    const std::string symbol = symbol_of(address);
    Redirections::instance().declare(symbol, reinterpret_cast<void*>(&Tap::tap), true);
    known_.emplace(std::type_index(typeid(Type)), KnownForward{symbol, opaque});
    bases_.emplace_back([](const torch::nn::Module& module) { return dynamic_cast<const Type*>(&module) != nullptr; },
                        std::type_index(typeid(Type)));
  }

  ForwardTable();

  std::unordered_map<std::type_index, KnownForward> known_;
  std::vector<std::pair<bool (*)(const torch::nn::Module&), std::type_index>> bases_;
};

#define LOUPE_LEAF(TYPE) add<torch::nn::TYPE##Impl, &torch::nn::TYPE##Impl::forward>()
#define LOUPE_INNER(TYPE) add<torch::nn::TYPE##Impl, &torch::nn::TYPE##Impl::forward>(false)

ForwardTable::ForwardTable() {
  LOUPE_LEAF(AdaptiveAvgPool1d);
  LOUPE_LEAF(AdaptiveAvgPool2d);
  LOUPE_LEAF(AdaptiveAvgPool3d);
  LOUPE_LEAF(AdaptiveMaxPool1d);
  LOUPE_LEAF(AdaptiveMaxPool2d);
  LOUPE_LEAF(AdaptiveMaxPool3d);
  LOUPE_LEAF(AlphaDropout);
  LOUPE_LEAF(AvgPool1d);
  LOUPE_LEAF(AvgPool2d);
  LOUPE_LEAF(AvgPool3d);
  LOUPE_LEAF(BCELoss);
  LOUPE_LEAF(BCEWithLogitsLoss);
  LOUPE_LEAF(Bilinear);
  LOUPE_LEAF(CELU);
  LOUPE_LEAF(CTCLoss);
  LOUPE_LEAF(ConstantPad1d);
  LOUPE_LEAF(ConstantPad2d);
  LOUPE_LEAF(ConstantPad3d);
  LOUPE_LEAF(Conv1d);
  LOUPE_LEAF(Conv2d);
  LOUPE_LEAF(Conv3d);
  LOUPE_LEAF(ConvTranspose1d);
  LOUPE_LEAF(ConvTranspose2d);
  LOUPE_LEAF(ConvTranspose3d);
  LOUPE_LEAF(CosineEmbeddingLoss);
  LOUPE_LEAF(CosineSimilarity);
  LOUPE_LEAF(CrossEntropyLoss);
  LOUPE_LEAF(CrossMapLRN2d);
  LOUPE_LEAF(Dropout);
  LOUPE_LEAF(Dropout2d);
  LOUPE_LEAF(Dropout3d);
  LOUPE_LEAF(ELU);
  LOUPE_LEAF(Embedding);
  LOUPE_LEAF(EmbeddingBag);
  LOUPE_LEAF(FeatureAlphaDropout);
  LOUPE_LEAF(Flatten);
  LOUPE_LEAF(Fold);
  LOUPE_LEAF(FractionalMaxPool2d);
  LOUPE_LEAF(FractionalMaxPool3d);
  LOUPE_LEAF(GELU);
  LOUPE_LEAF(GLU);
  LOUPE_LEAF(GRU);
  LOUPE_LEAF(GRUCell);
  LOUPE_LEAF(GroupNorm);
  LOUPE_LEAF(Hardshrink);
  LOUPE_LEAF(Hardtanh);
  LOUPE_LEAF(HingeEmbeddingLoss);
  LOUPE_LEAF(HuberLoss);
  LOUPE_LEAF(Identity);
  LOUPE_LEAF(KLDivLoss);
  LOUPE_LEAF(L1Loss);
  LOUPE_LEAF(LPPool1d);
  LOUPE_LEAF(LPPool2d);
#if LOUPE_TORCH_AT_LEAST(2, 1)
  LOUPE_LEAF(LPPool3d);
#endif
  LOUPE_LEAF(LSTM);
  LOUPE_LEAF(LSTMCell);
  LOUPE_LEAF(LayerNorm);
  LOUPE_LEAF(LeakyReLU);
  LOUPE_LEAF(Linear);
  LOUPE_LEAF(LocalResponseNorm);
  LOUPE_LEAF(LogSigmoid);
  LOUPE_LEAF(LogSoftmax);
  LOUPE_LEAF(MSELoss);
  LOUPE_LEAF(MarginRankingLoss);
  LOUPE_LEAF(MaxPool1d);
  LOUPE_LEAF(MaxPool2d);
  LOUPE_LEAF(MaxPool3d);
  LOUPE_LEAF(MaxUnpool1d);
  LOUPE_LEAF(MaxUnpool2d);
  LOUPE_LEAF(MaxUnpool3d);
  LOUPE_LEAF(Mish);
  LOUPE_LEAF(MultiLabelMarginLoss);
  LOUPE_LEAF(MultiLabelSoftMarginLoss);
  LOUPE_LEAF(MultiMarginLoss);
  LOUPE_LEAF(MultiheadAttention);
  LOUPE_LEAF(NLLLoss);
  LOUPE_LEAF(PReLU);
  LOUPE_LEAF(PairwiseDistance);
  LOUPE_LEAF(PixelShuffle);
  LOUPE_LEAF(PixelUnshuffle);
  LOUPE_LEAF(PoissonNLLLoss);
  LOUPE_LEAF(RNN);
  LOUPE_LEAF(RNNCell);
  LOUPE_LEAF(RReLU);
  LOUPE_LEAF(ReLU);
  LOUPE_LEAF(ReLU6);
  LOUPE_LEAF(ReflectionPad1d);
  LOUPE_LEAF(ReflectionPad2d);
  LOUPE_LEAF(ReplicationPad1d);
  LOUPE_LEAF(ReplicationPad2d);
  LOUPE_LEAF(ReplicationPad3d);
  LOUPE_LEAF(SELU);
  LOUPE_LEAF(SiLU);
  LOUPE_LEAF(Sigmoid);
  LOUPE_LEAF(SmoothL1Loss);
  LOUPE_LEAF(SoftMarginLoss);
  LOUPE_LEAF(Softmax);
  LOUPE_LEAF(Softmax2d);
  LOUPE_LEAF(Softmin);
  LOUPE_LEAF(Softplus);
  LOUPE_LEAF(Softshrink);
  LOUPE_LEAF(Softsign);
  LOUPE_LEAF(Tanh);
  LOUPE_LEAF(Tanhshrink);
  LOUPE_LEAF(Threshold);
  LOUPE_LEAF(TripletMarginLoss);
  LOUPE_LEAF(TripletMarginWithDistanceLoss);
  LOUPE_LEAF(Unflatten);
  LOUPE_LEAF(Unfold);
  LOUPE_LEAF(Upsample);
  LOUPE_LEAF(ZeroPad2d);
#if LOUPE_TORCH_AT_LEAST(1, 13)
  LOUPE_LEAF(ReflectionPad3d);
#endif
#if LOUPE_TORCH_AT_LEAST(2, 1)
  LOUPE_LEAF(ZeroPad1d);
  LOUPE_LEAF(ZeroPad3d);
#endif
  // These run modules or functions that are worth a look of their own.
  LOUPE_INNER(AdaptiveLogSoftmaxWithLoss);
  LOUPE_INNER(Functional);
  LOUPE_INNER(Transformer);
  LOUPE_INNER(TransformerDecoder);
  LOUPE_INNER(TransformerDecoderLayer);
  LOUPE_INNER(TransformerEncoder);
  LOUPE_INNER(TransformerEncoderLayer);
}

}  // namespace

void declare_forward_taps() {
  ForwardTable::instance();
  declare_norm_taps();
}

Reach reach_of(const torch::nn::Module& module, bool redirect) {
  Reach reach;
  reach.container = !module.children().empty();
  if (dynamic_cast<const detail::TappedMark*>(&module) != nullptr) {
    reach.tapped = true;
    return reach;
  }
  const KnownForward* known = ForwardTable::instance().find(module);
  const bool is_norm = is_tappable_norm(module);
  reach.opaque = (known != nullptr && known->opaque) || is_norm;
  if (!redirect) {
    reach.reason = "taps: explicit is set; use loupe::Tapped, or taps: auto";
  } else if (is_norm) {
    reach.tapped = true;
  } else if (known == nullptr) {
    reach.reason = "its forward is compiled into the program; use loupe::Tapped<" + module.name() + ">";
  } else if (known->symbol.empty() || !Redirections::instance().reaches(known->symbol)) {
    reach.reason =
        "no call of its forward can be redirected here (is LibTorch linked statically?); use loupe::Tapped<" +
        module.name() + ">";
  } else {
    reach.tapped = true;
  }
  return reach;
}

}  // namespace loupe
