#pragma once

#include <loupe/detail/keyed_list.h>
#include <loupe/visualizer.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace loupe::tensorboard {

/// The name of a scalar or histogram: "<tag>/<line>/<layer>", as TensorBoard groups by the tag and sorts the rest, so
/// that one line's layers stand together; "<tag>/<line>" of a plot for the whole model.
std::string scalar_name(const std::string& tag, const std::string& layer, const std::string& line);

// Each appends one value to a serialised Summary.

void add_scalar(std::string& summary, const std::string& name, double value);
/// Sums and extremes come from the bins' middles; an infinite edge is taken as its neighbour doubled, and bins that are
/// empty at both ends are left out.
void add_histogram(std::string& summary, const std::string& name, const loupe::Histogram& histogram);
/// @param plugin of TensorBoard that reads the text: "text" for Markdown, "custom_scalars" for a layout
void add_text(std::string& summary, const std::string& name, const std::string& plugin, const std::string& text);
/// @param data a serialised HyperparameterData
void add_hyperparameter_data(std::string& summary, const std::string& name, const std::string& data);

using Setting = std::variant<std::string, bool, double>;
using Settings = std::map<std::string, Setting>;

/// A setting of a run; lists are joined by commas.
Setting setting_of(const Hyperparameter& value);

// Each gives a serialised HyperparameterData; times are seconds since 1970.

/// What TensorBoard's page of hyperparameters shows: these settings, and these scalars beside them.
std::string experiment(const Settings& settings, const std::vector<std::string>& metrics);
std::string session_start(const Settings& settings, double time);
/// @param how LOUPE_END_
std::string session_end(std::uint32_t how, double time);

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
