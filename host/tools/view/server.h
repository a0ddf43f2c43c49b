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
  std::optional<int> port;  ///< 0: any free one; none: the usual one, or the next that is free
};

struct Served {
  std::string url;  ///< with the token, where one is wanted
  int port = 0;
  bool wants_token = false;
};

/// The files of host/tools/view/page by their names, put into the program when it is built.
const std::map<std::string, std::string>& page_files();

/// Serves the list, the reports and comparisons, and the same as JSON to programs, until `until` returns, which is
/// called once the server answers. Writes nothing but the notes of runs. Requests are answered on their own threads.
/// Throws Error where it cannot listen.
void serve(RunList& list, ReportStore& reports, const FindingsOf& findings_of, const Listening& listening,
           const std::function<void(const Served&)>& until);

}  // namespace loupe::view
