// A lens that computes with LibTorch's tensors. Its options make it write to them, or keep them until the next event.
#include <loupe/lenses/kept_tensor.h>
#include <loupe/plugin.h>
#include <loupe/torch.h>

#include <memory>
#include <utility>

namespace {

class ByLibtorch : public loupe::Lens {
 public:
  static constexpr const char* name = "by_libtorch";
  static constexpr const char* help = "the mean of the elements, by LibTorch";
  static std::vector<loupe::Option> options() {
    std::vector<loupe::Option> options;
    options.emplace_back("writes", false, "each tensor is doubled where it is");
    options.emplace_back("keeps", false, "each tensor is looked at again at the next event");
    return options;
  }
  ByLibtorch(const loupe::Options& options, const loupe::Host& host)
      : host_(host), writes_(options.get<bool>("writes")), keeps_(options.get<bool>("keeps")) {}

  void visit(const loupe::Module& module) override {
    if (module.is_leaf()) watch(module, {"forward"}, std::make_unique<Mean>(*this));
  }
  void report(loupe::Report&) override {}

 private:
  class Mean : public loupe::Preprocessor {
   public:
    explicit Mean(const ByLibtorch& lens) : lens_(lens) {}
    loupe::Request request() const override {
      loupe::Request wanted;
      wanted.wants_tensor = true;
      return wanted;
    }
    void process(const loupe::Event& event) override {
      if (!event.tensor()) return;
      at::Tensor tensor = loupe::as_torch(event.tensor().raw());
      if (lens_.writes_) tensor.mul_(2);
      const loupe::KeptTensor copy(lens_.host_, *event.tensor().raw());
      if (!loupe::as_torch(&copy.view()).sizes().equals(tensor.sizes())) throw loupe::Error("the copy has other sizes");
      mean_.push(tensor.to(at::kDouble).mean().item<double>());
      if (!lens_.keeps_) return;
      if (last_.defined()) last_.to(at::kDouble).sum().item<double>();
      last_ = std::move(tensor);
    }

   private:
    const ByLibtorch& lens_;
    at::Tensor last_;
    loupe::Series& mean_ = add_series("mean");
  };

  const loupe::Host host_;
  const bool writes_, keeps_;
};

}  // namespace

LOUPE_PLUGIN("by_libtorch", "1", ByLibtorch);
