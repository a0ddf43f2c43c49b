#include "testing/shown.h"

namespace loupe::testing {
namespace {

std::string text(const char* given) {
  return given != nullptr ? given : "";
}

template <class Told>
Shown::Place place(const Told& told, const char* line) {
  return {text(told.tag), text(told.layer), text(line)};
}

}  // namespace

void Keeper::tag(const loupe_tag& tag) {
  shown_.tags[tag.id] = {tag.id,           title_of(tag), text(tag.unit), text(tag.description), text(tag.healthy),
                         text(tag.advice), tag.type,      tag.log_y != 0, tag.big != 0};
}

void Keeper::begin_tick(const loupe_tick&) {
  shown_.values.clear();
  shown_.ranges.clear();
  shown_.histograms.clear();
}

void Keeper::value(const loupe_value& value) {
  shown_.values[place(value, value.line)] = value.value;
}

void Keeper::range(const loupe_range& range) {
  shown_.ranges[place(range, range.low_name)] = {range.low_name, range.high_name, range.low, range.high};
}

void Keeper::histogram(const loupe_histogram& histogram) {
  shown_.histograms[place(histogram, histogram.line)] = {{histogram.edges, histogram.edges + histogram.bin_count + 1},
                                                         {histogram.counts, histogram.counts + histogram.bin_count}};
}

void Keeper::finding(const loupe_finding& finding) {
  shown_.findings.push_back({text(finding.rule), text(finding.message), text(finding.layer), text(finding.parameter),
                             text(finding.advice), text(finding.tag), text(finding.source), finding.severity,
                             finding.state, finding.value, finding.threshold});
}

}  // namespace loupe::testing
