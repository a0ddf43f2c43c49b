#pragma once

#include <loupe/detail/keyed_list.h>
#include <loupe/visualizer.h>

#include <cstddef>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace loupe::tensorboard {

/// Which lines and bands there are, and the page of TensorBoard's custom scalars that shows them: a category a tag, big
/// ones first and open, a chart a layer with its lines, and one for each band.
class Charts {
 public:
  void tag(const Tag& tag);
  void line(const char* tag, const char* layer, const char* line);
  void band(const char* tag, const char* layer, const char* low_name, const char* high_name);

  /// Whether something was added since the last layout().
  bool changed() const { return changed_; }
  /// A serialised Layout.
  std::string layout();
  /// The names of the scalars in big tags, but for those that are shares of a whole: a run's results.
  std::vector<std::string> results() const;

 private:
  struct LayerCharts {
    std::string name;
    std::vector<std::string> lines;
    std::vector<std::pair<std::string, std::string>> bands;
  };
  struct TagCharts {
    std::string name;
    bool big = false, shares = false;
    detail::KeyedList<LayerCharts> layers;
  };

  TagCharts& tag_of(const std::string& tag);
  LayerCharts& layer_of(const std::string& tag, const std::string& layer);

  detail::KeyedList<TagCharts> tags_;
  std::unordered_set<std::string> known_;
  bool changed_ = false;
};

}  // namespace loupe::tensorboard
