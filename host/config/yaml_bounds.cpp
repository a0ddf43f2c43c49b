#include "config/yaml_text.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

namespace loupe {
namespace {

/// Counts what yaml-cpp reads while it reads it. Only so can it be stopped: YAML::Load would first build it all.
class Counter : public YAML::EventHandler {
 public:
  Counter(const std::string& text, Diagnostics& diagnostics) : text_(text), diagnostics_(diagnostics) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!document_) {
      document_ = mark;
    } else if (mark.pos == document_->pos) {
      refuse(mark,
             "this is no YAML: nothing can be read from here on; a comment that goes on in another line needs a '#' "
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
    if (found == named_.end()) refuse(mark, "this alias (*name) stands inside of what it names, so it has no end");
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

  /// What yaml-cpp met is told at the bracket that lacks its end, where it follows from that: it shows further on,
  /// where nothing is wrong.
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
      refuse(mark, "this is too much for a configuration: more than " + std::to_string(max_yaml_nodes) +
                       " keys and values, each alias (*name) counted as what it stands for");
    }
    if (open_.size() + size.depth > max_yaml_depth)
      refuse(mark, "this is nested more than " + std::to_string(max_yaml_depth) + " deep");
    if (open_.empty()) return;
    open_.back().size.nodes += size.nodes;
    open_.back().size.depth = std::max(open_.back().size.depth, size.depth + 1);
  }
  void begin(const YAML::Mark& mark, YAML::anchor_t anchor) {
    // Counted when it ends; what is in it is counted, and its depth checked, as it comes.
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

}  // namespace

void check_yaml_bounds(const std::string& text, Diagnostics& diagnostics) {
  if (text.size() > max_yaml_bytes) {
    diagnostics.error(YAML::Mark::null_mark(), "this is too much for a configuration: more than " +
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

}  // namespace loupe
