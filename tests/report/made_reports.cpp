// made_reports FOLDER: writes the reports that report_browser.py opens.
#include "paths.h"
#include "report/made_runs.h"
#include "visualizers/made_model.h"

#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using loupe::test::Driver;
using loupe::test::MadeRun;

namespace {

/// Shows the last steps before a NaN, as `loupe replay incident-412` does.
void tell_incident(Driver& html) {
  const std::string name = "digits, incident at step 412", directory;
  loupe_run run = Driver::run_of(directory, false, name);
  run.flags = LOUPE_RUN_INCIDENT;
  html.begin(run);
  html.model(loupe::test::MadeModel("", "", {{"fc1", "Linear"}, {"relu", "ReLU"}, {"fc2", "Linear"}}).told());
  for (const auto& [name, text] : {std::pair{"cause", "because of the finding 'non_finite' at 'fc1'"},
                                   {"why", "the output of 'fc1' holds NaN"},
                                   {"layer", "fc1"},
                                   {"step", "412"},
                                   {"epoch", "3"},
                                   {"streams_left_out", "2"},
                                   {"tensors", "fc1.weight.pt, fc1.weight.gradient.pt"}})
    html.hyperparameter(std::string("incident.") + name, text);
  html.hyperparameter("SGD group 0 learning_rate", "0.1");
  html.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
  for (const char* tag : {"Output Norm", "Output", "Non-Finite Values"}) html.tag(tag, LOUPE_SCALE_NUMERICAL);
  // Fc2's norm also has an old value, as a stream that was measured seldom keeps older steps.
  html.begin_tick(12);
  html.value("Output Norm", "fc2", "norm", 1);
  html.end_tick();
  for (int step = 405; step <= 412; ++step) {
    html.begin_tick(step);
    html.value("Loss", "Loss", "train_loss", step < 411 ? 0.1 * (step - 400) : NAN);
    for (const auto& [layer, broken_in] : {std::pair{"fc1", 409}, {"fc2", 410}}) {
      const bool is_finite = step < broken_in;
      if (!is_finite) html.value("Non-Finite Values", layer, "Output NaN", broken_in == 409 ? 3 : 10);
      if (!is_finite && broken_in == 410) html.value("Non-Finite Values", layer, "Output Inf", 1);
      html.value("Output Norm", layer, "norm", is_finite ? std::exp(step - 405) : NAN);
      if (is_finite) html.value("Output", layer, "mean", 0.1 * (step - 408));
    }
    html.end_tick();
  }
  html.finding({.struct_size = sizeof(loupe_finding),
                .severity = LOUPE_SEVERITY_ERROR,
                .rule = "non_finite",
                .layer = "fc1",
                .message = "the output of 'fc1' holds NaN",
                .first_step = 412,
                .last_step = 412,
                .first_epoch = 412,
                .last_epoch = 412});
  html.flush();
}

template <class Tell>
void make(const std::string& file, Tell&& tell) {
  Driver html(HTML_PLUGIN, {{"path", file}});
  tell(html);
}

/// A run that calls `tell` in each of its epochs.
struct PlainRun {
  std::string name;
  int epochs = 10, first_epoch = 0;
  std::vector<const char*> big = {"Loss"}, small = {};
  std::function<void()> begins = nullptr;  ///< shows more at the beginning of the run
  std::function<void()> ends = nullptr;    ///< replaces the end of the run
};
template <class Tell>
void run_of(Driver& html, const PlainRun& run, Tell&& tell) {
  html.begin(Driver::run_of("", false, run.name));
  if (run.begins) run.begins();
  for (const char* tag : run.big) html.tag(tag, LOUPE_SCALE_NUMERICAL, true);
  for (const char* tag : run.small) html.tag(tag);
  for (int epoch = 0; epoch < run.epochs; ++epoch) {
    html.begin_tick(run.first_epoch + epoch);
    tell(epoch);
    html.end_tick();
  }
  if (run.ends) {
    run.ends();
  } else {
    html.end();
  }
}
void goes_on() {}
void tell_loss(Driver& html, double loss) {
  html.value("Loss", "Loss", "train_loss mean", loss);
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::fprintf(stderr, "usage: made_reports FOLDER\n");
    return 2;
  }
  const std::string folder = arguments[1];
  make(folder + "/small.html", [](Driver& html) {
    html.set_pace(50, 90);
    tell_small_run(html, {});
  });
  make(folder + "/compared.html", [](Driver& html) {
    html.set_pace(50, 90);
    tell_small_run(html, {"adam", "", 30, 1, 0.012});
    html.set_pace(25, 20);
    MadeRun second = loupe::test::ill_run();
    second.name = "sgd with momentum";
    second.epochs = 40;
    second.seed = 2;
    second.learning_rate = 0.004;
    second.ends = true;
    tell_small_run(html, second);
  });
  {
    Driver html(HTML_PLUGIN, {{"path", folder + "/baseline.html"}, {"baseline", "second"}});
    for (const auto& [name, rate] : {std::pair{"first", 0.2}, {"second", 0.1}, {"third", 0.4}}) {
      const auto set = [&html, rate = rate] {
        html.hyperparameter("learning_rate", rate);
        html.hyperparameter("batch_size", 64.0);
      };
      run_of(html, {.name = name, .begins = set}, [&](int epoch) { tell_loss(html, rate * 10 / (1 + epoch)); });
    }
  }
  make(folder + "/passing.html", [](Driver& html) {
    const auto tell = [&](const char* layer, bool is_finite) {
      html.value("Norm", layer, "mean", 1);
      if (!is_finite) html.value("Non-Finite Values", layer, "Norm NaN", 3);
    };
    run_of(html, {"passing", 6, 0, {}, {"Norm", "Non-Finite Values"}, nullptr, goes_on}, [&](int epoch) {
      tell("once", epoch != 2);
      tell("twice", epoch != 2 && epoch != 4);
      tell("still", epoch < 3);
      if (epoch % 2 == 0) tell("seldom", epoch < 2);
    });
  });
  make(folder + "/diverged.html", [](Driver& html) {
    tell_small_run(html, {"adam", "", 30, 1, 0.012});
    run_of(html, {"diverged", 30}, [&](int epoch) { tell_loss(html, 2.0 * std::pow(epoch + 1, 3)); });
  });
  make(folder + "/level.html", [](Driver& html) {
    html.set_pace(50000, 90);
    run_of(html, {"level", 30, 1000000}, [&](int epoch) { tell_loss(html, epoch % 2 == 0 ? 1234.5 : 1234.75); });
  });
  // Each plot has different values: over decades, narrow, with zeros, or with both signs.
  make(folder + "/spread.html", [](Driver& html) {
    html.set_pace(700000, 4000);
    run_of(html, {"spread", 40, 100000, {"Wide", "Narrow", "With Zeros", "Signed", "Flat"}}, [&](int epoch) {
      const double fading = std::exp(-0.4 * epoch), sign = epoch % 2 == 0 ? 1 : -1;
      html.value("Wide", "Wide", "mean", 2 * fading);
      html.value("Narrow", "Narrow", "mean", 1e-3 * (0.2 + std::exp(-0.1 * epoch)));
      html.value("With Zeros", "With Zeros", "mean", epoch % 5 == 4 ? 0 : 300 * fading);
      html.value("Signed", "Signed", "mean", sign * fading);
      html.value("Flat", "Flat", "mean", 0);
    });
  });
  make(folder + "/gaps.html", [](Driver& html) {
    run_of(html, {"gaps", 20}, [&](int epoch) {
      if (epoch < 10 || epoch > 12) tell_loss(html, epoch == 5 ? NAN : 1 + (epoch > 5) + (epoch > 9));
      if (epoch % 3 == 0) html.value("Loss", "Loss", "val_loss mean", epoch == 0 ? 1 : 2);
    });
  });
  make(folder + "/formula.html", [](Driver& html) {
    run_of(html, {"formula", 3}, [&](int epoch) {
      for (const char* name : {"=HYPERLINK(\"http://a\",\"b\")", "+1", "@sum", "-2", "a, \"b\""})
        html.value("Loss", "Loss", name, epoch);
    });
  });
  make(folder + "/functions.html", [](Driver& html) {
    html.begin("");
    html.model(loupe::test::MadeModel(
                   "net", "Net",
                   {{"net", "Net", {}, false}, {"fc1", "Linear", {{8, 4}, {8}}}, {"fc2", "Linear", {{2, 8}, {2}}}})
                   .told());
    html.tag("Output Activations", LOUPE_SCALE_PROBABILITY);
    for (int epoch = 0; epoch < 3; ++epoch) {
      html.begin_tick(epoch);
      for (const char* layer : {"fc1", "fc1:relu", "fc2"}) html.value("Output Activations", layer, "death_rate", 0.5);
      for (const auto& [layer, severity] :
           {std::pair{"fc1:relu", LOUPE_SEVERITY_WARNING}, std::pair{"fc2:softmax", LOUPE_SEVERITY_INFO}})
        html.finding({.struct_size = sizeof(loupe_finding),
                      .severity = static_cast<uint32_t>(severity),
                      .rule = "dead_units",
                      .layer = layer,
                      .message = "half of its units are silent"});
      html.end_tick();
    }
    html.end();
  });
  // The configuration names the losses last.
  make(folder + "/losses_last.html", [](Driver& html) {
    run_of(html, {"losses last", 10, 0, {"Process Memory", "Learning Rate", "Metrics", "Loss"}}, [&](int) {
      for (const char* tag : {"Process Memory", "Learning Rate", "Metrics"}) html.value(tag, tag, "mean", 1);
      tell_loss(html, 0.2);
      html.range("Loss", "Loss", "train_loss -σ", "train_loss +σ", -0.2, 0.6);
    });
  });
  // A healthy run: no unit is dead, norms grow over the depth, and one step of ten took far longer. Names are long, and
  // functions come after the modules.
  make(folder + "/telling.html", [](Driver& html) {
    html.begin(Driver::run_of("", false, "telling"));
    std::vector<loupe::test::MadeModule> modules = {{"fc1", "Linear"}, {"fc2", "Linear"}, {"head", "Linear"}};
    for (int i = 0; i < 60; ++i) modules.push_back({"encoder.block" + std::to_string(i) + ".self_attention", "Linear"});
    html.model(loupe::test::MadeModel("", "", modules).told());
    html.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
    html.tag("Output Activations", LOUPE_SCALE_PROBABILITY);
    html.tag("Output Norm", LOUPE_SCALE_NUMERICAL);
    html.tag("Step Time", LOUPE_SCALE_RELATION, true);
    html.tag("Layer Time", LOUPE_SCALE_NUMERICAL);
    for (int epoch = 0; epoch < 10; ++epoch) {
      html.begin_tick(epoch);
      html.value("Loss", "Loss", "train_loss mean", 1.0 / (1 + epoch));
      double norm = 1;
      for (const char* layer : {"fc1", "fc2", "head", "fc1:relu", "fc2:relu"}) {
        html.value("Output Activations", layer, "death_rate", 0);
        html.value("Output Activations", layer, "activation_rate", 0.1 * norm);
        html.value("Output Norm", layer, "mean", norm++);
      }
      const double time = epoch == 9 ? 500 : 10;
      html.value("Step Time", "Step Time", "forward", time);
      for (std::size_t i = 3; i < modules.size(); ++i)
        html.value("Layer Time", modules[i].name.c_str(), "forward", time / 60);
      html.end_tick();
    }
    html.end();
  });
  // Sweep: thirteen runs of three settings; the seventh is the best, and two diverge. Tied: two hundred equal runs.
  for (const auto& [file, count] : {std::pair{"/sweep.html", 13}, std::pair{"/tied.html", 200}}) {
    make(folder + file, [count = count](Driver& html) {
      for (int i = 0; i < count; ++i) {
        const auto set = [&] {
          if (count != 13) return;
          html.hyperparameter("learning_rate", std::pow(10.0, i / 3.0 - 4));
          html.hyperparameter("width", 8.0 * (1 + i % 4));
          html.hyperparameter("optimizer", i % 2 == 0 ? "Adam" : "SGD");
        };
        run_of(html, {"run " + std::to_string(i + 1), 10, 0, {"Loss"}, {"Output Norm"}, set}, [&](int epoch) {
          const double best = count == 13 ? 0.1 + 0.05 * std::abs(i - 6) : 0.5;
          html.value("Loss", "Loss", "val_loss mean",
                     count != 13 || i < 11 ? best + std::exp(-epoch) : 1e4 * (1 + epoch));
          html.range("Loss", "Loss", "val_loss -σ", "val_loss +σ", 0, 50);
          html.value("Output Norm", "fc1", "mean", 1 + i);
          html.value("Output Norm", "fc2", "mean", 2 + i);
        });
      }
    });
  }
  make(folder + "/hostile.html", [](Driver& html) { tell_hostile_run(html, {"hostile", "", 5}); });
  make(folder + "/no_epoch.html", [](Driver& html) {
    html.begin("");
    html.end();
  });
  make(folder + "/one_epoch.html", [](Driver& html) { tell_small_run(html, {"one epoch", "", 1}); });
  make(folder + "/running.html", [](Driver& html) {
    MadeRun running{"running", "", 12};
    running.ends = false;
    tell_small_run(html, running);
  });
  make(folder + "/following.html", [](Driver& html) {
    MadeRun running{"running", "", 12};
    running.ends = false;
    tell_small_run(html, running);
    html.flush();
    tell_small_run(html, {"ended", "", 20});
  });
  make(folder + "/live.html", [](Driver& html) {
    html.set_start(static_cast<double>(std::time(nullptr)) - 12 * 60);
    html.set_pace(50, 60);
    MadeRun live{"live", "", 12};
    live.ends = false;
    tell_small_run(html, live);
  });
  // Its last tick is an hour old.
  make(folder + "/silent.html", [](Driver& html) {
    html.set_start(static_cast<double>(std::time(nullptr)) - 72 * 60);
    html.set_pace(50, 60);
    MadeRun silent{"silent", "", 12};
    silent.ends = false;
    tell_small_run(html, silent);
  });
  // Two models, each with one optimizer and one step an epoch, and a run of 0.4 seconds.
  make(folder + "/brief.html", [](Driver& html) {
    const std::time_t now = std::time(nullptr);
    char started[] = "2000-01-01T00:00:00Z";
    std::strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    const std::string name = "brief", directory;
    loupe_run run = Driver::run_of(directory, false, name);
    run.started = started;
    html.set_start(static_cast<double>(now) - 2 * 60);
    html.set_pace(1, 0.2);
    html.begin(run);
    for (const std::string model : {"Generator", "Critic"})
      html.model(loupe::test::MadeModel(model, "Net", {{model + ".fc", "Linear"}}).told());
    html.hyperparameter("optimizer rate", "2e-04");
    html.hyperparameter("Generator optimizer rate", "0.001");
    for (const char* tag : {"Loss", "Learning Rate"}) html.tag(tag, LOUPE_SCALE_NUMERICAL, true);
    html.tag("Step Time", LOUPE_SCALE_RELATION, true);
    for (const int epoch : {1, 2}) {
      html.begin_tick(epoch);
      html.value("Loss", "Loss", "train_loss mean", 0.849 / epoch);
      html.range("Loss", "Loss", "train_loss -σ", "train_loss +σ", 0.849 / epoch, 0.849 / epoch);
      html.value("Learning Rate", "Learning Rate", "Adam", 0.001);
      html.value("Step Time", "Step Time", "forward", 12.345);
      html.value("Step Time", "Step Time", "other", 0.008157);
      html.end_tick();
    }
    html.end();
  });
  // The loss falls by three powers of ten, and its band reaches zero.
  make(folder + "/falling.html", [](Driver& html) {
    html.set_pace(1, 1);
    run_of(html, {"falling", 4}, [&](int epoch) {
      const double loss = std::pow(10, -epoch);
      tell_loss(html, loss);
      html.range("Loss", "Loss", "train_loss -σ", "train_loss +σ", -loss, 3 * loss);
      html.value("Loss", "Loss", "train_loss step", 0.8 * loss, 0, static_cast<std::uint64_t>(epoch) + 1);
    });
  });
  // Of the five runs, the third was resumed, the fourth was killed, and the fifth diverged.
  make(folder + "/five.html", [](Driver& html) {
    for (const unsigned i : {1U, 2U, 3U, 4U}) {
      MadeRun run{"run " + std::to_string(i), "", i == 4 ? 9 : 20, i, 0.004 * i};
      run.resumed = i == 3;
      run.ends = i != 4;
      run.breaks = false;
      tell_small_run(html, run);
    }
    const auto fails = [&] { html.end(LOUPE_END_FAILED, "The loss is NaN.", 900); };
    run_of(html, {.name = "run 5", .epochs = 20, .ends = fails},
           [&](int epoch) { tell_loss(html, epoch < 15 ? 3.0 * std::pow(epoch + 1, 2) : NAN); });
  });
  make(folder + "/ill.html", [](Driver& html) {
    tell_small_run(html, loupe::test::ill_run());
    html.end(LOUPE_END_FAILED, "The loss is NaN at step 1799.", 1799);
  });
  make(folder + "/incident.html", tell_incident);
  make(folder + "/kept.html", [&folder](Driver& html) {
    MadeRun run = loupe::test::ill_run();
    run.directory = folder + "/runs/digits";
    std::filesystem::create_directories(run.directory + "/incident-727");
    run.before_tick = [before = run.before_tick, &run](Driver& visualizer, int epoch) {
      before(visualizer, epoch);
      if (epoch == 12) {
        const std::string saved = "the last steps before the finding 'non_finite_gradient' were saved: loupe replay " +
                                  run.directory + "/incident-727 (as a page with --visualizer html --out FOLDER)";
        visualizer.note(LOUPE_NOTE_INCIDENT, saved, 727, 12,
                        Driver::number_of("health", "non_finite_gradient", "fc2", "weight"));
      }
    };
    tell_small_run(html, run);
    html.end();
  });
  // A program that creates a model, trains it for five epochs and drops it, six times.
  make(folder + "/in_turn.html", [](Driver& html) {
    html.begin(Driver::run_of("", false, "in turn"));
    html.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
    html.tag("Learning Rate", LOUPE_SCALE_NUMERICAL, true);
    html.tag("Weight Norm", LOUPE_SCALE_NUMERICAL);
    for (int epoch = 0; epoch < 30; ++epoch) {
      const std::string name = epoch < 5 ? "Net" : "Net#" + std::to_string(epoch / 5 + 1);
      if (epoch % 5 == 0) {
        html.model(loupe::test::MadeModel(name, "Net", {{name + ".fc1", "Linear"}, {name + ".fc2", "Linear"}}).told());
        html.hyperparameter((epoch == 0 ? "" : name + " ") + "optimizer rate", 0.001 * (epoch / 5 + 1));
      }
      html.begin_tick(epoch);
      html.value("Loss", "Loss", "train_loss mean", std::exp(-0.4 * (epoch % 5)));
      html.value("Learning Rate", "Learning Rate", (name + " Adam").c_str(), 0.001 * (epoch / 5 + 1));
      html.value("Weight Norm", (name + ".fc1").c_str(), "norm", 1.0 + epoch % 5);
      html.end_tick();
    }
    html.end();
  });
  // The run was resumed after epoch 9, and its clock restarted.
  std::filesystem::remove(folder + "/resumed.html");  // otherwise the visualizer would continue it
  make(folder + "/resumed.html", [](Driver& html) {
    html.set_pace(50, 90);
    MadeRun run = loupe::test::warned_run();
    run.resumed = true;
    run.before_tick = [before = run.before_tick](Driver& visualizer, int epoch) {
      before(visualizer, epoch);
      if (epoch == 10) visualizer.set_pace(50, 90);
    };
    tell_small_run(html, run);
  });
  make(folder + "/warned.html", [](Driver& html) { tell_small_run(html, loupe::test::warned_run()); });
  make(folder + "/collapsed.html", [](Driver& html) { tell_small_run(html, loupe::test::collapsed_run()); });
  make(folder + "/nan_loss.html", [](Driver& html) {
    run_of(html, {"nan loss", 10}, [&](int epoch) { tell_loss(html, epoch < 4 ? 1.0 / (1 + epoch) : NAN); });
  });
  make(folder + "/healthy.html", [](Driver& html) { tell_small_run(html, loupe::test::healthy_run()); });
  make(folder + "/crowded.html", [](Driver& html) {
    run_of(html, {"digits", 1, 1, {}, {"Norm"}}, [&](int) {
      for (int i = 0; i < 2000; ++i) {
        const std::string layer = "layer" + std::to_string(i);
        html.value("Norm", layer, "norm", 1.0 + i);
        loupe::Finding finding =
            loupe::test::a_finding("dead_units", LOUPE_SEVERITY_WARNING, "half of its units are silent");
        finding.tag = "Norm";
        tell(html, finding, layer);
      }
    });
  });
  make(folder + "/large.html", [](Driver& html) { tell_large_run(html, {"resnet500", "", 1000}); });
  return 0;
}
