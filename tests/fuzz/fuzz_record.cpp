// Every line of a record is either parsed or refused with an exception.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "record/reader/record_line.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static loupe::replay::RecordLine line;  // reuses its memory between calls, as readers of records do
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    try {
      loupe::replay::parse_record_line(text, line);
      const bool histogram = line.kind == loupe::replay::RecordLine::Kind::histogram;
      if (histogram && line.edges.size() != line.counts.size() + 1) std::abort();
      if (line.kind == loupe::replay::RecordLine::Kind::run) loupe::replay::parse_run_line(text);
      if (line.kind == loupe::replay::RecordLine::Kind::model) loupe::replay::parse_model_line(text);
      if (line.kind == loupe::replay::RecordLine::Kind::hyperparameter) loupe::replay::parse_hyperparameter_line(text);
    } catch (const std::exception&) {
    }
  }
  return 0;
}
