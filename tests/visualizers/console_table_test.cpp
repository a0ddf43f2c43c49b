// The content of the console's tables.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "console_output.h"
#include "paths.h"

namespace loupe::test {
namespace {

TEST(Console, PrintsOneTableATick) {
  const std::string text = printed(
      [](Driver& console) {
        console.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
        console.tag("Output Activation", LOUPE_SCALE_PROBABILITY);
        for (const int epoch : {1, 2}) {
          console.begin_tick(epoch);
          console.value("Loss", "Loss", "train_loss mean", 2.5 / epoch);
          console.range("Loss", "Loss", "train_loss -σ", "train_loss +σ", 1, 2);
          console.range("Loss", "Loss", "train_loss min", "train_loss max", 0.0625, 12345678);
          console.value("Loss", "Loss", "val_loss mean", NAN);
          console.value("Output Activation", "conv1", "activation_rate", 0.75);
          console.value("Output Activation", "conv1", "death_rate", 0.125);
          console.value("Output Activation", "fc", "activation_rate", 0.5 / epoch);
          console.end_tick();
        }
      },
      {}, "72");
  EXPECT_EQ(text,
            "── digits · epoch 1 ────────────────────────────────────────────────────\n"
            "Loss                    mean          σ        min        max\n"
            "  train_loss           2.500     0.5000    0.06250  1.235e+07\n"
            "  val_loss               NaN\n"
            "Output Activation  activation_rate  death_rate\n"
            "  fc                        0.5000\n"
            "  conv1                     0.7500      0.1250\n"
            "\n"
            "── digits · epoch 2 ────────────────────────────────────────────────────\n"
            "Loss                    mean          σ        min        max\n"
            "  train_loss           1.250     0.5000    0.06250  1.235e+07  █▁\n"
            "  val_loss               NaN                                   ××\n"
            "Output Activation  activation_rate  death_rate\n"
            "  fc                        0.2500              ▅▃\n"
            "  conv1                     0.7500      0.1250  ▇▇\n"
            "\n");
}

TEST(Console, ShowsNumbersOfWholeTicksOnly) {
  const std::string text = printed([](Driver& console) {
    console.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
    console.begin_tick(1);
    console.value("Loss", "Loss", "train_loss mean", 2.5);
    console.value("Loss", "Loss", "train_loss step", 7.25, 0, 1);
    console.end_tick();
  });
  EXPECT_NE(text.find("2.5"), std::string::npos) << text;
  EXPECT_EQ(text.find("7.25"), std::string::npos) << text;
}

TEST(Console, PutsTheLeastActiveAndTheMostDeadFirst) {
  const std::string text = printed([](Driver& console) {
    console.tag("A", LOUPE_SCALE_PROBABILITY);
    console.begin_tick(1);
    const struct {
      const char* layer;
      double activation, death;
    } layers[] = {{"fine", 0.6, 0}, {"dying", 0.6, 0.45}, {"silent", 0.15, 0}, {"dead", 0.55, 0.9}, {"well", 0.7, 0}};
    for (const auto& layer : layers) {
      console.value("A", layer.layer, "activation_rate", layer.activation);
      console.value("A", layer.layer, "death_rate", layer.death);
    }
    console.end_tick();
  });
  EXPECT_EQ(row_names(text), (std::vector<std::string>{"dead", "dying", "silent", "fine", "well"}));
}

TEST(Console, ShowsNormsInTheOrderOfTheModel) {
  const std::string text = printed([](Driver& console) {
    one_tick(console, "T", {{"a", 1e-6}, {"b", 3}, {"c", NAN}, {"d", 200}, {"e", 0}});
  });
  EXPECT_EQ(row_names(text), (std::vector<std::string>{"a", "b", "c", "d", "e"}));
}

TEST(Console, DoesNotMarkALayerForBeingDifferent) {
  const auto tick = [](Driver& console) {
    one_tick(console, "T", {{"a", 1e-9}, {"b", 1e-8}, {"c", 1e-7}, {"d", 1e-6}, {"healthy", 1}});
  };
  const std::string text = printed(tick, {{"color", "always"}});
  EXPECT_FALSE(holds(text, "\x1b[31"));
  EXPECT_FALSE(holds(text, "\x1b[33"));
}

TEST(Console, ColorsARowByTheFindingThatStandsOfIt) {
  const auto text = [](const char* tag, const char* layer) {
    return printed(
        [&](Driver& console) {
          console.begin_tick(1);
          for (const char* each : {"fc1", "fc2"}) console.value("T", each, "mean", 4);
          Finding finding = a_finding("vanishing_gradient", LOUPE_SEVERITY_ERROR, "its gradient is next to nothing");
          finding.tag = tag;
          tell(console, finding, layer);
          console.end_tick();
        },
        {{"color", "always"}});
  };
  const std::string red = "\x1b[31;1m        4\x1b[0m";
  EXPECT_TRUE(holds(text("T", "fc2"), "fc2  " + red));
  EXPECT_FALSE(holds(text("T", "fc2"), "fc1  " + red));
  EXPECT_FALSE(holds(text("Another", "fc2"), red));
  EXPECT_FALSE(holds(text("T", "fc3"), red));
}

TEST(Console, ShowsBadLayersAndASampleOfTheOthersIfThereAreTooMany) {
  const auto tick = [](Driver& console) {
    std::vector<std::pair<std::string, double>> layers;
    for (int i = 0; i < 60; ++i) layers.emplace_back("layer" + std::to_string(i), i == 17 ? NAN : 1);
    one_tick(console, "T", layers);
  };
  EXPECT_EQ(row_names(printed(tick, {{"layers", 4}})),
            (std::vector<std::string>{"layer0", "layer17", "layer30", "layer59", "… and 56 more"}));
}

TEST(Console, KeepsTheOrderOfLinesInAPlotOfTheWholeModel) {
  const auto tick = [](Driver& console) {
    console.tag("Share", LOUPE_SCALE_RELATION, true);
    console.begin_tick(1);
    for (const auto& [layer, share] : {std::pair("a", 0.2), {"b", 0.5}, {"c", 0.3}}) {
      console.value("Share", "Share", layer, share);
    }
    console.end_tick();
  };
  EXPECT_EQ(row_names(printed(tick)), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(row_names(printed(tick, {{"layers", 2}})), (std::vector<std::string>{"b", "c", "… and 1 more"}));
}

TEST(Console, SaysHowManyMoreLayersThereAre) {
  const auto tick = [](Driver& console) {
    std::vector<std::pair<std::string, double>> layers;
    for (int i = 0; i < 60; ++i) layers.emplace_back("layer" + std::to_string(i), i);
    one_tick(console, "T", layers);
  };
  const auto limited = row_names(printed(tick));
  ASSERT_EQ(limited.size(), 13u);
  EXPECT_EQ(limited.back(), "… and 48 more");
  EXPECT_EQ(row_names(printed(tick, {{"layers", 0}})).size(), 60u);
}

void wide_ticks(Driver& console) {
  console.tag("Weight Gradient Norm");
  for (int epoch = 1; epoch <= 30; ++epoch) {
    console.begin_tick(epoch);
    for (int i = 0; i < 20; ++i) {
      const std::string layer =
          "backbone.layer" + std::to_string(i / 10) + ".block" + std::to_string(i % 10) + ".bottleneck.convolution";
      console.value("Weight Gradient Norm", layer, "mean", i * epoch / 7.0);
      console.range("Weight Gradient Norm", layer, "-σ", "+σ", -1, i);
      console.range("Weight Gradient Norm", layer, "min", "max", -1e-9, 1e9 * i);
    }
    console.end_tick();
  }
}

TEST(Console, FitsEveryWidth) {
  for (int width = 20; width <= 140; width += 5) {
    const std::string text = printed(wide_ticks, {}, std::to_string(width).c_str());
    for (const std::string& line : lines_of(text)) {
      EXPECT_LE(columns_of(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(Console, NamesThePlotsThatDoNotFit) {
  EXPECT_TRUE(holds(printed(wide_ticks, {}, "60"), "  … and 8 more; no room for min, max\n"));
  EXPECT_FALSE(holds(printed(wide_ticks, {}, "140"), "no room"));
}

TEST(Console, ShortensNamesSoThatTheyStillDiffer) {
  const std::string text = printed(wide_ticks, {{"layers", 0}}, "60");
  auto names = row_names(text.substr(text.rfind("──")));
  names.pop_back();
  EXPECT_EQ(names.size(), 20u);
  for (const std::string& name : names) EXPECT_TRUE(holds(name, "…"));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

TEST(Console, AlignsNamesOfWideAndOfCombiningCharacters) {
  const std::string text = printed([](Driver& console) {
    one_tick(console, "T", {{"層一", 3}, {"e\xCC\x81", 2}, {"σab\xff", 1}});
  });
  EXPECT_EQ(lines_of(text)[2], "  層一          3");
  EXPECT_EQ(lines_of(text)[3], "  e\xCC\x81             2");
  EXPECT_EQ(lines_of(text)[4], "  σab\xEF\xBF\xBD          1");
}

TEST(Console, LetsNoNameControlTheTerminal) {
  const std::string text = printed([](Driver& console) {
    one_tick(console, "T\x1b]0;title\a",
             {{"\x1b[2Jx\r\n\x7f", 3},
              {"\xC2\x9B"
               "31m",
               2}});
  });
  EXPECT_EQ(lines_of(text).size(), 5u);
  EXPECT_EQ(lines_of(text)[1].substr(0, 12), "T?]0;title? ");
  EXPECT_EQ(row_names(text), (std::vector<std::string>{"?[2Jx???", "?31m"}));
}

TEST(Console, DrawsTheLastEpochsInTheirOwnScale) {
  const auto ticks = [](uint32_t type, bool log_y) {
    return [=](Driver& console) {
      console.tag("T", type, false, log_y);
      for (int epoch = 1; epoch <= 4; ++epoch) {
        console.begin_tick(epoch);
        console.value("T", "l", "mean", std::pow(10, epoch - 4));
        console.end_tick();
      }
    };
  };
  const auto last_row = [](const std::string& text) { return *(lines_of(text).rbegin() + 1); };
  EXPECT_EQ(last_row(printed(ticks(LOUPE_SCALE_NUMERICAL, true))), "  l          1  ▁▃▆█");
  EXPECT_EQ(last_row(printed(ticks(LOUPE_SCALE_NUMERICAL, false))), "  l          1  ▁▁▁█");
  EXPECT_EQ(last_row(printed(ticks(LOUPE_SCALE_PROBABILITY, false))), "  l     1.0000  ▁▁▁█");
  EXPECT_EQ(last_row(printed(ticks(LOUPE_SCALE_NUMERICAL, true), {{"history", 2}})), "  l          1  ▁█");
  EXPECT_EQ(last_row(printed(ticks(LOUPE_SCALE_NUMERICAL, true), {{"history", 0}})), "  l          1");
}

TEST(Console, MarksAnEpochThatWasCutShort) {
  const auto ticks = [](Driver& console) {
    console.set_pace(10, 1);
    for (const uint32_t flags : {uint32_t{0}, uint32_t{LOUPE_TICK_INCOMPLETE}}) {
      console.begin_tick(flags == 0 ? 1 : 2, flags);
      console.value("T", "l", "mean", 1);
      console.end_tick();
    }
  };
  for (const char* detail : {"all", "lines"}) {
    const std::string text = printed(ticks, {{"detail", detail}});
    EXPECT_TRUE(holds(text, "epoch 2, cut short")) << text;
    EXPECT_FALSE(holds(text, "epoch 1, cut short")) << text;
  }
}

TEST(Console, ShowsChosenTagsOnly) {
  const auto tick = [](Driver& console) {
    console.begin_tick(1);
    for (const char* tag : {"Weight Gradient Norm", "Loss", "Output Norm", "Metrics"})
      console.value(tag, "l", "mean", 1);
    console.end_tick();
  };
  const std::string text = printed(tick, {{"tags", Strings{"*Norm", "Loss"}}});
  EXPECT_TRUE(holds(text, "\nWeight Gradient Norm "));
  EXPECT_TRUE(holds(text, "\nLoss "));
  EXPECT_TRUE(holds(text, "\nOutput Norm "));
  EXPECT_FALSE(holds(text, "Metrics"));
}

TEST(Console, ReportsATagPatternWithoutAMatch) {
  std::vector<std::string> messages;
  const auto run = [&](Driver& console) {
    for (int epoch = 1; epoch < 6; ++epoch) {
      console.begin_tick(epoch);
      console.value("Loss", "l", "mean", 1);
      console.value("Loss", "m", "mean", 1);
      console.end_tick();
    }
    console.end();
    messages = console.messages;
  };
  printed(run, {{"tags", Strings{"Loss", "Los"}}});
  EXPECT_EQ(messages, std::vector<std::string>{"no tag fits 'Los' given in tags; did you mean 'Loss'?"});
}

/// Trains epochs 1 to `epochs`, with the best loss in the second.
void train(Driver& console, int epochs) {
  console.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    console.begin_tick(epoch);
    console.value("Loss", "Loss", "train_loss mean", epoch == 2 ? 0.25 : epoch);
    console.value("Loss", "Loss", "val_loss mean", 10.0 - epoch);
    console.end_tick();
  }
}

TEST(Console, CallsNoLossTheBestThatIsWorseThanTheLastOfAnEpochThatWasCutShort) {
  const std::string text = printed([](Driver& console) {
    console.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
    for (const uint32_t flags : {uint32_t{0}, uint32_t{LOUPE_TICK_INCOMPLETE}}) {
      console.begin_tick(flags == 0 ? 1 : 2, flags);
      console.value("Loss", "Loss", "train_loss mean", flags == 0 ? 3 : 1);
      console.end_tick();
    }
    console.end();
  });
  EXPECT_TRUE(holds(text, "\nlast: train_loss 1\n")) << text;
}

TEST(Console, EndsWithTheLastValueOfEachLossAndTheBestIfItDiffers) {
  const std::string text = printed([](Driver& console) {
    train(console, 3);
    console.end();
  });
  EXPECT_TRUE(holds(text, "\nlast: train_loss 3 (best 0.2500 in epoch 2), val_loss 7\n"));
  EXPECT_FALSE(holds(printed([](Driver& console) { train(console, 3); }), "last"));
}

TEST(Console, EndsWithTheEpochOfALossThatTheLastOneLacks) {
  const std::string text = printed([](Driver& console) {
    train(console, 3);
    console.begin_tick(4);
    console.value("Loss", "Loss", "train_loss mean", 0.125);
    console.end_tick();
    console.end();
  });
  EXPECT_TRUE(holds(text, "\nlast: train_loss 0.1250, val_loss 7 in epoch 3\n"));
}

TEST(Console, EndsWithTheMediansOfShares) {
  const std::string text = printed([](Driver& console) {
    console.tag({.struct_size = sizeof(loupe_tag),
                 .type = LOUPE_SCALE_RELATION,
                 .flags = LOUPE_TAG_BIG,
                 .id = "Step Time",
                 .unit = "ms"});
    double epoch = 0;
    for (const double slow : {1.0, 1.0, 1.0, 50.0}) {
      console.begin_tick(++epoch);
      console.value("Step Time", "Step Time", "forward", slow);
      console.value("Step Time", "Step Time", "other", 3 * slow);
      console.end_tick();
    }
    console.end();
  });
  EXPECT_TRUE(holds(text, "\nStep Time 4 ms: other 75 %, forward 25 %\n")) << text;
}

TEST(Console, EndsWithTheLastValuesOfSeveralTrainedLossesAndCallsNoneBest) {
  const std::string text = printed([](Driver& console) {
    console.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
    for (int epoch = 1; epoch <= 2; ++epoch) {
      console.begin_tick(epoch);
      for (const char* name : {"Actor loss mean", "Critic loss mean", "val_loss mean"})
        console.value("Loss", "Loss", name, epoch);
      console.end_tick();
    }
    console.end();
  });
  EXPECT_TRUE(holds(text, "\nlast: Actor loss 2, Critic loss 2, val_loss 2 (best 1 in epoch 1)\n"));
}

TEST(Console, ShowsTheFirstTickEachNthAndTheLast) {
  const std::string text = printed(
      [](Driver& console) {
        train(console, 6);
        console.end();
      },
      {{"every", 4}});
  for (const char* shown : {"epoch 1 ", "epoch 5 ", "epoch 6 "}) EXPECT_TRUE(holds(text, shown)) << shown << text;
  for (const char* hidden : {"epoch 2 ─", "epoch 3 ", "epoch 4 "}) EXPECT_FALSE(holds(text, hidden)) << hidden << text;
}

TEST(Console, PutsPlotsOfOneRowIntoOneTable) {
  const std::string text = printed([](Driver& console) {
    for (const char* tag : {"Metrics", "Learning Rate", "Gradient Norm"}) console.tag(tag, LOUPE_SCALE_NUMERICAL, true);
    console.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
    console.begin_tick(1);
    console.value("Metrics", "Metrics", "accuracy mean", 0.5);
    console.value("Learning Rate", "Learning Rate", "Adam", 0.01);
    console.value("Gradient Norm", "Gradient Norm", "mean", 3);
    console.value("Loss", "Loss", "train_loss mean", 1);
    console.value("Loss", "Loss", "val_loss mean", 2);
    console.end_tick();
  });
  EXPECT_EQ(row_names(text), (std::vector<std::string>{"Metrics: accuracy", "Learning Rate: Adam",
                                                       "Gradient Norm: mean", "train_loss", "val_loss"}))
      << text;
  EXPECT_FALSE(holds(text, "\nMetrics"));
}

TEST(Console, ShowsNoSpreadOfASingleValue) {
  const auto tick = [](double spread) {
    return [spread](Driver& console) {
      console.tag("Norm");
      console.begin_tick(1);
      console.value("Norm", "fc", "mean", 3);
      console.range("Norm", "fc", "-σ", "+σ", 3 - spread, 3 + spread);
      console.end_tick();
    };
  };
  EXPECT_TRUE(holds(printed(tick(1)), "σ"));
  EXPECT_FALSE(holds(printed(tick(0)), "σ"));
}

}  // namespace
}  // namespace loupe::test
