#include "torch/registry.h"

#include <algorithm>

namespace loupe {
namespace {

template <class Predicate>
void erase_points(ModuleEntry& entry, Predicate&& predicate) {
  entry.points.erase(std::remove_if(entry.points.begin(), entry.points.end(), predicate), entry.points.end());
}

void collect_code(Registry::Table& table) {
  table.code.clear();
  for (const auto& root : table.roots) {
    for (CodeRange range : root->code) {
      range.attachment = root->attachment_id;
      table.code.push_back(range);
    }
  }
  std::stable_sort(table.code.begin(), table.code.end(),
                   [](const CodeRange& a, const CodeRange& b) { return a.begin < b.begin; });
}

}  // namespace

std::atomic<int> active_attachments{0};
std::atomic<int> counting_attachments{0};

Registry& Registry::instance() {
  static auto* registry = new Registry();  // taps may outlive static destruction
  return *registry;
}

void Registry::add(const std::vector<std::shared_ptr<TapPoint>>& points, const std::vector<bool>& opaque) {
  const std::lock_guard lock(mutex_);
  auto next = std::make_shared<Table>(*table_);
  for (std::size_t i = 0; i < points.size(); ++i) {
    ModuleEntry& entry = next->modules[points[i]->module];
    // An address whose module died belongs to the new one.
    erase_points(entry, [](const auto& point) { return !point->alive(); });
    entry.points.push_back(points[i]);
    entry.opaque = opaque[i];
  }
  if (!points.empty()) next->roots.push_back(points[0]);
  collect_code(*next);
  table_ = std::move(next);
  generation_.fetch_add(1, std::memory_order_release);
}

void Registry::remove(const Attachment* attachment) {
  const std::lock_guard lock(mutex_);
  auto next = std::make_shared<Table>();
  for (const auto& [module, entry] : table_->modules) {
    ModuleEntry kept{{}, entry.opaque};
    for (const auto& point : entry.points) {
      if (point->attachment_id != attachment) kept.points.push_back(point);
    }
    if (!kept.points.empty()) next->modules.emplace(module, std::move(kept));
  }
  for (const auto& root : table_->roots) {
    if (root->attachment_id != attachment) next->roots.push_back(root);
  }
  collect_code(*next);
  table_ = std::move(next);
  generation_.fetch_add(1, std::memory_order_release);
}

void Registry::add_listener(const std::shared_ptr<TapPoint>& point, bool opaque, bool first) {
  const std::lock_guard lock(mutex_);
  auto next = std::make_shared<Table>(*table_);
  ModuleEntry& entry = next->modules[point->module];
  erase_points(entry, [](const auto& other) { return !other->alive(); });
  entry.points.insert(first ? entry.points.begin() : entry.points.end(), point);
  entry.opaque = opaque;
  table_ = std::move(next);
  generation_.fetch_add(1, std::memory_order_release);
}

void Registry::remove_listener(const TapPoint* point) {
  const std::lock_guard lock(mutex_);
  auto next = std::make_shared<Table>(*table_);
  const auto found = next->modules.find(point->module);
  if (found == next->modules.end()) return;
  erase_points(found->second, [&](const auto& other) { return other.get() == point; });
  if (found->second.points.empty()) next->modules.erase(found);
  table_ = std::move(next);
  generation_.fetch_add(1, std::memory_order_release);
}

bool Registry::refresh(std::shared_ptr<const Table>& table, uint64_t& generation) {
  if (generation_.load(std::memory_order_acquire) == generation) return false;
  const std::lock_guard lock(mutex_);
  table = table_;
  generation = generation_.load(std::memory_order_relaxed);
  return true;
}

}  // namespace loupe
