#include <loupe/error.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <string>

#include "config/path.h"
#include "config/sections.h"
#include "config/yaml_text.h"
#include "core/suggestion.h"

namespace loupe {
namespace {

/// "file://PATH", "tcp://HOST:PORT" or "none".
void read_store(const YAML::Node& written, const std::string& folder, RankRule& rule, Diagnostics& diagnostics) {
  const std::string text = written.IsScalar() ? written.Scalar() : "";
  rule.exchange = text != "none";
  if (!rule.exchange) return;
  const std::string file = "file://", tcp = "tcp://";
  if (text.rfind(file, 0) == 0 && text.size() > file.size()) {
    try {
      rule.folder = full_path(text.substr(file.size()), folder);
    } catch (const Error& e) {
      diagnostics.error(written, e.what());
    }
    return;
  }
  const std::size_t colon = text.rfind(':');
  if (text.rfind(tcp, 0) == 0 && colon > tcp.size()) {
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + colon + 1, end, rule.port);
    rule.host = text.substr(tcp.size(), colon - tcp.size());
    if (read.ec == std::errc() && read.ptr == end && rule.port != 0) return;
  }
  diagnostics.error(written,
                    "ranks.store is file://FOLDER, a folder that all ranks reach, tcp://HOST:PORT, where rank 0 may "
                    "listen, or none, not " +
                        describe_node(written));
}

}  // namespace

RankRule read_ranks(const YAML::Node& written, const std::string& folder, Diagnostics& diagnostics) {
  RankRule rule;
  if (!written.IsDefined()) return rule;
  if (!written.IsMap()) {
    const std::string value = written.IsScalar() ? written.Scalar() : "";
    rule.on = value != "off";
    if (value != "auto" && value != "off") {
      diagnostics.error(written, "ranks cannot be '" + value + "'" + suggestion(value, {"auto", "off"}) +
                                     "; or a map with store, timeout and show");
    }
    return rule;
  }
  check_keys(written, {"store", "timeout", "show"}, "in ranks", diagnostics);
  if (const YAML::Node store = value_of(written, "store"); !store.IsNull())
    read_store(store, folder, rule, diagnostics);
  if (const YAML::Node timeout = value_of(written, "timeout"); !timeout.IsNull()) {
    constexpr double shortest = 0.1, longest = 3600;
    const std::string text = timeout.IsScalar() ? timeout.Scalar() : "";
    const auto read = std::from_chars(text.data(), text.data() + text.size(), rule.timeout);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !(rule.timeout >= shortest) ||
        !(rule.timeout <= longest))
      diagnostics.error(timeout, "ranks.timeout is in seconds, from 0.1 to 3600, not " + describe_node(timeout));
  }
  if (const YAML::Node show = value_of(written, "show"); !show.IsNull()) {
    const std::string text = show.IsScalar() ? show.Scalar() : "";
    rule.shows_each = text == "each";
    if (text != "each" && text != "merged")
      diagnostics.error(show, "ranks.show cannot be '" + text + "'" + suggestion(text, {"merged", "each"}));
  }
  return rule;
}

}  // namespace loupe
