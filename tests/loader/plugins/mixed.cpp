// A plugin that exports a function of a library that the host uses, too, like a plugin that contains the library.
#include <loupe/plugin.h>

#include <string>

namespace YAML {
LOUPE_EXPORT bool Load(const std::string&) {
  return false;
}
}  // namespace YAML

class MixedLens : public loupe::Lens {
 public:
  static constexpr const char* name = "mixed";
  static constexpr const char* help = "does nothing";
  explicit MixedLens(const loupe::Options&) {}
  void visit(const loupe::Module&) override {}
  void report(loupe::Report&) override {}
};

LOUPE_PLUGIN("mixed", "1.0", MixedLens);
