// In place of server.cpp where the library for it was not there when Loupe was built.

#include <loupe/error.h>

#include "view/server.h"

namespace loupe::view {

void serve(RunList&, ReportStore&, const Listening&, const std::function<void(const Served&)>&) {
  throw Error(
      "this build of Loupe has no web server: install cpp-httplib (libcpp-httplib-dev of Debian and Ubuntu) and build "
      "Loupe again");
}

}  // namespace loupe::view
