#ifndef LOUPE_REPLAY_AUDIENCE_H
#define LOUPE_REPLAY_AUDIENCE_H

#include <loupe/abi.h>

#include <string>
#include <vector>

#include "core/component_instance.h"
#include "core/config.h"

namespace loupe::replay {

/// The visualizers that a record is played to. Unlike in training, a visualizer that fails ends the replay: what it
/// throws is an Error that names it.
class Audience {
 public:
  explicit Audience(const std::vector<ComponentConfig>& visualizers);

  void begin(const loupe_run& run);
  void tag(const loupe_tag& tag);
  void begin_tick(double epoch);
  void value(const loupe_value& value);
  void range(const loupe_range& range);
  void histogram(const loupe_histogram& histogram);
  void end_tick();
  void end();

 private:
  struct Member {
    std::string name;
    ComponentInstance instance;
  };

  template <class Call>
  void each(Call&& call);

  std::vector<Member> members_;
};

}  // namespace loupe::replay

#endif
