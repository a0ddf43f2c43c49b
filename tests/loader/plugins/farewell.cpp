// A plugin that writes down, in the file that LOUPE_FAREWELL names, when its lens ends and when it is unloaded.
#include <loupe/plugin.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace {

bool static_objects_ended = false;
struct StaticObject {
  ~StaticObject() { static_objects_ended = true; }
};
const StaticObject static_object;

void note(const std::string& line) {
  if (const char* file = std::getenv("LOUPE_FAREWELL")) std::ofstream(file, std::ios::app) << line << "\n";
}
void unload() {
  note(static_objects_ended ? "unload after the static objects" : "unload");
}

class Farewell : public loupe::Lens {
 public:
  static constexpr const char* name = "farewell";
  static constexpr const char* help = "says when it ends";
  explicit Farewell(const loupe::Options&) {}
  ~Farewell() override { note("destroy"); }
  void visit(const loupe::Module&) override {}
  void report(loupe::Report&) override {}
};

}  // namespace

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"farewell", "1.0", nullptr, nullptr, nullptr, nullptr, &unload}), Farewell);
