#include "report/made_runs.h"

#include "config/settings.h"
#include "visualizers/made_model.h"

#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <vector>

namespace loupe::test {

namespace {

constexpr const char* CONFIG = R"(loupe: 1
run: {name: digits, dir: runs/digits}
lenses:
  - loss_metrics: {metrics: [accuracy]}
  - output_activation: {include: [+Linear]}
  - gradient_geometry: {parameters: [weight], range: [std, min-max]}
visualizers: [html]
training: {learning_rate: 0.01, batch_size: 64, optimizer: adam, nesterov: false}
)";

/// Pseudo-random noise from a fixed seed; it is the same on every machine, unlike the standard's distributions.
class Noise {
 public:
  explicit Noise(std::uint32_t seed) : engine_(seed) {}
  /// Roughly normal, mean 0, deviation 1.
  double operator()() {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>(engine_()) / 4294967296.0;
    return (sum - 2) * std::sqrt(3.0);
  }

 private:
  std::mt19937 engine_;
};

void begin(Driver& visualizer, const MadeRun& made, const MadeModel& model) {
  const char* config = made.config.empty() ? CONFIG : made.config.c_str();
  settings_of(config).lend([&](const loupe_options* settings) {
    loupe_run run = Driver::run_of(made.directory, made.resumed, made.name, config);
    run.settings = settings;
    visualizer.begin(run);
  });
  visualizer.model(model.told());
}

struct Style {
  std::uint32_t type = LOUPE_SCALE_NUMERICAL;
  bool log_y = false, big = false, annotate = true;
  std::optional<double> low = {}, high = {};
};

void tag(Driver& visualizer, const char* name, const Style& style) {
  loupe_tag tag{};
  tag.struct_size = sizeof tag;
  tag.type = style.type;
  tag.id = name;
  tag.flags = (style.log_y ? uint32_t{LOUPE_TAG_LOG_Y} : 0u) | (style.big ? uint32_t{LOUPE_TAG_BIG} : 0u) |
              (style.annotate ? uint32_t{LOUPE_TAG_ANNOTATE} : 0u) |
              (style.low ? uint32_t{LOUPE_TAG_HAS_MINIMUM} : 0u) | (style.high ? uint32_t{LOUPE_TAG_HAS_MAXIMUM} : 0u);
  tag.y_minimum = style.low.value_or(0);
  tag.y_maximum = style.high.value_or(0);
  const std::string what = std::string("What ") + name + " is, with its formula: |a| / |b|, where a < b > 0.";
  tag.description = what.c_str();
  tag.healthy = "Level, and of the same order in all layers.";
  tag.advice = "Where it jumps, lower the learning rate.";
  if (what.find("What Loss ") == 0) tag.unit = "nats";
  visualizer.tag(tag);
}

/// A line with both bands around it, as a lens with `line: mean, range: [std, min-max]` writes them.
void spread(Driver& visualizer, const char* tag, const std::string& layer, const std::string& prefix, double mean,
            double deviation) {
  visualizer.value(tag, layer, prefix + "mean", mean);
  visualizer.range(tag, layer, prefix + "-σ", prefix + "+σ", mean - deviation, mean + deviation);
  visualizer.range(tag, layer, prefix + "min", prefix + "max", mean - 2.2 * deviation, mean + 2.9 * deviation);
}

/// Log-spaced bins around zero, open at both ends, with the counts of a normal distribution.
void normal_histogram(Driver& visualizer, const char* tag, const std::string& layer, double deviation) {
  constexpr int magnitudes = 80;
  std::vector<double> edges{-INFINITY};
  for (int i = 39; i >= -40; --i) edges.push_back(-std::exp2(i));
  for (int i = -40; i <= 39; ++i) edges.push_back(std::exp2(i));
  edges.push_back(INFINITY);
  static_assert(magnitudes == 80);
  const auto below = [&](double x) { return 0.5 * std::erfc(-x / deviation / std::sqrt(2.0)); };
  std::vector<double> counts;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    counts.push_back(std::floor(1e5 * (below(edges[i + 1]) - below(edges[i])) + 0.5));
  }
  visualizer.histogram(tag, layer, "weight", edges, counts);
}

void introduce_small(Driver& visualizer) {
  tag(visualizer, "Loss", {LOUPE_SCALE_NUMERICAL, false, true});
  tag(visualizer, "Metrics", {LOUPE_SCALE_NUMERICAL, false, true});
  tag(visualizer, "Output Activations", {LOUPE_SCALE_PROBABILITY});
  tag(visualizer, "Worst Output Activations", {LOUPE_SCALE_PROBABILITY, false, true});
  tag(visualizer, "Weight Gradient Norm", {LOUPE_SCALE_NUMERICAL, true});
  tag(visualizer, "Weight Gradient Correlation", {LOUPE_SCALE_NUMERICAL, false, false, true, -1, 1});
  tag(visualizer, "Weight Norm Comparison", {LOUPE_SCALE_RELATION, false, true, false});
  tag(visualizer, "Weight Histogram", {});
}

void tell_losses(Driver& visualizer, double progress, Noise& noise, double rate, double factor = 1) {
  const double train = factor * (2.3 * std::exp(-progress * 300 * rate) + 0.04 + 0.01 * std::fabs(noise()));
  const double validation = train + 0.03 + 0.35 * progress * progress * rate * 30 + 0.015 * noise();
  spread(visualizer, "Loss", "Loss", "train_loss ", train, 0.15 * train);
  visualizer.value("Loss", "Loss", "val_loss mean", validation);
  visualizer.value("Metrics", "Metrics", "accuracy mean", 1 - 0.35 * validation + 0.004 * noise());
}

constexpr std::uint64_t STEPS_PER_EPOCH = 60;

constexpr const char* WATCHED = R"(loupe: 1
run: {name: digits, dir: runs/digits}
lenses:
  - loss_metrics: {metrics: [accuracy]}
  - health
visualizers: [html]
)";

/// A finding that may be reported in a later epoch than its first.
struct MadeFinding {
  uint32_t severity;
  const char *rule, *layer, *parameter, *message, *advice, *tag;
  int first_epoch;
  uint64_t count;
};

void tell(Driver& visualizer, const MadeFinding& told, int epoch, uint32_t state) {
  const auto step_of = [](int at) { return STEPS_PER_EPOCH * static_cast<uint64_t>(at) + 7; };
  visualizer.finding({.struct_size = sizeof(loupe_finding),
                      .severity = told.severity,
                      .state = state,
                      .rule = told.rule,
                      .layer = told.layer,
                      .parameter = told.parameter,
                      .message = told.message,
                      .advice = told.advice,
                      .tag = told.tag,
                      .source = "health",
                      .first_step = step_of(told.first_epoch),
                      .last_step = step_of(epoch),
                      .first_epoch = static_cast<double>(told.first_epoch),
                      .last_epoch = static_cast<double>(epoch),
                      .count = told.count});
}

const MadeFinding NAN_GRADIENT = {
    LOUPE_SEVERITY_ERROR,
    "non_finite_gradient",
    "fc2",
    "weight",
    "The gradient of fc2.weight holds NaN or infinity in 3 of 60 steps.",
    "Lower the learning rate or clip gradients, and look for a division or logarithm of zero.",
    "Weight Gradient Norm",
    12,
    3};
const MadeFinding DEAD_UNITS = {LOUPE_SEVERITY_WARNING,
                                "dead_units",
                                "fc1",
                                nullptr,
                                "40 % of the units of fc1 are silent for every input.",
                                "Lower the learning rate, or use an activation that lets negative values through.",
                                "Output Activations",
                                20,
                                10};
const MadeFinding OVERFITTING = {LOUPE_SEVERITY_WARNING,
                                 "overfitting",
                                 nullptr,
                                 nullptr,
                                 "The validation loss has risen for 8 epochs while the training loss falls.",
                                 "Stop earlier, or regularise.",
                                 "Loss",
                                 22,
                                 8};
const MadeFinding LARGE_UPDATES = {LOUPE_SEVERITY_WARNING,
                                   "large_updates",
                                   "conv1",
                                   "weight",
                                   "The updates of conv1.weight are 5 % of its norm, 50 times the usual.",
                                   "Warm up the learning rate.",
                                   nullptr,
                                   0,
                                   4};
const MadeFinding UNUSED = {LOUPE_SEVERITY_INFO,
                            "unused_plot",
                            "no.such.layer",
                            nullptr,
                            "The layer no.such.layer has not run since epoch 2.",
                            nullptr,
                            nullptr,
                            2,
                            1};

void tell_settings(Driver& visualizer) {
  visualizer.hyperparameter("optimizer", "Adam");
  visualizer.hyperparameter("learning_rate", 0.01);
  visualizer.hyperparameter("batch_size", 64.0);
}

}  // namespace

void tell_small_run(Driver& visualizer, const MadeRun& run) {
  const std::vector<std::string> layers = {"conv1", "conv2", "fc1", "fc2", "head"};
  begin(visualizer, run,
        {"net",
         "DigitsNet",
         {{"net", "DigitsNet", {}, false},
          {"conv1", "Conv2d", {{32, 1, 3, 3}, {32}}},
          {"conv2", "Conv2d", {{64, 32, 3, 3}, {64}}},
          {"relu", "ReLU"},
          {"pool", "MaxPool2d"},
          {"dropout", "Dropout"},
          {"fc1", "Linear", {{128, 9216}, {128}}},
          {"fc2", "Linear", {{10, 128}}},
          {"head", "Scale", {{10}}}}});
  introduce_small(visualizer);
  Noise noise(run.seed);
  for (int i = 0; i < run.epochs; ++i) {
    const double progress = static_cast<double>(i) / std::max(run.epochs - 1, 1);
    if (run.before_tick) run.before_tick(visualizer, i);
    visualizer.begin_tick(run.first_epoch + i);
    tell_losses(visualizer, progress, noise, run.learning_rate, i >= run.collapses_in ? 20 : 1);
    double worst_death = 0, worst_activation = 1;
    std::vector<double> norms;
    for (std::size_t j = 0; j < layers.size(); ++j) {
      const double depth = static_cast<double>(j);
      const double death = std::min(0.95, std::max(0.0, 0.03 * depth + 0.4 * progress * (j == 2) + 0.01 * noise()));
      const double activation = std::max(0.0, 0.62 - 0.07 * depth - 0.3 * progress * (j == 2) + 0.01 * noise());
      worst_death = std::max(worst_death, death);
      worst_activation = std::min(worst_activation, activation);
      visualizer.value("Output Activations", layers[j], "activation_rate", activation);
      visualizer.value("Output Activations", layers[j], "death_rate", death);
      const double norm = std::exp(-0.9 * depth - 2.5 * progress + 0.12 * noise());
      spread(visualizer, "Weight Gradient Norm", layers[j], "", run.breaks && j == 3 && i == 12 ? NAN : norm,
             0.3 * norm);
      spread(visualizer, "Weight Gradient Correlation", layers[j], "",
             0.5 * std::cos(depth + 4 * progress) + 0.04 * noise(), 0.15);
      norms.push_back((1 + 0.5 * depth) * (1 + progress * (j == 4)));
      normal_histogram(visualizer, "Weight Histogram", layers[j], 0.05 * (1 + depth) * (1 + 2 * progress));
    }
    double sum = 0;
    for (const double norm : norms) sum += norm;
    for (std::size_t j = 0; j < layers.size(); ++j) {
      visualizer.value("Weight Norm Comparison", "Weight Norm Comparison", layers[j], norms[j] / sum);
    }
    visualizer.value("Worst Output Activations", "Worst Output Activations", "worst activation_rate", worst_activation);
    visualizer.value("Worst Output Activations", "Worst Output Activations", "worst death_rate", worst_death);
    visualizer.end_tick();
  }
  if (run.ends) visualizer.end();
}

void tell_large_run(Driver& visualizer, const MadeRun& run) {
  std::vector<std::string> layers;
  std::vector<MadeModule> modules = {{"resnet500", "ResNet", {}, false}};
  for (int stage = 1; stage <= 5; ++stage) {
    const std::string outer = "stage" + std::to_string(stage);
    modules.push_back({outer, "Sequential", {}, false});
    for (int block = 0; block < 25; ++block) {
      const std::string inner = outer + ".block" + std::to_string(block);
      modules.push_back({inner, "BasicBlock", {}, false});
      for (const char* part : {"conv1", "conv2", "norm1", "norm2"}) {
        layers.push_back(inner + "." + part);
        const bool is_norm = part[0] == 'n';
        modules.push_back({layers.back(), is_norm ? "BatchNorm2d" : "Conv2d",
                           is_norm ? std::vector<std::vector<int64_t>>{{160}, {160}}
                                   : std::vector<std::vector<int64_t>>{{160, 160, 3, 3}}});
      }
    }
  }
  begin(visualizer, run, {"resnet500", "ResNet", modules});
  introduce_small(visualizer);
  tag(visualizer, "Weight Update Norm", {LOUPE_SCALE_NUMERICAL, true});
  tag(visualizer, "Output Norm", {});
  Noise noise(run.seed);
  for (int i = 0; i < run.epochs; ++i) {
    const double progress = static_cast<double>(i) / std::max(run.epochs - 1, 1);
    visualizer.begin_tick(run.first_epoch + i);
    tell_losses(visualizer, progress, noise, run.learning_rate);
    for (std::size_t j = 0; j < layers.size(); ++j) {
      const double depth = static_cast<double>(j) / static_cast<double>(layers.size());
      double norm =
          std::exp(-1.5 - 2 * depth - 1.2 * progress + 0.2 * std::sin(9 * progress + 20 * depth) + 0.15 * noise());
      if (layers[j] == "stage4.block7.conv2") norm *= std::exp(-14 * progress);
      if (layers[j] == "stage2.block11.conv1") norm *= std::exp(9 * progress);
      if (layers[j] == "stage2.block11.conv1" && progress > 0.93) norm = NAN;
      spread(visualizer, "Weight Gradient Norm", layers[j], "", norm, 0.25 * norm);
      spread(visualizer, "Weight Gradient Correlation", layers[j], "",
             0.6 * std::sin(3 * progress + 12 * depth) + 0.08 * noise(), 0.12);
      spread(visualizer, "Weight Update Norm", layers[j], "", 1e-3 * norm * (1 + 0.1 * noise()), 2e-4 * norm);
      spread(visualizer, "Output Norm", layers[j], "", 3 + 2 * depth + progress + 0.1 * noise(), 0.4);
      visualizer.value("Weight Norm Comparison", "Weight Norm Comparison", layers[j],
                       (1 + depth) / (1.5 * static_cast<double>(layers.size())));
    }
    visualizer.end_tick();
  }
  visualizer.end();
}

void tell_hostile_run(Driver& visualizer, const MadeRun& run) {
  const std::string script = "<script>alert(1)</script>", comment = "</script><!-- <b onmouseover=alert(2)>";
  MadeRun hostile = run;
  hostile.name = script + "&amp;\"'";
  begin(visualizer, hostile,
        {"</script><script>alert(3)</script>",
         "<img src=x onerror=alert(4)>",
         {{script, "<img src=x onerror=alert(5)>", {{1, 1}}}, {comment, "\xff\xfe", {{2, 1}}}}});
  const std::string tag_name = "Norm <i>of</i> " + comment;
  tag(visualizer, tag_name.c_str(), {});
  tag(visualizer, script.c_str(), {LOUPE_SCALE_NUMERICAL, false, true});
  for (int i = 0; i < run.epochs; ++i) {
    visualizer.begin_tick(i);
    for (const std::string& layer :
         {script, comment, std::string("\xff\xfe latin"), std::string("\u00dcber.\u5c42 \"q\" \\ '")}) {
      visualizer.value(tag_name, layer, script, 1 + i);
      visualizer.range(tag_name, layer, "<u>min</u>", "max</script>", i, 2 + i);
    }
    visualizer.value(script, script, comment, i);
    visualizer.finding({.struct_size = sizeof(loupe_finding),
                        .severity = LOUPE_SEVERITY_ERROR,
                        .state = LOUPE_FINDING_RAISED,
                        .rule = script.c_str(),
                        .layer = script.c_str(),
                        .parameter = script.c_str(),
                        .message = comment.c_str(),
                        .advice = comment.c_str(),
                        .tag = tag_name.c_str(),
                        .source = script.c_str()});
    visualizer.note(LOUPE_NOTE_TRAINER, script + comment, 1, i);
    visualizer.hyperparameter(script, comment);
    visualizer.end_tick();
  }
  visualizer.end();
}

MadeRun ill_run() {
  MadeRun run;
  run.config = WATCHED;
  run.ends = false;
  run.before_tick = [](Driver& visualizer, int epoch) {
    if (epoch == 0) {
      tell_settings(visualizer);
      visualizer.note(LOUPE_NOTE_COST, "Every second step is looked at, to stay within the budget.", 0, 0);
      tell(visualizer, LARGE_UPDATES, 0, LOUPE_FINDING_RAISED);
    }
    if (epoch == 2) tell(visualizer, UNUSED, 2, LOUPE_FINDING_RAISED);
    if (epoch == 4) tell(visualizer, LARGE_UPDATES, 4, LOUPE_FINDING_GONE);
    if (epoch == 10) visualizer.note(LOUPE_NOTE_TRAINER, "The learning rate of Adam went from 0.01 to 0.001.", 600, 10);
    if (epoch == 12) tell(visualizer, NAN_GRADIENT, 12, LOUPE_FINDING_RAISED);
    if (epoch == 14)
      visualizer.note(LOUPE_NOTE_QUARANTINE, "The lens 'dead_units' is put aside: it divided by zero.", 840, 14);
    if (epoch == 20) tell(visualizer, DEAD_UNITS, 20, LOUPE_FINDING_RAISED);
    if (epoch == 22) tell(visualizer, OVERFITTING, 22, LOUPE_FINDING_RAISED);
    if (epoch == 25) visualizer.note(LOUPE_NOTE_TRAINER, "switched to the harder half of the data", 1500, 25);
    if (epoch == 29) tell(visualizer, DEAD_UNITS, 29, LOUPE_FINDING_CHANGED);
  };
  return run;
}

MadeRun warned_run() {
  MadeRun run;
  run.config = WATCHED;
  run.breaks = false;
  run.before_tick = [](Driver& visualizer, int epoch) {
    if (epoch == 22) tell(visualizer, OVERFITTING, 22, LOUPE_FINDING_RAISED);
  };
  return run;
}

MadeRun healthy_run() {
  MadeRun run;
  run.config = WATCHED;
  run.breaks = false;
  run.before_tick = [](Driver& visualizer, int epoch) {
    if (epoch == 0) tell_settings(visualizer);
  };
  return run;
}

MadeRun collapsed_run() {
  MadeRun run = healthy_run();
  run.collapses_in = 10;
  return run;
}

}  // namespace loupe::test
