// made_reports FOLDER: the reports that report_browser.py opens.
#include "report/made_runs.h"

#include <cstdio>

using loupe::test::Driver;
using loupe::test::MadeRun;

namespace {

template <class Tell>
void make(const std::string& file, Tell&& tell) {
  Driver html(HTML_PLUGIN, {{"path", file}});
  tell(html);
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
  make(folder + "/diverged.html", [](Driver& html) {
    tell_small_run(html, {"adam", "", 30, 1, 0.012});
    html.begin(Driver::run_of("", false, "diverged"));
    html.tag("Loss", LOUPE_TAG_NUMERICAL, true);
    for (int epoch = 0; epoch < 30; ++epoch) {
      html.begin_tick(epoch);
      html.value("Loss", "Loss", "train_loss mean", 2.0 * (epoch + 1) * (epoch + 1) * (epoch + 1));
      html.end_tick();
    }
    html.end();
  });
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
  make(folder + "/ill.html", [](Driver& html) {
    tell_small_run(html, loupe::test::ill_run());
    html.end(LOUPE_END_FAILED, "The loss is NaN at step 1799.", 1799);
  });
  make(folder + "/warned.html", [](Driver& html) { tell_small_run(html, loupe::test::warned_run()); });
  make(folder + "/healthy.html", [](Driver& html) { tell_small_run(html, loupe::test::healthy_run()); });
  make(folder + "/large.html", [](Driver& html) { tell_large_run(html, {"resnet500", "", 1000}); });
  return 0;
}
