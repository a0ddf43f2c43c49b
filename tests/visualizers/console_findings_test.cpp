// How the console shows findings, notes and the end of a run.

#include <gtest/gtest.h>

#include <cmath>

#include "console_output.h"
#include "paths.h"

namespace loupe::test {
namespace {

using Lines = std::vector<std::string>;

Finding dead(double first, double last) {
  Finding finding = a_finding("dead_units", LOUPE_SEVERITY_WARNING, "half of its units are silent");
  finding.first_epoch = first;
  finding.last_epoch = last;
  return finding;
}

void tick(Driver& console, double epoch) {
  console.begin_tick(epoch);
  console.end_tick();
}

/// The lines without headings and empty ones.
Lines said(const std::string& text) {
  Lines lines;
  for (const std::string& line : lines_of(text)) {
    if (!line.empty() && line.rfind("──", 0) != 0 && line.rfind("--", 0) != 0) lines.push_back(line);
  }
  return lines;
}

TEST(Console, PrintsFindingsFirstAndTheWorstFirst) {
  const std::string text = printed([](Driver& console) {
    console.begin_tick(1);
    console.value("T", "l", "mean", 1);
    tell(console, a_finding("slow", LOUPE_SEVERITY_INFO, "it could be faster"));
    Finding finding = dead(1, 1);
    finding.advice = "lower the learning rate";
    finding.parameter = "weight";
    tell(console, finding, "conv1");
    tell(console, a_finding("nan_loss", LOUPE_SEVERITY_ERROR, "the loss is NaN"));
    console.end_tick();
  });
  const Lines lines = said(text);
  ASSERT_EQ(lines.size(), 6u) << text;
  EXPECT_EQ(lines[0], "error    the loss is NaN (nan_loss)");
  EXPECT_EQ(lines[1], "warning  conv1.weight: half of its units are silent (dead_units)");
  EXPECT_EQ(lines[2], "         → lower the learning rate");
  EXPECT_EQ(lines[3], "info     it could be faster (slow)");
  EXPECT_EQ(lines[4].rfind("T ", 0), 0u) << lines[4];
}

TEST(Console, MentionsAnOpenFindingOnlyWhenAnotherChanges) {
  const std::string text = printed([](Driver& console) {
    for (int epoch = 1; epoch <= 12; ++epoch) {
      console.begin_tick(epoch);
      Finding finding = dead(1, epoch);
      if (epoch > 1) finding.state = LOUPE_FINDING_CHANGED;
      tell(console, finding, "conv1");
      if (epoch == 12) tell(console, a_finding("nan_loss", LOUPE_SEVERITY_ERROR, "the loss is NaN"));
      console.end_tick();
    }
    console.begin_tick(13);
    tell(console, gone(dead(1, 12)), "conv1");
    console.end_tick();
    tick(console, 14);
  });
  EXPECT_EQ(said(text),
            (Lines{"warning  conv1: half of its units are silent (dead_units)", "error    the loss is NaN (nan_loss)",
                   "warning  still, for 12 epochs: dead_units of conv1", "error    still, for 13 epochs: nan_loss",
                   "resolved dead_units of conv1 (12 epochs)"}));
}

TEST(Console, PrintsAFindingAgainWhenItBecomesWorse) {
  const std::string text = printed([](Driver& console) {
    tell(console, dead(1, 1), "conv1");
    tick(console, 1);
    Finding worse = dead(1, 2);
    worse.severity = LOUPE_SEVERITY_ERROR;
    worse.message = "all of its units are silent";
    worse.state = LOUPE_FINDING_CHANGED;
    console.begin_tick(2);
    tell(console, worse, "conv1");
    console.end_tick();
  });
  EXPECT_EQ(said(text), (Lines{"warning  conv1: half of its units are silent (dead_units)",
                               "error    conv1: all of its units are silent (dead_units)"}));
}

TEST(Console, DoesNotListEveryOpenFinding) {
  const std::string text = printed([](Driver& console) {
    for (int layer = 0; layer < 8; ++layer) tell(console, dead(1, 1), "conv" + std::to_string(layer));
    tick(console, 1);
    tell(console, a_finding("slow", LOUPE_SEVERITY_INFO));
    tick(console, 2);
  });
  const Lines lines = said(text);
  ASSERT_EQ(lines.size(), 2u + 1 + 1);
  EXPECT_EQ(lines[1], "         also in conv1, conv2, conv3, conv4, conv5, conv6 and 1 more");
  EXPECT_EQ(lines.back(), "warning  still, for 2 epochs: dead_units of conv0 and 7 more");
}

TEST(Console, TellsInALineThatARuleIsFoundInMoreLayersAndThatTheyAreGone) {
  const std::string text = printed([](Driver& console) {
    for (int epoch = 1; epoch <= 3; ++epoch) {
      for (int layer = 0; layer < 100; ++layer)
        tell(console, dead(epoch, epoch), "fc" + std::to_string(100 * epoch + layer));
      tick(console, epoch);
    }
    for (int layer = 0; layer < 50; ++layer) tell(console, gone(dead(1, 4)), "fc" + std::to_string(100 + layer));
    tick(console, 4);
  });
  EXPECT_EQ(said(text), (Lines{"warning  fc100: half of its units are silent (dead_units)",
                               "         also in fc101, fc102, fc103, fc104, fc105, fc106 and 93 more",
                               "warning  dead_units: now also in fc200 and 99 more (200 in all)",
                               "warning  dead_units: now also in fc300 and 99 more (300 in all)",
                               "warning  still, for 4 epochs: dead_units of fc150 and 249 more",
                               "resolved dead_units of fc100 and 49 more (3 epochs)"}));
}

TEST(Console, CountsTheLayersOfOneTickTogetherIfTheirRemediesDiffer) {
  const std::string text = printed([](Driver& console) {
    tell(console, dead(1, 1), "fc1");
    tick(console, 1);
    for (const char* layer : {"fc2", "fc3"}) {
      Finding finding = dead(2, 2);
      finding.advice = std::string("see the layer before ") + layer;
      tell(console, finding, layer);
    }
    tick(console, 2);
  });
  EXPECT_TRUE(holds(text, "dead_units: now also in fc2 (2 in all)\n")) << text;
  EXPECT_TRUE(holds(text, "dead_units: now also in fc3 (3 in all)\n")) << text;
}

TEST(Console, TellsOfOneRulesLayersTheWorstInFullWhicheverCameFirst) {
  const std::string text = printed([](Driver& console) {
    for (const double share : {0.56, 0.94, 0.7}) {
      const std::string percent = std::to_string(std::lround(100 * share));
      Finding finding = a_finding("dead_units", LOUPE_SEVERITY_WARNING, percent + " % are silent");
      finding.value = share;
      finding.threshold = 0.5;
      tell(console, finding, "conv" + percent);
    }
    tick(console, 1);
    console.end();
  });
  const Lines lines = said(text);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[0], "warning  conv94: 94 % are silent (dead_units)");
  EXPECT_EQ(lines[1], "         also in conv56, conv70");
  EXPECT_TRUE(holds(text, "dead_units: conv94 and 2 more layers, 94 % are silent"));
}

TEST(Console, IgnoresFindingsThatCameAndWentBetweenTwoTicks) {
  const std::string text = printed([](Driver& console) {
    tell(console, dead(1, 1), "conv1");
    tell(console, gone(dead(1, 1)), "conv1");
    tell(console, gone(dead(1, 1)), "never told");
    tick(console, 1);
  });
  EXPECT_EQ(said(text), Lines());
}

TEST(Console, PrintsAnErrorBetweenTicksImmediatelyAndOnlyOnce) {
  const std::string text = printed([](Driver& console) {
    tell(console, a_finding("nan_loss", LOUPE_SEVERITY_ERROR, "the loss is NaN"));
    tell(console, dead(1, 1), "conv1");
    fputs("the trainer goes on\n", stdout);
    tick(console, 1);
  });
  EXPECT_EQ(said(text), (Lines{"error    the loss is NaN (nan_loss)", "the trainer goes on",
                               "warning  conv1: half of its units are silent (dead_units)",
                               "error    still, for 1 epoch: nan_loss"}));
}

TEST(Console, ShowsANoteWhenItComes) {
  const std::string text = printed([](Driver& console) {
    tell_note(console, LOUPE_NOTE_TRAINER, "the learning rate\x1b is now 0.1");
    tick(console, 1);
  });
  EXPECT_EQ(text.rfind("note     the learning rate? is now 0.1\n", 0), 0u) << text;
}

TEST(Console, EndsWithOpenFindingsAndTheirDurations) {
  const std::string text = printed([](Driver& console) {
    tell(console, dead(1, 1), "conv1");
    tell(console, a_finding("slow", LOUPE_SEVERITY_INFO));
    tick(console, 1);
    tell(console, gone(a_finding("slow", LOUPE_SEVERITY_INFO)));
    tick(console, 2);
    fputs("here\n", stdout);
    tell_end(console, LOUPE_END_INTERRUPTED, 2, "somebody was impatient");
  });
  EXPECT_TRUE(holds(text, "here\n── digits · interrupted after epoch 2 ─"));
  EXPECT_TRUE(holds(text, "─\nsomebody was impatient\nwarning  dead_units: conv1: half of its units are silent\n"));
  EXPECT_FALSE(holds(text, "slow: ")) << "the finding is resolved";
}

TEST(Console, SaysInASentenceWhichSignalStoppedTheRun) {
  const std::string text = printed([](Driver& console) {
    tick(console, 1);
    tell_end(console, LOUPE_END_INTERRUPTED, 1, "SIGINT");
  });
  EXPECT_TRUE(holds(text, "─\nStopped by SIGINT.\n")) << text;
}

TEST(Console, CallsARunFailedWhoseLossWasNaNToTheEnd) {
  const std::string text = printed([](Driver& console) {
    console.loss_tick(1, 1);
    console.loss_tick(2, NAN);
    console.loss_tick(3, NAN);
    fputs("here\n", stdout);
    tell_end(console, LOUPE_END_COMPLETED, 3, nullptr);
  });
  EXPECT_TRUE(holds(text, "failed after epoch 3")) << text;
  EXPECT_TRUE(holds(text, "train_loss was NaN")) << text;
  EXPECT_FALSE(holds(text, "healthy")) << text;
}

TEST(Console, EndsWithEachRulesWorstAndItsRemedyHoweverManyFindingsStand) {
  const std::string text = printed(
      [](Driver& console) {
        for (int rule = 0; rule < 15; ++rule) {
          for (int layer = 0; layer < 20; ++layer) {
            Finding finding = a_finding("rule" + std::to_string(rule), LOUPE_SEVERITY_WARNING, std::string(3000, 'x'));
            finding.advice = "do this";
            tell(console, finding, "fc" + std::to_string(layer));
          }
        }
        tick(console, 1);
        fputs("here\n", stdout);
        console.end();
      },
      {{"detail", "lines"}});
  const Lines end = lines_of(text.substr(text.find("here\n") + 5));
  EXPECT_LE(end.size(), 12 * 6 + 3u) << text;
  EXPECT_TRUE(holds(text, "rule11: fc0 and 19 more layers,"));
  EXPECT_EQ(std::count(end.begin(), end.end(), "         → do this"), 12) << text;
  EXPECT_TRUE(holds(text, "… and 3 more\n"));
}

std::string end_of(const std::vector<const char*>& lenses, const std::function<void(Driver&)>& run) {
  const std::string text = printed([&](Driver& console) {
    const std::string name = "digits", directory;
    loupe_run told = Driver::run_of(directory, false, name);
    told.lenses = lenses.data();
    told.lens_count = lenses.size();
    console.begin(told);
    run(console);
    fputs("here\n", stdout);
    console.end();
  });
  const std::string end = text.substr(text.find("here\n") + 5);
  return end.rfind("──", 0) == 0 ? end.substr(end.find('\n') + 1) : end;
}

TEST(Console, CallsARunHealthyOnlyIfALensCheckedIt) {
  const auto one = [](Driver& console) { tick(console, 1); };
  const std::string healthy = "Training looks healthy. No problems found in 1 epoch.\n";
  EXPECT_EQ(end_of({"histograms", "health"}, one), healthy);
  EXPECT_EQ(end_of({"histograms"}, one), "");
  EXPECT_EQ(end_of({"my_health", "healthy"}, one), "");
  EXPECT_EQ(end_of({}, one), "");
  EXPECT_EQ(end_of({"health"}, [](Driver&) {}), "");
  EXPECT_EQ(end_of({"health"},
                   [](Driver& console) {
                     tell_note(console, LOUPE_NOTE_QUARANTINE, "the lens 'health' was put aside");
                     tick(console, 1);
                   }),
            "");
  EXPECT_EQ(end_of({"health"},
                   [](Driver& console) {
                     tell(console, dead(1, 1));
                     tick(console, 1);
                     tell(console, gone(dead(1, 1)));
                     tick(console, 2);
                   }),
            "Training looks healthy. All problems were resolved.\n");
  EXPECT_EQ(end_of({"health"},
                   [](Driver& console) {
                     tell(console, a_finding("slow", LOUPE_SEVERITY_INFO));
                     tick(console, 1);
                   }),
            healthy)
      << "a hint is not a problem";
}

TEST(Console, CountsTheEpochsOfAHealthyRunFromItsFirst) {
  const auto from = [](double first, double last) {
    return end_of({"health"}, [=](Driver& console) {
      tick(console, first);
      tick(console, last);
    });
  };
  EXPECT_EQ(from(0, 9), "Training looks healthy. No problems found in 10 epochs.\n");
  EXPECT_EQ(from(4, 12), "Training looks healthy. No problems found in 12 epochs.\n") << "a tick may cover several";
}

TEST(Console, CountsTheProblemsThatWereResolved) {
  const auto run = [](Driver& console) {
    for (const char* layer : {"fc1", "fc2"}) tell(console, dead(1, 1), layer);
    tick(console, 1);
    for (const char* layer : {"fc1", "fc2"}) tell(console, gone(dead(1, 1)), layer);
    tick(console, 2);
  };
  EXPECT_EQ(end_of({"health"}, run), "Training looks healthy. All 2 problems were resolved.\n");
}

TEST(Console, ColorsFindingsBySeverityWhereTheTerminalHasColors) {
  const auto run = [](Driver& console) {
    tell(console, dead(1, 1), "conv1");
    tell(console, a_finding("nan_loss", LOUPE_SEVERITY_ERROR, "the loss is NaN"));
    tick(console, 1);
  };
  const std::string text = printed(run, {{"color", "always"}});
  EXPECT_TRUE(holds(text, "\x1b[33mwarning\x1b[0m  conv1"));
  EXPECT_TRUE(holds(text, "\x1b[31;1merror\x1b[0m    the loss"));
  EXPECT_EQ(printed(run).find('\x1b'), std::string::npos);
}

TEST(Console, WrapsALongFindingBetweenWords) {
  const std::string text = printed(
      [](Driver& console) {
        Finding finding = a_finding("long", LOUPE_SEVERITY_ERROR);
        for (int i = 0; i < 20; ++i) finding.message += " and another word";
        finding.advice = "begin-anew-" + std::string(100, 'x');
        tell(console, finding, "a.very.long.name.of.a.layer.that.never.seems.to.end.before.the.terminal.does");
        tick(console, 1);
      },
      {}, "40");
  const Lines lines = lines_of(text);
  EXPECT_GT(lines.size(), 9u);
  for (const std::string& line : lines) EXPECT_LE(columns_of(line), 40u) << line;
}

TEST(Console, IsAsciiUnderTheLocaleC) {
  const auto run = [](Driver& console) {
    tell(console, a_finding("nan_loss", LOUPE_SEVERITY_ERROR, "σ→…é世"));
    for (int epoch = 1; epoch <= 3; ++epoch) one_tick(console, "T", {{"l", epoch}});
    tell_end(console, LOUPE_END_COMPLETED, 3);
  };
  const Sink sink;
  {
    const Environment locale("LC_ALL", "C"), width("COLUMNS", nullptr);
    const Redirected redirected(stdout, sink.writer());
    Driver console(CONSOLE_PLUGIN, with_tables({}));
    console.begin("");
    run(console);
  }
  const std::string text = sink.read();
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
  EXPECT_EQ(text.rfind("error    s>~??? (nan_loss)\n-- digits - epoch 1 ----", 0), 0u) << text;
  const Lines as_ascii = lines_of(text), as_utf8 = lines_of(printed(run));
  ASSERT_EQ(as_ascii.size(), as_utf8.size());
  EXPECT_EQ(columns_of(as_ascii[1]), columns_of(as_utf8[1]));
}

}  // namespace
}  // namespace loupe::test
