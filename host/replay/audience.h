#ifndef LOUPE_REPLAY_AUDIENCE_H
#define LOUPE_REPLAY_AUDIENCE_H

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "show/visualizer_node.h"

namespace loupe::replay {

/// The visualizers that a record is played to. Unlike in training, a visualizer that fails ends the replay: what it
/// throws is an Error that names it.
class Audience : public Surroundings {
 public:
  explicit Audience(const std::vector<ComponentConfig>& visualizers);
  /// Of one that is shown a run already; it outlives this.
  explicit Audience(VisualizerNode& visualizer) : members_{&visualizer} {}
  Audience(const Audience&) = delete;
  Audience& operator=(const Audience&) = delete;

  /// The run that is played, as its record tells of it: while begin() says where files belong now, this has the
  /// directory that the run had.
  void set_run(const loupe_run& run) { run_ = std::make_unique<detail::Owned<loupe_run>>(run); }
  const loupe_run* run() const override { return run_ ? &run_->get() : nullptr; }
  /// A replay has no findings but those of its record.
  void publish(const loupe_finding&, const std::string&) override {}
  bool lend(const loupe_module&, const std::string&, bool, const Take&) override { return false; }

  /// Calls one function of each, such as &loupe_visualizer::value, with what is to be told.
  template <class... Arguments>
  void tell(Arguments&&... arguments) {
    for (VisualizerNode* member : members_) {
      detail::ErrorBuffer error;
      if (member->tell(arguments..., error.get()) != LOUPE_OK) fail(*member, error.text());
    }
  }

 private:
  [[noreturn]] static void fail(const VisualizerNode& member, const char* what);

  std::unique_ptr<detail::Owned<loupe_run>> run_;
  std::deque<VisualizerNode> own_;
  std::vector<VisualizerNode*> members_;
};

}  // namespace loupe::replay

#endif
