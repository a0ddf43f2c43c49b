#include "run/sampler_taps.h"

#include <torch/data/samplers.h>

#include <string>
#include <typeinfo>

#include "torch/redirect/redirections.h"

namespace loupe {
namespace {

void (*sampler_reset)(const void*) = nullptr;

template <class Type, class Signature = decltype(&Type::reset)>
struct SamplerTap;
template <class Type, class Owner, class Size>
struct SamplerTap<Type, void (Owner::*)(Size)> {
  static void tap(Type* self, Size size) {
    sampler_reset(self);
    self->Type::reset(size);
  }
  /// The member is virtual, so that no pointer to it says where it lies; a loader calls it by its name.
  static void declare(const std::string& type) {
    const std::string function = typeid(void(Size)).name();  // "Fv", the parameter, "E"
    const std::string parameter = function.substr(2, function.size() - 3);
    Redirections::instance().declare("_ZN5torch4data8samplers" + type + "5resetE" + parameter,
                                     reinterpret_cast<void*>(&tap), false);
  }
};

}  // namespace

void declare_sampler_taps(void (*reset)(const void*)) {
  using namespace torch::data::samplers;
  sampler_reset = reset;
  SamplerTap<RandomSampler>::declare("13RandomSampler");
  SamplerTap<SequentialSampler>::declare("17SequentialSampler");
  SamplerTap<StreamSampler>::declare("13StreamSampler");
  SamplerTap<DistributedRandomSampler>::declare("24DistributedRandomSampler");
  SamplerTap<DistributedSequentialSampler>::declare("28DistributedSequentialSampler");
}

}  // namespace loupe
