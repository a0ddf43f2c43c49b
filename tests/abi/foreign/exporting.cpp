// A lens, NAME, of a plugin that exports a function, like a build without the SDK's list of names.
#include <loupe/plugin.h>

__attribute__((visibility("default"), noinline)) int exported_answer() {
  return ANSWER;
}

class Exporting : public loupe::Lens {
 public:
  static constexpr const char* name = NAME;
  static constexpr const char* help = "what the function answers";
  static std::vector<loupe::Option> options() { return {{"fails", false, "it does not"}}; }
  explicit Exporting(const loupe::Options&) {}
  void visit(const loupe::Module& module) override { layer_ = module.name(); }
  void report(loupe::Report& report) override {
    report.tag(NAME, {});
    report.value(NAME, layer_, "symbol", exported_answer());
  }

 private:
  std::string layer_;
};

LOUPE_PLUGIN(NAME, "1", Exporting);
