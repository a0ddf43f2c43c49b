#ifndef LOUPE_PLUGINS_HEALTH_WATCHES_H
#define LOUPE_PLUGINS_HEALTH_WATCHES_H

#include <loupe/host.h>
#include <loupe/preprocessor.h>

#include <array>
#include <atomic>
#include <deque>

#include "health/model.h"
#include "health/trail.h"

namespace loupe::health {

/// What the events of all models write to.
struct Watched {
  explicit Watched(const Host& host_) : host(host_) {}
  Host host;
  Trail trail;
  std::atomic<uint64_t> last_step{0};  ///< of the run's clock, at the end of the last step that was looked at
};

/// A layer's output in numbers: those that other lenses ask for too, where they are there.
class OutputNumbers : public Preprocessor {
 public:
  OutputNumbers(Watched& watched, Model& model, Layer& layer) : watched_(watched), model_(model), layer_(layer) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  Watched& watched_;
  Model& model_;
  Layer& layer_;
};

/// The same output beside what went in, for what only the elements show. Comes after OutputNumbers of the same event.
class OutputLook : public Preprocessor {
 public:
  OutputLook(Watched& watched, Model& model, Layer& layer) : watched_(watched), model_(model), layer_(layer) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  void look_at_input(const Event& event);
  void look_for_life(const TensorView& output);
  void look_for_bounds(const TensorView& output);
  void look_for_variation(const Event& event);
  void look_at_spread(const TensorView& output);
  void explain(const Event& event);

  Watched& watched_;
  Model& model_;
  Layer& layer_;
  uint64_t events_ = 0;
};

/// A parameter's gradient, after each backward.
class GradientNumbers : public Preprocessor {
 public:
  GradientNumbers(Watched& watched, Model& model, ParameterState& state)
      : watched_(watched), model_(model), state_(state) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  Watched& watched_;
  Model& model_;
  ParameterState& state_;
};

/// A parameter after each step of its optimizer.
class StepNumbers : public Preprocessor {
 public:
  StepNumbers(Watched& watched, Model& model, ParameterState& state)
      : watched_(watched), model_(model), state_(state) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  Watched& watched_;
  Model& model_;
  ParameterState& state_;
};

/// Which elements of a parameter of 16 bits a step changed.
class StepLook : public Preprocessor {
 public:
  StepLook(Watched& watched, Model& model, ParameterState& state) : watched_(watched), model_(model), state_(state) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  static constexpr int64_t most_looked_at = 256;
  Watched& watched_;
  Model& model_;
  ParameterState& state_;
  std::array<uint64_t, most_looked_at> last_{};
  bool has_last_ = false;
};

/// What a cross entropy is given.
class LossInputLook : public Preprocessor {
 public:
  LossInputLook(Watched&, Model& model) : model_(model) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  Model& model_;
};

}  // namespace loupe::health

#endif
