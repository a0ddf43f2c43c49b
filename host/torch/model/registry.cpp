#include "torch/model/registry.h"

#include <algorithm>
#include <utility>

namespace loupe {
namespace {

void collect_code(Registry::Table& table) {
  table.code.clear();
  for (const auto& root : table.roots) {
    for (CodeRange range : root->code) {
      range.attachment = root->model_id;
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

/// Publishes a copy of the current table, modified by `change`.
template <class Change>
void Registry::publish(const Change& change) {
  std::shared_ptr<const Table> before;  // its end may end its last points: no lock may be held during plugins' code
  const std::lock_guard lock(mutex_);
  if (forks_.is_new_process()) leave_to_parent(std::exchange(table_, std::make_shared<Table>()));
  auto next = std::make_shared<Table>(*table_);
  change(*next);
  before = std::exchange(table_, std::move(next));
  generation_.fetch_add(1, std::memory_order_release);
}

void Registry::abandon() {
  for (const auto& root : table_->roots) {
    if (const auto attachment = root->attachment.lock()) attachment->abandon();
  }
}

void Registry::add(const std::vector<std::shared_ptr<TapPoint>>& points, bool first) {
  publish([&](Table& table) {
    for (const auto& point : points) {
      ModuleEntry& entry = table.modules[point->module];
      // If a module died, its address belongs to the new one.
      erase_where(entry.points, [](const auto& other) { return !other->alive(); });
      entry.points.insert(first ? entry.points.begin() : entry.points.end(), point);
      entry.opaque = point->opaque;
      if (point->is_root) table.roots.push_back(point);
    }
    collect_code(table);
  });
}

void Registry::remove(const std::atomic<bool>* active) {
  const auto is_its = [&](const auto& point) { return point->active.get() == active; };
  publish([&](Table& table) {
    for (auto& each : table.modules) erase_where(each.second.points, is_its);
    std::erase_if(table.modules, [](const auto& each) { return each.second.points.empty(); });
    std::erase_if(table.roots, is_its);
    collect_code(table);
  });
}

std::shared_ptr<const Registry::Table> Registry::refresh(std::shared_ptr<const Table>& table, uint64_t& generation) {
  if (generation_.load(std::memory_order_acquire) == generation) return nullptr;
  const std::lock_guard lock(mutex_);
  generation = generation_.load(std::memory_order_relaxed);
  return std::exchange(table, table_);
}

std::atomic<const ProgramHooks*> program_hooks{nullptr};
std::atomic<std::uint64_t> unseen_steps{0};

void count_active_attachments(int change) noexcept {
  active_attachments.fetch_add(change);
}
const ProgramHooks* hooks_of_program() noexcept {
  return program_hooks.load(std::memory_order_acquire);
}
void set_hooks_of_program(const ProgramHooks* hooks) noexcept {
  program_hooks.store(hooks, std::memory_order_release);
}
bool is_only_watched() noexcept {
  const ProgramHooks* hooks = hooks_of_program();
  return hooks != nullptr && hooks->before_forward != nullptr;
}
std::uint64_t unseen_step_count() noexcept {
  return unseen_steps.load(std::memory_order_relaxed);
}

}  // namespace loupe
