// A lens that allocates memory for each tensor: once per event, or, depending on GATHERER, once per tick.
#include <loupe/plugin.h>

namespace {

class Allocates : public loupe::Lens {
 public:
  static constexpr const char* name = "allocates";
  static constexpr const char* help = "the mean of the elements, by way of a copy";
  explicit Allocates(const loupe::Options&) {}

  void visit(const loupe::Module& module) override {
    for (std::size_t i = 0; i < module.parameter_count(); ++i) {
      const loupe::Parameter& parameter = module.parameter(i);
      if (!loupe::is_buffer(parameter))
        watch(module, loupe::Watch(GATHERER).label(parameter.name), std::make_unique<Copies>());
    }
  }
  void report(loupe::Report&) override {}

 private:
  class Copies : public loupe::Preprocessor {
   public:
    loupe::Request request() const override {
      loupe::Request wanted;
      wanted.wants_tensor = true;
      return wanted;
    }
    void process(const loupe::Event& event) override {
      copies_.clear();
      copies_.shrink_to_fit();
      if (event.tensor()) copies_.assign(1000, 1.0);
      mean_.push(copies_.empty() ? 0 : copies_.front());
    }

   private:
    std::vector<double> copies_;
    loupe::Series& mean_ = add_series("mean");
  };
};

}  // namespace

LOUPE_PLUGIN("allocates", "1", Allocates);
