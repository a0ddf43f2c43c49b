// A plugin whose code runs as soon as its file is opened. It then sets an environment variable.
#include <loupe/plugin.h>

#include <cstdlib>

namespace {

struct Stranger {
  Stranger() { ::setenv("LOUPE_STRANGER_RAN", "1", 1); }
};
const Stranger stranger;

class StrangeLens : public loupe::Lens {
 public:
  static constexpr const char* name = "strange";
  static constexpr const char* help = "does nothing";
  explicit StrangeLens(const loupe::Options&) {}
  void visit(const loupe::Module&) override {}
  void report(loupe::Report&) override {}
};

class OtherLens : public StrangeLens {
 public:
  static constexpr const char* name = "stranger";
  static std::vector<const char*> aliases() { return {"strangest"}; }
  using StrangeLens::StrangeLens;
};

}  // namespace

LOUPE_PLUGIN("stranger", "1.0", StrangeLens, OtherLens);
