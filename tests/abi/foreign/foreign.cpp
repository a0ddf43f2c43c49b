// A lens, NAME, that uses its own libraries and the standard library, and shows their answers.
#include <loupe/plugin.h>

#include <sstream>

#include "libraries.h"

class Foreign : public loupe::Lens {
 public:
  static constexpr const char* name = NAME;
  static constexpr const char* help = "the results of the plugin's own libraries";
  static std::vector<loupe::Option> options() { return {{"fails", false, "throw, as the lens is made"}}; }
  explicit Foreign(const loupe::Options& options) {
    if (options.get<bool>("fails")) throw loupe::Error(YAML::Dump(YAML::Load("four")));
    shared_state += ANSWER;
  }
  void visit(const loupe::Module& module) override { layer_ = module.name(); }
  void report(loupe::Report& report) override {
    report.tag(NAME, {});
    report.value(NAME, layer_, "yaml", YAML::Load("a: [1, 2]").answer);
    report.value(NAME, layer_, "json", nlohmann::json::parse("{}").number());
    report.value(NAME, layer_, "symbol", shared_answer());
    report.value(NAME, layer_, "variable", shared_state);
    report.value(NAME, layer_, "caught", caught());
    report.value(NAME, layer_, "read", read());
  }

 private:
  static int caught() {
    try {
      YAML::Load("");
    } catch (const YAML::Exception& e) {
      return e.line;
    }
    return 0;
  }
  static double read() {
    std::istringstream text("2.5");
    double number = 0;
    text >> number;
    return number;
  }

  std::string layer_;
};

LOUPE_PLUGIN(NAME, "1", Foreign);
