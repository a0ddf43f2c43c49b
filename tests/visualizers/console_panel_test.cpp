// The console's panel on a terminal, and its lines on other streams.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "console_output.h"
#include "paths.h"
#include "screen.h"

namespace loupe::test {
namespace {

const std::vector<Item> usual = {{"detail", "auto"}};

/// Shows a model with the layers fc1, fc2, …
void tell_model(Driver& console, std::size_t layers) {
  std::vector<std::string> names = {"net"};
  for (std::size_t i = 1; i <= layers; ++i) names.push_back("fc" + std::to_string(i));
  std::vector<loupe_module> modules;
  std::vector<const loupe_module*> pointers;
  for (const std::string& name : names) {
    loupe_module& module = modules.emplace_back();
    module.struct_size = sizeof module;
    module.flags = name == "net" ? uint32_t{LOUPE_MODULE_ROOT} : uint32_t{LOUPE_MODULE_LEAF};
    module.name = module.path = name.c_str();
    module.type = module.full_type = "Linear";
  }
  for (const loupe_module& each : modules) pointers.push_back(&each);
  console.model(loupe_model{sizeof(loupe_model), 0, "net", "Net", 10, pointers.data(), pointers.size(), "net"});
}

void tell_epoch(Driver& console, double epoch, double loss) {
  console.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
  console.tag("Norm");
  console.begin_tick(epoch);
  console.value("Loss", "Loss", "train_loss mean", loss);
  for (int layer = 1; layer <= 3; ++layer) console.value("Norm", "fc" + std::to_string(layer), "mean", layer);
  console.end_tick();
}

std::vector<std::string> shown_after(const std::function<void(Driver&)>& run, unsigned short columns = 80,
                                     unsigned short rows = 24) {
  const Environment no_color("NO_COLOR", "1");
  Screen screen(rows, columns);
  screen.write(printed_on_terminal(run, usual, columns, rows));
  return screen.shown();
}

void train(Driver& console) {
  tell_model(console, 4);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    fputs(("the trainer's line " + std::to_string(epoch) + "\n").c_str(), stdout);
    tell_epoch(console, epoch, 1.0 / epoch);
  }
  tell(console, a_finding("dead_units", LOUPE_SEVERITY_ERROR, "all units are silent"), "fc2:relu");
  tell(console, a_finding("slow", LOUPE_SEVERITY_WARNING, "it is slow"), "fc4");
  console.progress(4, 10, 50, 100, 5);
}

TEST(ConsolePanel, IsBelowTheProgramsOutput) {
  const std::vector<std::string> rows = shown_after(train);
  ASSERT_EQ(rows.size(), 24u);
  EXPECT_EQ(rows[0], "the trainer's line 1");
  EXPECT_EQ(rows[2], "the trainer's line 3");
  const std::vector<std::string> panel(rows.end() - 6, rows.end());
  EXPECT_EQ(panel[0].rfind("── digits · 1 error, 1 warning ──", 0), 0u) << panel[0];
  EXPECT_EQ(panel[1], "epoch 4 of 10  ━━━━━━━━────────  50 of 100 steps  10 steps/s  1 min 5 s left");
  EXPECT_EQ(panel[2], "train_loss     0.3333  best 0.3333 in epoch 3      █▃▁");
  EXPECT_EQ(panel[3], "4 layers   ■ × ■ !");
  EXPECT_EQ(panel[4], "× dead_units: fc2:relu: all units are silent");
  EXPECT_EQ(panel[5], "! slow: fc4: it is slow");
}

TEST(ConsolePanel, DoesNotShowTheProgressOfAnEpochThatEnded) {
  const std::vector<std::string> rows = shown_after([](Driver& console) {
    tell_model(console, 4);
    tell_epoch(console, 1, 1.0);
    console.progress(2, 10, 50, 100, 5);
    tell_epoch(console, 2, 0.5);
  });
  EXPECT_EQ(std::count(rows.begin(), rows.end(), "epoch 2 of 10 ended"), 1);
}

TEST(ConsolePanel, CountsStepsWithinTheEpochOfTheProgramIfATickCoversSeveral) {
  const auto progress_after = [](double epoch) {
    const std::vector<std::string> rows = shown_after([=](Driver& console) {
      console.set_pace(92, 2);
      tell_epoch(console, 29, 1);
      tell_epoch(console, epoch, 1);
      console.progress(epoch + 1, 0, 50, 92, 5);
    });
    for (const std::string& row : rows)
      if (row.rfind("epoch ", 0) == 0) return row;
    return std::string();
  };
  EXPECT_EQ(progress_after(30), "epoch 31  ━━━━━━━━────────  50 of 92 steps  10 steps/s  5 s left in this epoch");
  EXPECT_EQ(progress_after(33), "epoch 36  ━━──────────────  4 of 23 steps  10 steps/s  2 s left in this epoch");
}

TEST(ConsolePanel, NamesNoTotalIfAnEpochIsLongerThanTheOneBefore) {
  const std::vector<std::string> rows = shown_after([](Driver& console) {
    tell_epoch(console, 1, 1);
    console.progress(2, 0, 46, 23, 2);
  });
  EXPECT_EQ(std::count(rows.begin(), rows.end(), "epoch 2  46 steps  23 steps/s"), 1);
}

TEST(ConsolePanel, NamesTheFaultItsLayerAndTheRemedyInWholeOn80Columns) {
  const std::vector<std::string> rows = shown_after([](Driver& console) {
    tell_model(console, 4);
    tell_epoch(console, 1, 1);
    Finding dead = a_finding("dead_units", LOUPE_SEVERITY_ERROR,
                             "64 of 64 units of 'encoder.layers.3.fc2' were silent for all 256 samples of the last "
                             "steps");
    dead.advice =
        "see that the biases of the layer before do not begin far below 0 and that what goes in is of unit scale";
    tell(console, dead, "encoder.layers.3.fc2");
    console.progress(2, 10, 50, 100, 5);
  });
  std::string all;
  for (const std::string& row : rows) all += row.substr(std::min<std::size_t>(2, row.size())) + ' ';
  EXPECT_TRUE(holds(all, "dead_units: 64 of 64 units of 'encoder.layers.3.fc2' were silent for all 256 samples"));
  EXPECT_TRUE(holds(all, "of unit scale"));
}

void tell_long_finding(Driver& console, const std::string& remedy) {
  tell_model(console, 25);
  for (const char* tag : {"Loss", "Learning Rate"}) console.tag(tag, LOUPE_SCALE_NUMERICAL, true);
  for (int epoch = 1; epoch <= 9; ++epoch) {
    console.begin_tick(epoch);
    console.value("Loss", "Loss", "train_loss mean", 1.0 / epoch);
    console.value("Learning Rate", "Learning Rate", "Adam", 0.1);
    console.end_tick();
  }
  Finding finding = a_finding("vanishing_gradient", LOUPE_SEVERITY_ERROR,
                              "gradients vanish on the way to the first layer: the gradient norm of 'fc1' is 3.9e-11 "
                              "and that of 'fc25' 0.227, a ratio of 1.72e-10, and the loss has fallen by less than a "
                              "tenth");
  finding.advice = remedy;
  tell(console, finding, "fc1");
  tell(console, a_finding("slow", LOUPE_SEVERITY_WARNING, "it is slow"), "fc4");
  console.progress(10, 30, 50, 100, 5);
}

TEST(ConsolePanel, GivesTheRemedyItsRowsBeforeTheCurve) {
  const std::vector<std::string> rows = shown_after(
      [](Driver& console) {
        tell_long_finding(console,
                          "begin with weights of a larger scale, such as kaiming_normal_, use activations that do not "
                          "saturate, and normalize between the layers");
      },
      100, 30);
  ASSERT_EQ(rows.size(), 30u);
  std::string all;
  for (const std::string& row : rows) all += row + '\n';
  EXPECT_TRUE(holds(all, "\n  → begin with weights of a larger scale")) << all;
  EXPECT_TRUE(holds(all, "normalize between the layers\n! slow: fc4: it is slow")) << all;
  EXPECT_TRUE(holds(all, "\ntrain_loss ")) << all;
  EXPECT_TRUE(holds(all, "\n25 layers ")) << all;
}

TEST(ConsolePanel, MarksTextThatIsCut) {
  const std::vector<std::string> rows = shown_after(
      [](Driver& console) {
        std::string remedy = "scale the targets";
        for (int i = 0; i < 60; ++i) remedy += " and the outputs";
        tell_long_finding(console, remedy);
      },
      100, 30);
  ASSERT_EQ(rows.size(), 30u);
  EXPECT_EQ(rows[28].substr(rows[28].size() - std::string("…").size()), "…") << rows[28];
  EXPECT_EQ(rows[29], "! slow: fc4: it is slow");
}

TEST(ConsolePanel, DrawsTheLossAsACurveWithItsNameAndAxisOnATallTerminal) {
  const auto curve_in = [](unsigned short rows) {
    std::vector<std::string> shown = shown_after(train, 80, rows);
    std::erase_if(shown, [](const std::string& row) { return !holds(row, "│█") && !holds(row, "over the last"); });
    return shown;
  };
  const std::vector<std::string> curve = curve_in(40);
  ASSERT_EQ(curve.size(), 6u);
  EXPECT_EQ(curve[0], "train_loss over the last 3 epochs");
  EXPECT_EQ(curve[1].rfind("     1 │████████", 0), 0u) << curve[1];
  EXPECT_EQ(curve[2].rfind("       │████████", 0), 0u) << curve[2];
  EXPECT_EQ(curve[5].rfind("0.3333 │████████", 0), 0u) << curve[5];
  EXPECT_TRUE(curve_in(24).empty());
}

TEST(ConsolePanel, DrawsRoundingNoiseAsAFlatCurve) {
  const auto shown = [](double change) {
    std::string all;
    const std::vector<std::string> rows = shown_after(
        [=](Driver& console) {
          for (int epoch = 1; epoch <= 4; ++epoch) tell_epoch(console, epoch, 1.8 + (epoch % 2) * change);
        },
        80, 40);
    for (const std::string& row : rows) all += row + '\n';
    return all;
  };
  EXPECT_TRUE(holds(shown(1e-7), "▁▁▁▁\n")) << shown(1e-7);
  EXPECT_FALSE(holds(shown(1e-7), "█"));
  EXPECT_FALSE(holds(shown(1e-7), "1.800 │ ")) << "the axis has one limit";
  EXPECT_TRUE(holds(shown(0.01), "█▁█▁\n")) << shown(0.01);
}

TEST(ConsolePanel, LeavesOutTheLossOfAModelThatNoLongerTrains) {
  const auto shown = [](int epochs_of_second) {
    std::string all;
    const std::vector<std::string> rows = shown_after(
        [=](Driver& console) {
          console.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
          for (int epoch = 1; epoch <= 4 + epochs_of_second; ++epoch) {
            console.begin_tick(epoch);
            console.value("Loss", "Loss", epoch <= 4 ? "train_loss mean" : "train_loss#2 mean", 1.0 / epoch);
            if (epoch <= 4) console.value("Loss", "Loss", "val_loss mean", 2.0 / epoch);
            console.end_tick();
          }
        },
        80, 40);
    for (const std::string& row : rows) all += '\n' + row;
    return all;
  };
  EXPECT_TRUE(holds(shown(1), "\ntrain_loss over the last 4 epochs")) << "the next epoch may have it again";
  const std::string text = shown(3);
  EXPECT_TRUE(holds(text, "\ntrain_loss#2 over the last 3 epochs")) << text;
  EXPECT_FALSE(holds(text, "\ntrain_loss ")) << text;
  EXPECT_TRUE(holds(text, "\nval_loss ")) << "validation may be rare\n" << text;
}

TEST(ConsolePanel, HasTheNumbersOfTheLayersBesideItIfTheyFit) {
  const std::vector<std::string> rows = shown_after(train, 170);
  std::string all;
  for (const std::string& row : rows) all += row + '\n';
  // The line with the steps and their speed has the whole width.
  EXPECT_TRUE(holds(all, "\nepoch 4 of 10  ━━━━━━━━────────  50 of 100 steps  10 steps/s  1 min 5 s left\n"));
  EXPECT_TRUE(holds(all, "layers       Norm\n"));
  EXPECT_TRUE(holds(all, "fc3           3\n"));
}

TEST(ConsolePanel, CountsOneLayerInTheSingular) {
  const std::vector<std::string> rows = shown_after([](Driver& console) {
    tell_model(console, 1);
    tell_epoch(console, 1, 1);
  });
  EXPECT_EQ(rows.back().rfind("1 layer  ", 0), 0u) << rows.back();
}

TEST(ConsolePanel, NeverTearsTheProgramsLines) {
  const std::vector<std::string> rows = shown_after([](Driver& console) {
    for (int line = 0; line < 100; ++line) {
      // The program writes its line in two parts, and the panel is drawn between them.
      fputs("left ", stdout);
      fflush(stdout);
      console.progress(1, 10, static_cast<uint64_t>(line), 100, 5);
      fputs(("and right of line " + std::to_string(line) + "\n").c_str(), stdout);
      if (line % 10 == 0) tell_epoch(console, line, line);
    }
  });
  ASSERT_EQ(rows.size(), 24u);
  std::vector<std::string> programs;
  for (const std::string& row : rows) {
    if (row.rfind("left ", 0) == 0) programs.push_back(row);
  }
  ASSERT_GT(programs.size(), 10u);
  for (std::size_t i = 0; i < programs.size(); ++i)
    EXPECT_EQ(programs[i], "left and right of line " + std::to_string(100 - programs.size() + i));
}

TEST(ConsolePanel, FreesItsRowsAtTheEnd) {
  const std::vector<std::string> rows = shown_after([](Driver& console) {
    train(console);
    console.end();
    fputs("the program goes on", stdout);
  });
  EXPECT_EQ(rows.back(), "the program goes on");
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                          [](const std::string& row) { return row.find("■") != std::string::npos; }),
            0);
}

TEST(ConsolePanel, FollowsATerminalThatChangesItsSize) {
  const Environment no_color("NO_COLOR", "1"), terminal("TERM", "xterm"), locale("LC_ALL", nullptr);
  const PseudoTerminal output(80, 24);
  {
    const Redirected redirected(stdout, output.writer());
    Driver console(CONSOLE_PLUGIN, usual);
    console.begin("");
    tell_epoch(console, 1, 1);
    output.resize(60, 30);
    static_cast<void>(output.read());
    console.progress(2, 10, 50, 100, 5);
  }
  Screen screen(30, 60);
  screen.write(output.read());
  const std::vector<std::string> rows = screen.shown();
  ASSERT_EQ(rows.size(), 30u);
  for (const std::string& row : rows) EXPECT_LT(columns_of(row), 60u);
  EXPECT_TRUE(holds(rows[29], "train_loss"));
}

TEST(ConsolePanel, IsNotDrawnIfTheTerminalIsTooSmall) {
  for (const auto& [columns, rows] : {std::pair(80, 12), {30, 24}}) {
    const std::vector<std::string> shown =
        shown_after(train, static_cast<unsigned short>(columns), static_cast<unsigned short>(rows));
    for (const std::string& row : shown) EXPECT_FALSE(holds(row, "4 layers"));
  }
}

TEST(ConsoleLines, AreOnePerTickIfTheOutputIsNotATerminal) {
  const std::string text = printed(
      [](Driver& console) {
        console.set_pace(50, 2);
        for (int epoch = 1; epoch <= 2; ++epoch) tell_epoch(console, epoch, 1.0 / epoch);
      },
      usual);
  EXPECT_EQ(text, "epoch 1  train_loss 1  2 s  25 steps/s\nepoch 2  train_loss 0.5000  2 s  25 steps/s\n");
}

TEST(ConsoleLines, NameTheEpochsThatATickCovers) {
  const auto shown = [](uint64_t steps) {
    return printed(
        [=](Driver& console) {
          console.set_pace(steps, 2);
          for (const int epoch : {1, 2, 6}) tell_epoch(console, epoch, 1);
        },
        usual);
  };
  EXPECT_EQ(shown(50),
            "epoch 1  train_loss 1  2 s  25 steps/s\nepoch 2  train_loss 1  2 s  25 steps/s\n"
            "epochs 3-6  train_loss 1  2 s  25 steps/s\n");
  EXPECT_TRUE(holds(shown(0), "\nepoch 6  train_loss 1")) << "a record may lack ticks";
}

TEST(ConsoleLines, HaveLossesFirstUnitsAndOneSpeed) {
  const std::string text = printed(
      [](Driver& console) {
        console.set_pace(50, 2);
        loupe_tag memory{}, speed{}, samples{};
        for (const auto& [tag, name, unit] : {std::tuple{&memory, "Process Memory", "MiB"},
                                              {&speed, "Steps per Second", "steps/s"},
                                              {&samples, "Samples per Second", "samples/s"}}) {
          tag->struct_size = sizeof *tag;
          tag->type = LOUPE_SCALE_NUMERICAL;
          tag->id = name;
          tag->unit = unit;
          tag->flags = LOUPE_TAG_BIG;
          console.tag(*tag);
        }
        console.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
        console.begin_tick(1);
        console.value("Process Memory", "Process Memory", "memory", 120);
        console.value("Steps per Second", "Steps per Second", "speed", 10873);
        console.value("Samples per Second", "Samples per Second", "speed", 800);
        console.value("Loss", "Loss", "train_loss mean", 0.5);
        console.end_tick();
      },
      usual);
  EXPECT_EQ(text, "epoch 1  train_loss 0.5000  Process Memory 120 MiB  800 samples/s  2 s  25 steps/s\n");
}

TEST(ConsoleLines, HaveALearningRateInItsShortestForm) {
  const auto shown = [](double rate) {
    const std::string text = printed(
        [=](Driver& console) {
          console.tag("Learning Rate", LOUPE_SCALE_NUMERICAL, true);
          console.begin_tick(1);
          console.value("Learning Rate", "Learning Rate", "Adam", rate);
          console.end_tick();
        },
        usual);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(shown(0.001), "epoch 1  Learning Rate 0.001");
  EXPECT_EQ(shown(2e-4), "epoch 1  Learning Rate 0.0002");
  EXPECT_EQ(shown(2e-5), "epoch 1  Learning Rate 2e-05");
  EXPECT_EQ(shown(0.0012345), "epoch 1  Learning Rate 0.001234");
  EXPECT_EQ(shown(1), "epoch 1  Learning Rate 1");
  EXPECT_EQ(shown(100), "epoch 1  Learning Rate 100");
}

TEST(ConsoleLines, EndWithThePathOfTheReport) {
  Folder folder;
  const auto end_of = [&] {
    return printed(
        [&](Driver& console) {
          console.begin(folder.text());
          tell_epoch(console, 1, 1);
          console.end();
        },
        usual);
  };
  EXPECT_TRUE(holds(end_of(), "files: " + folder.text() + "\n"));
  write(folder / "report.html", "<html>");
  EXPECT_TRUE(holds(end_of(), "report: " + (folder / "report.html") + "\n"));
}

TEST(ConsoleLines, SayHowManyLossesOfAnEpochWereNaN) {
  const std::string text = printed(
      [](Driver& console) {
        console.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
        console.tag("Non-Finite Values", LOUPE_SCALE_NUMERICAL, false);
        console.begin_tick(1);
        console.value("Loss", "Loss", "train_loss mean", 1);
        console.end_tick();
        console.begin_tick(2);
        console.value("Loss", "Loss", "train_loss mean", NAN);
        console.value("Non-Finite Values", "Loss", "train_loss NaN", 17);
        console.end_tick();
        console.begin_tick(3);
        console.value("Loss", "Loss", "train_loss mean", NAN);
        console.value("Non-Finite Values", "Loss", "train_loss NaN", 1);
        console.end_tick();
        console.end();
      },
      usual);
  EXPECT_TRUE(holds(text, "epoch 2  train_loss NaN (17 values were NaN)"));
  EXPECT_TRUE(holds(text, "epoch 3  train_loss NaN (1 value was NaN)"));
  EXPECT_TRUE(holds(text, "last: train_loss NaN (best 1 in epoch 1)"));
}

TEST(ConsoleLines, HaveFindingsWhenTheyStartAndEnd) {
  const std::string text = printed(
      [](Driver& console) {
        const Finding dead = a_finding("dead_units", LOUPE_SEVERITY_WARNING, "half of its units are silent");
        for (const char* layer : {"fc1", "fc2", "fc3"}) tell(console, dead, layer);
        tell_epoch(console, 1, 1);
        tell_epoch(console, 2, 1);
        tell(console, gone(dead), "fc2");
        tell_epoch(console, 3, 1);
      },
      usual);
  EXPECT_TRUE(holds(text, "epoch 1  train_loss 1\nwarning  fc1: half of its units are silent (dead_units)\n"));
  EXPECT_TRUE(holds(text, "also in fc2, fc3\nepoch 2  train_loss 1\nepoch 3  train_loss 1\nresolved "));
}

TEST(ConsoleLines, LeaveOutLinesThatTheLogHasAlready) {
  const auto noted = [](uint32_t kind) {
    return printed([kind](Driver& console) { tell_note(console, kind, "an epoch is 100 steps"); }, usual);
  };
  EXPECT_EQ(noted(LOUPE_NOTE_GUESS), "");
  EXPECT_EQ(noted(LOUPE_NOTE_UNOBSERVED), "");
  EXPECT_EQ(noted(LOUPE_NOTE_INCIDENT), "");
  EXPECT_EQ(noted(LOUPE_NOTE_TRAINER), "note     an epoch is 100 steps\n");
}

}  // namespace
}  // namespace loupe::test
