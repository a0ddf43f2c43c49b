#include "command/incident_text.h"

#include <loupe/text/words.h>

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <utility>
#include <vector>

#include "command/incident_files.h"
#include "core/text.h"

namespace loupe {
namespace {

using Json = IncidentFiles::Json;

constexpr std::size_t shown_steps = 8;

uint32_t line_in_file(const Json& finding) {
  const auto found = finding.find("file_line");
  return found != finding.end() && found->is_number_unsigned() ? found->get<uint32_t>() : 0;
}

void tell_findings(const std::vector<Json>& findings, std::ostream& out) {
  out << "\n" << (findings.empty() ? "no findings\n" : "findings\n");
  for (const Json& each : findings) {
    const std::string layer = text_of(each, "layer"), parameter = text_of(each, "parameter");
    const std::string place = layer + (layer.empty() || parameter.empty() ? "" : ".") + parameter;
    out << "  " << text_of(each, "severity") << (text_of(each, "state") == "gone" ? ", gone" : "") << ": "
        << (place.empty() ? "" : place + ": ")
        << message_with_place(text_of(each, "message"), text_of(each, "file"), line_in_file(each)) << " ("
        << text_of(each, "rule") << ", from step " << number_of(each, "first_step") << ")\n";
    if (const std::string advice = text_of(each, "advice"); !advice.empty()) out << "    advice: " << advice << "\n";
  }
}

void tell_rates(const Json& about, std::ostream& out) {
  const auto rates = about.find("learning_rates");
  if (rates == about.end() || !rates->is_array() || rates->empty()) return;
  out << "\noptimizers\n";
  for (const Json& each : *rates) {
    const std::string model = text_of(each, "model");
    out << "  " << model << (model.empty() ? "" : " ") << text_of(each, "optimizer") << " group "
        << number_of(each, "group") << ": learning rate " << number_of(each, "learning_rate");
    if (const std::string momentum = number_of(each, "momentum"); !momentum.empty()) out << ", momentum " << momentum;
    if (const std::string decay = number_of(each, "weight_decay"); !decay.empty()) out << ", weight decay " << decay;
    out << "\n";
  }
}

void tell_tensors(const Json& about, std::ostream& out) {
  const auto tensors = about.find("tensors");
  if (tensors == about.end() || !tensors->is_array() || tensors->empty()) return;
  out << "\ntensors, for torch.load\n";
  for (const Json& each : *tensors) {
    const std::string file = text_of(each, "file");
    out << "  " << (file.empty() ? text_of(each, "parameter") + " is left out: " + text_of(each, "left_out") : file)
        << "\n";
  }
}

/// The numbers that the lines of a stream have, in the order of the file.
std::vector<std::string> columns_of(const std::vector<const Json*>& lines) {
  std::vector<std::string> columns;
  for (const Json* line : lines) {
    for (const auto& [key, value] : line->items()) {
      const bool is_number = key != "stream" && key != "training" && key != "waiting";
      if (is_number && std::find(columns.begin(), columns.end(), key) == columns.end()) columns.push_back(key);
    }
  }
  return columns;
}

void tell_stream(const std::string& name, const std::vector<const Json*>& lines, std::ostream& out) {
  const std::size_t first = lines.size() - std::min(lines.size(), shown_steps);
  const std::vector<const Json*> shown(lines.begin() + static_cast<std::ptrdiff_t>(first), lines.end());
  out << "\n" << printable_line(name);
  if (first > 0) out << ", the last " << shown.size() << " of " << lines.size();
  out << "\n ";
  const std::vector<std::string> columns = columns_of(shown);
  constexpr int width = 12;
  for (const std::string& column : columns) out << std::setw(width) << printable_line(column);
  out << "\n";
  for (const Json* line : shown) {
    out << " ";
    for (const std::string& column : columns) out << std::setw(width) << number_of(*line, column.c_str());
    const auto training = line->find("training");
    const bool is_validation = training != line->end() && *training == false && line->count("elements") != 0;
    out << (is_validation ? "  not training" : "") << (line->count("waiting") != 0 ? "  not measured yet" : "") << "\n";
  }
}

}  // namespace

void show_incident(const std::string& folder, std::ostream& out) {
  const IncidentFiles files = read_incident(folder);
  const Json& about = files.about;
  std::vector<std::pair<std::string, std::vector<const Json*>>> streams;
  for (const Json& line : files.lines) {
    const std::string stream = text_of(line, "stream");
    const bool same = !streams.empty() && streams.back().first == stream;
    if (!same) streams.push_back({stream, {}});
    streams.back().second.push_back(&line);
  }
  out << text_of(about, "run") << ", step " << number_of(about, "step") << " in epoch " << number_of(about, "epoch")
      << ", " << text_of(about, "time") << ": kept " << cause_of(about) << "\n";
  if (const std::string why = text_of(about, "why"); !why.empty()) out << "  " << why << "\n";
  tell_findings(files.findings, out);
  tell_rates(about, out);
  tell_tensors(about, out);
  for (const auto& [name, shown] : streams) tell_stream(name, shown, out);
  if (const std::string left_out = number_of(about, "streams_left_out"); left_out != "" && left_out != "0")
    out << "\n" << left_out << " more streams were left out\n";
}

}  // namespace loupe
