#include "ranks/merged_lenses.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "ranks/lens_states.h"

namespace loupe {

MissingRanks::MissingRanks(int world_size) : MissingRanks(world_size, std::nullopt) {}

MissingRanks::MissingRanks(int world_size, std::optional<std::set<int>> known)
    : world_size_(world_size), known_(std::move(known)), there_(static_cast<std::size_t>(world_size)) {
  std::iota(there_.begin(), there_.end(), 0);
}

std::string MissingRanks::note(std::vector<int> there, double epoch,
                               const std::function<std::string(const std::set<int>&)>& why) {
  std::sort(there.begin(), there.end());
  if (there == there_) return "";
  there_ = std::move(there);
  const std::string from = "from epoch " + std::to_string(static_cast<long long>(epoch)) + " on ";
  if (there_.size() == static_cast<std::size_t>(world_size_))
    return from + "all " + std::to_string(world_size_) + " ranks are there";
  std::set<int> missing;
  if (known_) {
    missing = *known_;
  } else {
    for (int rank = 0; rank < world_size_; ++rank) missing.insert(missing.end(), rank);
  }
  for (const int rank : there_) missing.erase(rank);
  return from + "numbers come from " + std::to_string(there_.size()) + " of " + std::to_string(world_size_) +
         " ranks: " + why(missing);
}

void MissingRanks::show_rank_0_alone() {
  there_ = {0};
}

MergedLenses::MergedLenses(const Config& config, const RunDescription& run)
    : catalogue_(config.catalogue), modules_(step_, std::numeric_limits<int64_t>::max()), display_(this) {
  display_.set_run(run);
  display_.hold_ticks();
  for (const ComponentConfig& lens : config.lenses) {
    lenses_.push_back({std::make_unique<LensNode>(lens, catalogue_, false, *this)});
    Lens& made = lenses_.back();
    made.node->attach();
    made.unable = LensStatesOf(*made.node).cannot_merge();
  }
}

void MergedLenses::add_module(ModuleDescription module) {
  std::shared_ptr<ModelNode>& model = models_[module.model];
  if (model == nullptr) model = std::make_shared<ModelNode>(module.model, module.model, "");
  const auto node = modules_.add(std::move(module), model, /*parent=*/nullptr);
  for (const Lens& lens : lenses_) {
    if (lens.unable.empty()) lens.node->visit(*node);
  }
}

MergedLenses::Lens* MergedLenses::find(const std::string& name) {
  const auto found =
      std::find_if(lenses_.begin(), lenses_.end(), [&](const Lens& each) { return each.node->name() == name; });
  return found != lenses_.end() ? &*found : nullptr;
}

void MergedLenses::tell_unable() {
  std::map<std::string, std::string> lenses;  // names of lenses, by the reason
  for (Lens& lens : lenses_) {
    if (lens.unable.empty() || std::exchange(lens.told, true)) continue;
    std::string& names = lenses[lens.unable];
    names += (names.empty() ? "" : ", ") + lens.node->name();
  }
  std::string text;
  for (const auto& [why, names] : lenses) text += (text.empty() ? "" : "; ") + names + " (" + why + ")";
  if (!text.empty()) log_.emplace_back(LOUPE_LOG_INFO, "only rank 0's numbers are shown for these lenses: " + text);
}

void MergedLenses::merge(const RankMessage& message, bool replicas) {
  for (const LensStates& states : message.lenses) {
    Lens* lens = find(states.lens);
    if (lens == nullptr) continue;
    if (!states.unable.empty() && lens->unable.empty()) lens->unable = states.unable;
    if (!lens->unable.empty() || states.sources.empty()) continue;
    lens->is_merged = true;
    if (!LensStatesOf(*lens->node).merge(states, replicas))
      lens->unable = "a state of another rank cannot be merged with its own";
  }
}

void MergedLenses::join(RankMessage& own, const std::vector<RankMessage>& others) {
  for (const RankMessage& other : others) {
    merge(other, false);
    own.ranks.insert(own.ranks.end(), other.ranks.begin(), other.ranks.end());
    own.add_extremes(other.extremes);
    own.add_faults(other.faults);
  }
}

std::vector<LensStates> MergedLenses::take_states() {
  std::vector<LensStates> states;
  for (Lens& lens : lenses_) {
    if (lens.unable.empty()) {
      if (std::exchange(lens.is_merged, false)) states.push_back(LensStatesOf(*lens.node).take());
    } else {
      states.push_back({lens.node->name(), {}, lens.unable});
    }
  }
  return states;
}

MergedLenses::Report MergedLenses::report(const loupe_tick& tick) {
  step_ = tick.at.step;
  epoch_ = tick.at.epoch;
  display_.begin_tick(tick);
  for (Lens& lens : lenses_) {
    if (std::exchange(lens.is_merged, false) && lens.unable.empty()) lens.node->report(tick, display_);
  }
  tell_unable();
  display_.end_tick();
  const std::lock_guard lock(findings_mutex_);
  return {display_.take_held(), std::move(findings_)};
}

bool MergedLenses::speaks_for_all(const std::string& speaker) const {
  return std::any_of(lenses_.begin(), lenses_.end(), [&](const Lens& each) {
    return LensStatesOf(*each.node).takes_all_ranks() && speaker == "the lens '" + each.node->name() + "'";
  });
}

void MergedLenses::publish(const loupe_finding& finding, const std::string& speaker) {
  loupe_finding copy = detail::known_part(finding);
  copy.source = speaker.c_str();
  // The program may be in a later epoch when it is shown.
  if (copy.first_step == 0) copy.first_step = step_;
  if (copy.last_step == 0) copy.last_step = step_;
  if (copy.first_epoch == 0) copy.first_epoch = epoch_;
  if (copy.last_epoch == 0) copy.last_epoch = epoch_;
  auto kept = std::make_unique<detail::Owned<loupe_finding>>(copy);
  const std::lock_guard lock(findings_mutex_);
  findings_.push_back(std::move(kept));
}

}  // namespace loupe
