#pragma once

#include <loupe/detail/owned.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/locks.h"
#include "pipeline/lens_node.h"
#include "pipeline/module_table.h"
#include "ranks/rank_message.h"
#include "show/display.h"

namespace loupe {

/// The ranks that the ticks of a run lack.
class MissingRanks {
 public:
  explicit MissingRanks(int world_size);
  /// @param known  the ranks that may be there; for an old recorded run, the ranks that left any files
  MissingRanks(int world_size, std::optional<std::set<int>> known);

  /// A sentence for the user if a tick lacks different ranks than the previous one; else empty.
  /// @param there  the ranks whose numbers the tick has
  /// @param why    returns what is known of missing ranks, of those that may be there
  std::string note(std::vector<int> there, double epoch, const std::function<std::string(const std::set<int>&)>& why);
  /// Call it when the last tick was shown with only the numbers of rank 0, and the log reports that.
  void show_rank_0_alone();

 private:
  const int world_size_;
  const std::optional<std::set<int>> known_;  // all unless given
  std::vector<int> there_;                    // the ranks of the last tick, in order
};

/// A second set of the lenses of a run, for the numbers of several of its processes: they see no events, and get the
/// states of the lenses that do. Calls come one at a time.
class MergedLenses final : public LensContext {
 public:
  /// @param config  read in this call only
  MergedLenses(const Config& config, const RunDescription& run);

  void add_module(ModuleDescription module);
  /// @param replicas  also merge data that is equal in every replica of a model: true for one of the messages
  void merge(const RankMessage& message, bool replicas);
  /// Merges the data of other ranks, and adds their ranks and extremes to `own`.
  void join(RankMessage& own, const std::vector<RankMessage>& others);
  /// The merged states. All lenses are then empty.
  std::vector<LensStates> take_states();

  struct Report {
    std::unique_ptr<HeldTick> tick;
    std::vector<std::unique_ptr<detail::Owned<loupe_finding>>> findings;
  };
  /// The lenses' report of the merged data. All lenses are then empty.
  Report report(const loupe_tick& tick);
  /// Whether the lens reports on all ranks together, and not on its own process.
  bool speaks_for_all(const std::string& speaker) const;
  /// Messages for the user, once each: lenses that show rank 0's numbers, states that cannot be read.
  std::vector<std::pair<int, std::string>> take_log() { return std::exchange(log_, {}); }

 private:
  struct Lens {
    std::unique_ptr<LensNode> node;
    std::string unable = {};  // why it shows rank 0's numbers
    bool is_merged = false, told = false;
  };
  Lens* find(const std::string& name);
  void tell_unable();

  ModuleNode& node_of(const loupe_module* module) override { return modules_.node_of(module); }
  const loupe_run* run() const override { return &display_.c_run(); }
  bool has_equal_names() const override { return modules_.has_equal_names(); }
  bool lend(const loupe_module&, const std::string&, bool, const Take&) override { return false; }
  std::optional<uint32_t> parameter_flags(const loupe_module&, std::size_t) override { return std::nullopt; }
  void quarantined(const std::string& message) override { log_.emplace_back(LOUPE_LOG_WARNING, message); }
  void publish(const loupe_finding& finding, const std::string& speaker) override;

  const Catalogue catalogue_;
  std::atomic<uint64_t> step_{0};
  std::atomic<double> epoch_{0};
  ModuleTable modules_;
  std::map<std::string, std::shared_ptr<ModelNode>> models_;  // models, by the names under which they were attached
  Display display_;
  LeafMutex findings_mutex_;
  std::vector<std::unique_ptr<detail::Owned<loupe_finding>>> findings_;
  std::vector<std::pair<int, std::string>> log_;
  std::vector<Lens> lenses_;  // last member: they use all members above when they end
};

}  // namespace loupe
