#include "testing/shown.h"

#include <loupe/finding.h>
#include <loupe/text/words.h>
#include <loupe/visualizer.h>

namespace loupe::testing {
namespace {

template <class Told>
Shown::Place place(const Told& told, const char* line) {
  return {text_of(told.tag), text_of(told.layer), text_of(line)};
}

}  // namespace

void Keeper::tag(const loupe_tag& tag) {
  shown_.tags[tag.id] = {tag.id,
                         title_of(tag),
                         text_of(tag.unit),
                         text_of(tag.description),
                         text_of(tag.healthy),
                         text_of(tag.advice),
                         tag.type,
                         is_logarithmic(tag),
                         is_big(tag)};
}

void Keeper::begin_tick(const loupe_tick&) {
  shown_.values.clear();
  shown_.ranges.clear();
  shown_.histograms.clear();
}

void Keeper::row(const loupe_row& row) {
  each_value(row, [&](const RowValue& value) { shown_.values[place(value, value.line)] = value.value; });
  each_range(row, [&](const RowRange& range) {
    shown_.ranges[place(range, range.low_name)] = {range.low_name, range.high_name, range.low, range.high};
  });
}

void Keeper::histogram(const loupe_histogram& histogram) {
  shown_.histograms[place(histogram, histogram.line)] = {{histogram.edges, histogram.edges + histogram.bin_count + 1},
                                                         {histogram.counts, histogram.counts + histogram.bin_count}};
}

void Keeper::finding(const loupe_finding& finding) {
  shown_.findings.push_back({text_of(finding.rule), text_of(finding.message), text_of(finding.layer),
                             text_of(finding.parameter), text_of(finding.advice), text_of(finding.tag),
                             text_of(finding.source), text_of(finding.caused_by), text_of(finding.file),
                             finding.severity, finding.state, finding.line, finding.id, value_of(finding),
                             threshold_of(finding)});
}

}  // namespace loupe::testing
