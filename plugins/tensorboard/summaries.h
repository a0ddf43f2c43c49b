#pragma once

#include <loupe/visualizer.h>

#include <string>

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

}  // namespace loupe::tensorboard
