#include "torch/model/coverage.h"

namespace loupe {
namespace {

constexpr std::size_t shown_untapped = 5;

}  // namespace

void Coverage::add(const std::string& name, const std::string& type, const Reach& reach, bool looked_into,
                   bool has_parameters) {
  const std::string shown = name + "  " + type;
  if (reach.tapped) {
    ++tapped_;
    perhaps_ += reach.perhaps ? 1 : 0;
    lines_.push_back(shown + (reach.perhaps ? "  perhaps tapped: its own forward may hide LibTorch's" : "  tapped"));
  } else if (reach.container && looked_into) {
    ++containers_;
    lines_.push_back(shown + "  a container, looked into");
  } else if (!has_parameters) {
    lines_.push_back(shown + "  not tapped, and without parameters: " + reach.reason);
  } else if (reach.has_no_forward) {
    lines_.push_back(shown + "  parameters without a forward");
  } else {
    untapped_.push_back(name + " (" + type + "): " + reach.reason);
    lines_.push_back(shown + "  not tapped: " + reach.reason);
  }
}

void Coverage::add_again(const std::string& name, const std::string& type, const std::string& first_name) {
  lines_.push_back(name + "  " + type + "  the same module as " + first_name);
}

std::string Coverage::share() const {
  if (tapped_ + untapped_.size() + containers_ == 0) return "its parameters alone are watched";
  return std::to_string(tapped_) + " of " + std::to_string(tapped_ + untapped_.size()) + " modules tapped";
}

std::string Coverage::counts() const {
  std::string text = share();
  if (perhaps_ > 0) text += " (" + std::to_string(perhaps_) + " perhaps: the first tick tells)";
  if (containers_ > 0) text += ", " + std::to_string(containers_) + " containers looked into";
  return text;
}

std::string Coverage::untapped() const {
  std::string text;
  for (std::size_t i = 0; i < untapped_.size() && i < shown_untapped; ++i) text += "; not tapped: " + untapped_[i];
  if (untapped_.size() > shown_untapped) {
    text +=
        "; and " + std::to_string(untapped_.size() - shown_untapped) + " more (attach: {list_modules: true} lists all)";
  }
  return text;
}

}  // namespace loupe
