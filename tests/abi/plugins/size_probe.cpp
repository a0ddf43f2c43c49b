// Shows the sizes of the structs that the host passes on: they must not exceed the host's own.

#include <loupe/plugin.h>

namespace loupe {

class SizeProbe : public Preprocessor {
 public:
  static constexpr const char* name = "size_probe";
  static constexpr const char* help = "the size of each event";
  explicit SizeProbe(const Options&) : sizes_(add_series("size")) {}
  Request request() const override { return {}; }
  void process(const Event& event) override { sizes_.push(event.raw()->struct_size); }

 private:
  Series& sizes_;
};

class SizeViewer : public Visualizer {
 public:
  static constexpr const char* name = "size_viewer";
  static constexpr const char* help = "refuses a struct that says more than the host knows";
  explicit SizeViewer(const Options&) {}
  void tag(const Tag& tag) override { check(tag.struct_size, sizeof tag); }
  void begin_tick(const Tick&) override {}
  void row(const Row& row) override { check(row.struct_size, sizeof row); }

 private:
  static void check(std::size_t said, std::size_t known) {
    if (said > known)
      throw Error("a struct_size is " + std::to_string(said) + ", and the struct has " + std::to_string(known) +
                  " bytes");
  }
};

}  // namespace loupe

LOUPE_PLUGIN("size_probe", "1", loupe::SizeProbe, loupe::SizeViewer);
