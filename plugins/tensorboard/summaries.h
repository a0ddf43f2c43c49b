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

/// The name of a scalar or histogram: "<tag>/<line>/<layer>", because TensorBoard groups by the tag and sorts the rest,
/// so that the layers of a line are together; "<tag>/<line>" in a plot for the whole model.
std::string scalar_name(const std::string& tag, const std::string& layer, const std::string& line);

// Each of these functions appends one value to a serialised Summary.

void add_scalar(std::string& summary, const std::string& name, double value);
/// Sums and extremes are computed from the bins' middles. An infinite edge is replaced by its doubled neighbour, and
/// empty bins at both ends are left out.
void add_histogram(std::string& summary, const std::string& name, const loupe::Histogram& histogram);
/// @param plugin the TensorBoard plugin that reads the text: "text" for Markdown, "custom_scalars" for a layout
void add_text(std::string& summary, const std::string& name, const std::string& plugin, const std::string& text);
/// @param data a serialised HyperparameterData
void add_hyperparameter_data(std::string& summary, const std::string& name, const std::string& data);

using Setting = std::variant<std::string, bool, double>;
using Settings = std::map<std::string, Setting>;

/// A setting of a run; lists are joined by commas.
Setting setting_of(const Hyperparameter& value);

// Each of these returns a serialised HyperparameterData; times are in seconds since 1970.

/// The columns of TensorBoard's page of hyperparameters: these settings, and these scalars as results.
std::string experiment(const Settings& settings, const std::vector<std::string>& metrics);
std::string session_start(const Settings& settings, double time);
/// @param how LOUPE_END_
std::string session_end(std::uint32_t how, double time);

/// The lines and bands of a run, and the layout of TensorBoard's page of custom scalars for them: one category per tag,
/// big tags first and unfolded; in it a chart per layer with its lines, and one per band.
class Charts {
 public:
  void tag(const Tag& tag);
  void line(const char* tag, const char* layer, const char* line);
  void band(const char* tag, const char* layer, const char* low_name, const char* high_name);

  /// Whether something was added since the last layout().
  bool changed() const { return changed_; }
  /// A serialised Layout.
  std::string layout();
  /// The names of the scalars in big tags, without shares of a whole: the results of a run.
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
