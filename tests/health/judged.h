#pragma once

#include <loupe/detail/option_values.h>

#include <vector>

#include "health/rules/rule.h"

namespace loupe::testing {

/// Judges with the rules and their own limits, and keeps the reported findings.
struct JudgedFindings {
  JudgedFindings() {
    sink.struct_size = sizeof sink;
    sink.context = this;
    sink.finding = [](void* context, const loupe_finding* finding, loupe_error*) -> loupe_status {
      static_cast<JudgedFindings*>(context)->findings.push_back(Finding::from(*finding));
      return LOUPE_OK;
    };
  }
  JudgedFindings(const JudgedFindings&) = delete;
  JudgedFindings& operator=(const JudgedFindings&) = delete;
  health::Judge judge(const char* rule) {
    return health::Judge{ledger, limits, report, host}.by(health::rule_named(rule));
  }
  static health::Limits usual_limits() {
    OptionValues values;
    for (const health::Rule& rule : health::rules()) {
      for (const Option& limit : rule.limits) values.add({limit.name.c_str(), limit.number});
    }
    return values.lend([](const loupe_options* options) { return health::Limits(Options(options)); });
  }

  std::vector<Finding> findings;
  loupe_sink sink{};
  Report report{&sink};
  Host host{nullptr};
  health::Ledger ledger{{}, /*patience=*/1, /*cooldown=*/1};
  health::Limits limits = usual_limits();
};

}  // namespace loupe::testing
