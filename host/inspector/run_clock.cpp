#include "inspector/run_clock.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/log.h"
#include "core/suggestion.h"

namespace loupe {

void RunClock::choose() {
  const std::string& name = monitor_.config().tick.of;
  const Attachments::List& all = attachments_.all();
  auto chosen = std::find_if(all.begin(), all.end(), [&](const auto& each) {
    return name.empty() ? each->has_optimizer() : each->name() == name;
  });
  if (chosen == all.end() && name.empty()) chosen = all.begin();
  if (chosen == all.end())
    chosen = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each->shown_name() == name; });
  for (auto each = all.begin(); each != all.end(); ++each) (*each)->set_clock(each == chosen);
  is_missing_ = chosen == all.end() && !all.empty();
  if (chosen == all.end()) return;
  was_there_ = true;
  told_ = false;
}

void RunClock::warn_if_missing() {
  if (!is_missing_ || std::exchange(told_, true)) return;
  std::vector<std::string> names;
  for (const auto& each : attachments_.all()) names.push_back(each->shown_name());
  const std::string& name = monitor_.config().tick.of;
  const std::string what = was_there_ ? "', a model that is detached: from now on no step counts and nothing ticks by "
                                        "itself; name another one, or call tick_epoch()"
                                      : "', which no attached model is called, so that no step counts and nothing "
                                        "ticks by itself until one is" +
                                            suggestion(name, names);
  log(LOUPE_LOG_WARNING, "run.tick.of names '" + name + what);
}

}  // namespace loupe
