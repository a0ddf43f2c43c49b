#include "config/yaml_text.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "core/text.h"

namespace loupe {
namespace {

/// Counts nodes while yaml-cpp reads them, so that it can be stopped: YAML::Load would build everything first.
class Counter : public YAML::EventHandler {
 public:
  Counter(const std::string& text, Diagnostics& diagnostics) : text_(text), diagnostics_(diagnostics) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!document_) {
      document_ = mark;
    } else if (mark.pos == document_->pos) {
      refuse(mark,
             "this is not YAML: nothing can be read from here on; a comment that continues on another line needs a '#' "
             "there too");
    } else {
      refuse(mark, "a second document begins here ('---'); a configuration is one");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string&) override {
    leaf(mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = named_.find(anchor);
    if (found == named_.end()) refuse(mark, "this alias (*name) is inside the value that it names, so it never ends");
    add(mark, found->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, anchor);
  }
  void OnMapEnd() override { end(); }

  /// Reports an error that follows from an unclosed bracket at that bracket: yaml-cpp reports it further on, where
  /// nothing is wrong.
  void explain(const YAML::Exception& met) const {
    const bool follows = met.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW || met.msg == YAML::ErrorMsg::END_OF_MAP_FLOW ||
                         met.msg == YAML::ErrorMsg::BLOCK_ENTRY;
    if (!follows) return;
    for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
      const auto place = static_cast<std::size_t>(open->mark.pos);
      const char first = place < text_.size() ? text_[place] : '\0';
      if (first == '[') return diagnostics_.error(open->mark, "this list has a '[' and no ']' at its end");
      if (first == '{') return diagnostics_.error(open->mark, "this map has a '{' and no '}' at its end");
    }
  }

 private:
  struct Size {
    std::size_t nodes = 1, depth = 0;
  };
  struct Open {
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    Size size;
  };

  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& message) {
    diagnostics_.error(mark, message);
    diagnostics_.throw_if_any();
    throw YAML::Exception(mark, message);  // not reached
  }
  void leaf(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) named_[anchor] = Size{};
    add(mark, Size{});
  }
  void add(const YAML::Mark& mark, const Size& size) {
    nodes_ += size.nodes;
    if (nodes_ > max_yaml_nodes) {
      refuse(mark, "the configuration is too large: more than " + std::to_string(max_yaml_nodes) +
                       " keys and values, with each alias (*name) counted in full");
    }
    if (open_.size() + size.depth > max_yaml_depth)
      refuse(mark, "this is nested more than " + std::to_string(max_yaml_depth) + " deep");
    if (open_.empty()) return;
    open_.back().size.nodes += size.nodes;
    open_.back().size.depth = std::max(open_.back().size.depth, size.depth + 1);
  }
  void begin(const YAML::Mark& mark, YAML::anchor_t anchor) {
    // Counted when it ends; its content is counted, and its depth checked, on the way.
    if (open_.size() >= max_yaml_depth)
      refuse(mark, "this is nested more than " + std::to_string(max_yaml_depth) + " deep");
    open_.push_back({mark, anchor, {}});
  }
  void end() {
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.anchor != 0) named_[closed.anchor] = closed.size;
    nodes_ -= closed.size.nodes - 1;  // they were added one by one
    add(closed.mark, closed.size);
  }

  const std::string& text_;
  Diagnostics& diagnostics_;
  std::optional<YAML::Mark> document_;
  std::size_t nodes_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Size> named_;
};

bool is_merge_key(const YAML::Node& key) {
  return key.IsScalar() && key.Scalar() == "<<" && key.Tag() != "!";  // '!' is the tag of quoted text
}

void add_missing(YAML::Node& map, std::set<std::string>& present, const YAML::Node& merged, Diagnostics& diagnostics) {
  if (!merged.IsMap()) {
    diagnostics.error(merged, "the merge key '<<' must be given a map, or a list of maps, mostly as *name");
    return;
  }
  std::vector<std::pair<YAML::Node, YAML::Node>> missing;
  for (const auto& entry : merged) {
    if (entry.first.IsScalar() && present.insert(entry.first.Scalar()).second)
      missing.emplace_back(entry.first, entry.second);
  }
  for (const auto& [key, value] : missing) map.force_insert(key, value);
}

void resolve_in(YAML::Node map, Diagnostics& diagnostics) {
  std::vector<YAML::Node> merges;
  std::set<std::string> present;
  for (const auto& entry : map) {
    if (is_merge_key(entry.first)) {
      merges.push_back(entry.second);
    } else if (entry.first.IsScalar()) {
      present.insert(entry.first.Scalar());
    }
  }
  if (merges.empty()) return;
  for (std::size_t i = 0; i < merges.size(); ++i) map.remove("<<");
  for (const YAML::Node& merge : merges) {
    if (!merge.IsSequence()) {
      add_missing(map, present, merge, diagnostics);
      continue;
    }
    for (const YAML::Node& each : merge) add_missing(map, present, each, diagnostics);
  }
}

/// Replaces each merge key (`<<: *name`, or a list of such) by its content; the map's own keys win, then the first of
/// the list. It works in place, because aliases share their nodes.
void resolve_merge_keys(YAML::Node root, Diagnostics& diagnostics) {
  if (root.IsSequence()) {
    for (const YAML::Node& each : root) resolve_merge_keys(each, diagnostics);
  } else if (root.IsMap()) {
    // Merged maps must be resolved first.
    for (const auto& entry : root) resolve_merge_keys(entry.second, diagnostics);
    resolve_in(root, diagnostics);
  }
}

/// The first line, up to that of `fault`, that a tab indents.
std::optional<YAML::Mark> indenting_tab(const std::string& text, const YAML::Mark& fault) {
  std::istringstream stream(text);
  YAML::Mark mark;
  mark.pos = 0;
  mark.line = 0;
  for (std::string line; mark.line <= fault.line && std::getline(stream, line); ++mark.line) {
    const std::size_t indentation = line.find_first_not_of(" \t");
    const std::size_t tab = line.find('\t');
    if (indentation == std::string::npos || tab > indentation) continue;
    mark.column = static_cast<int>(tab);
    return mark;
  }
  return std::nullopt;
}

/// The pattern that YAML took for an alias; empty if none.
std::string unquoted_glob(const std::string& text, const YAML::Exception& fault) {
  std::istringstream stream(text);
  std::string line;
  for (int i = 0; i <= fault.mark.line && std::getline(stream, line); ++i) {
  }
  const bool is_of_alias = fault.msg == YAML::ErrorMsg::UNKNOWN_ANCHOR ||
                           fault.msg == YAML::ErrorMsg::ALIAS_NOT_FOUND || fault.msg == YAML::ErrorMsg::ALIAS_CONTENT;
  const auto column = static_cast<std::size_t>(std::max(fault.mark.column, 0));
  const std::size_t star = line.rfind('*', column);
  if (!is_of_alias || star == std::string::npos) return "";
  return line.substr(star, line.find_first_of(" ,]}#\t", star) - star);
}

}  // namespace

void check_yaml_bounds(const std::string& text, Diagnostics& diagnostics) {
  if (text.size() > max_yaml_bytes) {
    diagnostics.error(YAML::Mark::null_mark(), "the configuration is too large: more than " +
                                                   std::to_string(max_yaml_bytes >> 10) +
                                                   " KiB; is it another kind of file?");
    diagnostics.throw_if_any();
  }
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Counter counter(text, diagnostics);
  try {
    // A second one is refused as it begins. yaml-cpp takes a text that begins with a comma for documents without end.
    while (parser.HandleNextDocument(counter)) {
    }
  } catch (const YAML::Exception& met) {
    counter.explain(met);
    diagnostics.throw_if_any();
    throw;
  }
}

YAML::Node read_yaml(const std::string& text, Diagnostics& diagnostics) {
  try {
    check_yaml_bounds(text, diagnostics);
    const YAML::Node root = YAML::Load(text);
    resolve_merge_keys(root, diagnostics);
    return root;
  } catch (const YAML::Exception& e) {
    if (const auto tab = indenting_tab(text, e.mark)) {
      diagnostics.error(*tab, "this line is indented with a tab; YAML accepts only spaces: replace it by spaces");
    } else if (const std::string glob = unquoted_glob(text, e); !glob.empty()) {
      diagnostics.error(e.mark, "YAML reads a * at the beginning as an alias; quote the pattern: \"" + glob + "\"");
    } else if (e.msg == YAML::ErrorMsg::END_OF_MAP || e.msg == YAML::ErrorMsg::END_OF_SEQ) {
      diagnostics.error(e.mark, "this does not continue the lines above; indent it like its list or section");
    } else {
      diagnostics.error(e.mark, "this is not YAML: " + e.msg);
    }
    diagnostics.throw_if_any();
    throw;
  }
}

void check_keys(const YAML::Node& map, const std::vector<std::string>& known, const std::string& where,
                Diagnostics& diagnostics) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      diagnostics.error(entry.first, "unknown key '" + key + "' " + where + suggestion(key, known));
    } else if (!seen.insert(key).second) {
      diagnostics.error(entry.first, "the key '" + key + "' occurs twice " + where + "; keep one");
    }
  }
}

YAML::Node value_of(const YAML::Node& map, const char* key) {
  const YAML::Node found = map.IsMap() ? map[key] : YAML::Node();
  return found.IsDefined() ? found : YAML::Node(YAML::NodeType::Null);
}

}  // namespace loupe
