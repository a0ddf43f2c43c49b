// What a lens tells: checked, given the lens's own suffix where it has one, and handed on.

#include "pipeline/lens_sink.h"

#include <loupe/detail/whole.h>
#include <loupe/error.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "core/strict.h"
#include "findings/finding_board.h"
#include "pipeline/lens_node.h"

namespace loupe {
namespace {

constexpr std::size_t most_bins = 1 << 24, most_numbers = 1 << 24;

void need(const char* text, const char* what) {
  if (text == nullptr) throw Error(std::string(what) + " is null; give it a text", LOUPE_INVALID);
}

/// Whether two tell the same layer: a big plot may also be told by its own name.
bool is_big(const char* layer, const char* tag) {
  return layer == nullptr || *layer == '\0' || std::strcmp(layer, tag) == 0;
}

template <class Told>
const Told& given(const Told* told) {
  if (told == nullptr) throw Error("what is told is null", LOUPE_INVALID);
  return *told;
}

}  // namespace

void check_told(const loupe_tag& tag) {
  need(tag.id, "the id of a tag");
}

void check_told(const loupe_row& row) {
  need(row.tag, "the tag of a row");
  if (row.value_count > most_numbers || row.band_count > most_numbers) {
    throw Error("a row has " + std::to_string(std::max(row.value_count, row.band_count)) +
                    " numbers; tell them in rows of at most " + std::to_string(most_numbers),
                LOUPE_INVALID);
  }
  if (row.value_count > 0 && (row.value_names == nullptr || row.values == nullptr))
    throw Error("a row has values, but value_names or values is null; give it both", LOUPE_INVALID);
  if (row.band_count > 0 && (row.band_names == nullptr || row.bands == nullptr))
    throw Error("a row has bands, but band_names or bands is null; give it both", LOUPE_INVALID);
  for (std::size_t i = 0; i < row.value_count; ++i) need(row.value_names[i], "the name of a value");
  for (std::size_t i = 0; i < row.band_count; ++i) {
    need(row.band_names[2 * i], "the low name of a range");
    need(row.band_names[2 * i + 1], "the high name of a range");
  }
}

void check_told(const loupe_histogram& histogram) {
  need(histogram.tag, "the tag of a histogram");
  need(histogram.line, "the line of a histogram");
  if (histogram.bin_count == 0 || histogram.bin_count > most_bins) {
    throw Error(
        "a histogram has " + std::to_string(histogram.bin_count) + " bins; give it 1 to " + std::to_string(most_bins),
        LOUPE_INVALID);
  }
  if (histogram.edges == nullptr || histogram.counts == nullptr) {
    throw Error("a histogram has no edges or no counts", LOUPE_INVALID);
  }
  for (std::size_t i = 0; i < histogram.bin_count; ++i) {
    if (!(histogram.edges[i] < histogram.edges[i + 1]))
      throw Error("the edges of a histogram must ascend", LOUPE_INVALID);
  }
}

void LensNode::make_sink() {
  sink_ = {.struct_size = sizeof(loupe_sink),
           .context = this,
           .tag =
               [](void* to, const loupe_tag* tag, loupe_error* error) {
                 return detail::guarded(error, [&] { static_cast<LensNode*>(to)->show_tag(given(tag)); });
               },
           .row =
               [](void* to, const loupe_row* row, loupe_error* error) {
                 return detail::guarded(error, [&] { static_cast<LensNode*>(to)->show(given(row), &Display::row); });
               },
           .histogram =
               [](void* to, const loupe_histogram* histogram, loupe_error* error) {
                 return detail::guarded(
                     error, [&] { static_cast<LensNode*>(to)->show(given(histogram), &Display::histogram); });
               },
           .finding =
               [](void* to, const loupe_finding* finding, loupe_error* error) {
                 return detail::guarded(error, [&] { static_cast<LensNode*>(to)->tell_finding(given(finding)); });
               },
           .get_extension = [](void*, const char*) -> const void* { return nullptr; }};
}

void LensNode::show_tag(const loupe_tag& tag) {
  expect({State::reporting}, "tag");
  loupe_tag copy = detail::known_part(tag);
  check_told(copy);
  const std::string id = tag_id(copy.id);
  const std::string title = copy.title != nullptr ? tag_id(copy.title) : id;
  const std::string own = copy.id;
  copy.id = id.c_str();
  copy.title = title.c_str();
  display_->tag(copy, guard_.speaker());
  tags_.insert(own);
}

template <class Told>
void LensNode::show(const Told& told, void (Display::*display)(const Told&)) {
  expect({State::reporting}, "a value, range or histogram");
  Told copy = detail::known_part(told);
  check_told(copy);
  has_shown_ = true;
  if (tags_.find(copy.tag) == tags_.end()) {
    display_->check_owner(tag_id(copy.tag), guard_.speaker());
    if (refuses_mistakes()) refuse_untold(copy.tag);
  }
  if (is_big(copy.layer, copy.tag)) copy.layer = nullptr;
  if (suffix_.empty()) return (display_->*display)(copy);
  const std::string id = tag_id(copy.tag);
  copy.tag = id.c_str();
  (display_->*display)(copy);
}

void LensNode::refuse_untold(const char* tag) const {
  std::string known;
  for (const std::string& each : tags_) known += (known.empty() ? "" : "', '") + each;
  throw Error(std::string("a value of the tag '") + tag + "' is told before the tag; tell it by Report::tag first" +
                  (known.empty() ? "" : ": told were '" + known + "'"),
              LOUPE_INVALID);
}

void LensNode::tell_finding(const loupe_finding& finding) {
  expect({State::reporting, State::stepping}, "finding");
  has_shown_ = true;
  loupe_finding copy = detail::known_part(finding);
  check_finding(copy);
  const std::string tag = copy.tag != nullptr ? tag_id(copy.tag) : "";
  if (copy.tag != nullptr) copy.tag = tag.c_str();
  surroundings_.publish(copy, guard_.speaker());
}

}  // namespace loupe
