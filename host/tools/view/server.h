#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "view/api.h"
#include "view/report_store.h"
#include "view/run_list.h"

namespace loupe::view {

struct Listening {
  std::string address = "127.0.0.1";
  std::optional<int> port;  ///< 0: any free one; nullopt: the default one, or the next free one
};

struct Served {
  std::string url;  ///< with the token, if one is needed
  int port = 0;
  bool wants_token = false;
};

/// The files of host/tools/view/page by name, compiled into the program.
const std::map<std::string, std::string>& page_files();

/// Serves the list, reports and comparisons, and the same as JSON for programs, until `until` returns. Calls `until`
/// once the server answers. Writes only the notes of runs. Answers each request on a separate thread. Throws Error if
/// it cannot listen.
void serve(RunList& list, ReportStore& reports, const FindingsOf& findings_of, const Listening& listening,
           const std::function<void(const Served&)>& until);

}  // namespace loupe::view
