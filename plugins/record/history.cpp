#include "record/history.h"

#include <loupe/error.h>
#include <loupe/files/gzip.h>
#include <loupe/visualizer.h>

#include <cstddef>
#include <system_error>

#include "record/reader/player.h"

namespace loupe::record {
namespace {

/// Calls a visualizer through its table of functions. Throws if a function does not return OK.
class TableVisualizer final : public Visualizer {
 public:
  TableVisualizer(const loupe_visualizer& table, void* self) : table_(table), self_(self) {}

  void tag(const Tag& tag) override { call(&loupe_visualizer::tag, &tag); }
  void begin_tick(const Tick& tick) override { call(&loupe_visualizer::begin_tick, &tick); }
  void row(const Row& row) override { call(&loupe_visualizer::row, &row); }
  void histogram(const Histogram& histogram) override { call(&loupe_visualizer::histogram, &histogram); }
  void end_tick() override { call(&loupe_visualizer::end_tick); }
  void finding(const loupe_finding& finding) override { call(&loupe_visualizer::finding, &finding); }
  void note(const Note& note) override { call(&loupe_visualizer::note, &note); }

 private:
  template <class Function, class... Told>
  void call(Function loupe_visualizer::*function, const Told*... told) {
    const auto* end = reinterpret_cast<const char*>(&(table_.*function) + 1);
    const bool is_there =
        end - reinterpret_cast<const char*>(&table_) <= static_cast<std::ptrdiff_t>(table_.struct_size);
    if (!is_there || table_.*function == nullptr) return;
    detail::ErrorBuffer error;
    error.check((table_.*function)(self_, told..., error.get()));
  }

  const loupe_visualizer& table_;
  void* self_;
};

}  // namespace

void play_past(const std::filesystem::path& record, double before, bool with_events, const loupe_visualizer& to,
               void* self) try {
  const std::filesystem::path file = text_file_at(record);
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none) || std::filesystem::file_size(file, none) == 0)
    throw Error("there is no record '" + file.string() + "'", LOUPE_NOT_FOUND);
  replay::RecordReader reader(file.string());
  TableVisualizer told(to, self);
  replay::Player(reader, told).play_history(before, with_events);
} catch (const replay::RecordError& reason) {
  throw Error(reason.what(), LOUPE_INVALID);
}

}  // namespace loupe::record
