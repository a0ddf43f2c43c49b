#include "tensorboard/story.h"

#include <loupe/text/number_text.h>
#include <loupe/text/words.h>

#include <cstring>

namespace loupe::tensorboard {

namespace {

constexpr std::size_t MOST_NOTES = 200, MOST_FINDINGS = 200;

/// Words as they are: nothing of them is read as Markdown or HTML, and they stay one paragraph.
std::string escaped(const char* text) {
  std::string result;
  for (const char c : text_of(text)) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '\n' || c == '\r') {
      result += ' ';
    } else {
      if (std::strchr("\\`*_{}[]()#+-.!|>", c) != nullptr) result += '\\';
      result += c;
    }
  }
  return result;
}

std::string moment(double epoch, uint64_t step) {
  return "epoch " + escaped(number_text(epoch).c_str()) + (step > 0 ? ", step " + std::to_string(step) : "");
}

const char* severity_name(uint32_t severity) {
  return severity == LOUPE_SEVERITY_ERROR ? "error" : severity == LOUPE_SEVERITY_WARNING ? "warning" : "info";
}

std::string line_of(const loupe_finding& finding, const char* layer) {
  const bool gone = finding.state == LOUPE_FINDING_GONE;
  std::string line = std::string("- **") + severity_name(finding.severity) + "**";
  if (layer != nullptr) line += " in **" + escaped(layer) + "**";
  if (finding.parameter != nullptr) line += " " + escaped(finding.parameter);
  line += ": " + escaped(message_with_place(finding).c_str());
  if (finding.advice != nullptr) line += " " + escaped(finding.advice);
  line += gone ? " (" : " (since ";
  line += moment(finding.first_epoch, finding.first_step);
  if (gone) line += " to " + moment(finding.last_epoch, finding.last_step);
  if (finding.count > 1) line += "; seen " + std::to_string(finding.count) + " times";
  if (finding.tag != nullptr) line += "; see " + escaped(finding.tag);
  return line + ")\n";
}

}  // namespace

void Story::finding(const loupe_finding& finding) {
  const char* layer = layer_of(finding);
  findings_[finding.id] = {line_of(finding, layer), finding.severity, finding.state == LOUPE_FINDING_GONE};
  changed_ = true;
}

void Story::note(const Note& note) {
  notes_.push_back("- " + moment(note.at.epoch, note.at.step) + ", " + word_of(note_words, note.kind) + ": " +
                   escaped(note.text) + "\n");
  if (notes_.size() > MOST_NOTES) notes_.pop_front();
  changed_ = true;
}

std::string Story::markdown() {
  changed_ = false;
  const auto lines = [&](bool gone) {
    std::string text;
    std::size_t count = 0;
    for (uint32_t severity = LOUPE_SEVERITY_ERROR; severity >= LOUPE_SEVERITY_INFO; --severity) {
      for (const Found& found : findings_) {
        if (found.gone == gone && found.severity == severity && ++count <= MOST_FINDINGS) text += found.line;
      }
    }
    return count <= MOST_FINDINGS ? text : text + "- and " + std::to_string(count - MOST_FINDINGS) + " more\n";
  };
  const std::string standing = lines(false), over = lines(true);
  std::string text;
  if (!findings_.empty()) text += "### Findings\n\n" + (standing.empty() ? "No findings now.\n" : standing);
  if (!over.empty()) text += "\n### Over\n\n" + over;
  if (!notes_.empty()) text += "\n### Notes\n\n";
  for (const std::string& note : notes_) text += note;
  return text;
}

}  // namespace loupe::tensorboard
