// The lens in C++ that c_host.c runs, built by each compiler and each standard library.
#include <loupe/plugin.h>

class MeanOutput : public loupe::LayerLens {
 public:
  static constexpr const char* name = "mean_output";
  static constexpr const char* help = "the mean of each output";
  using LayerLens::LayerLens;
  void visit(const loupe::Module& module) override {
    each(module, loupe::Watch(LOUPE_GATHER_FORWARD).measure(LOUPE_MEASURE_SUMS), [](const loupe::Event& event) {
      return event.measurement().sum / static_cast<double>(event.measurement().numel);
    });
  }
};

LOUPE_PLUGIN("mean_output", "1", MeanOutput);
