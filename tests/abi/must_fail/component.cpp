// This compiles unchanged; each WRONG_… breaks one rule for authors of plugins, and must not compile.
#include <loupe/plugin.h>

#if defined(WRONG_KIND)
class Example {
#elif defined(WRONG_TWO_KINDS)
class Example : public loupe::Lens, public loupe::Preprocessor {
#else
class Example : public loupe::Lens {
#endif
 public:
#if !defined(WRONG_NO_NAME)
  static constexpr const char* name = "example";
#endif
  static constexpr const char* help = "an example";
#if defined(WRONG_OPTIONS)
  static std::vector<int> options() {
    return {};
  }
#elif defined(WRONG_OPTION)
  static std::vector<loupe::Option> options() {
    return {{ "size", std::string("3"), "a size" }};
  }
#else
  static std::vector<loupe::Option> options() {
    return {{"size", 3, "a size", 0, 9}, {"on", true, "a flag"}};
  }
#endif
#if defined(WRONG_CONSTRUCTOR)
  Example() = default;
#elif defined(WRONG_READ)
  explicit Example(const loupe::Options& options) : size_(*options.get<int*>("size")) {}
#else
  explicit Example(const loupe::Options& options) : size_(options.get<int>("size")) {}
#endif
#if !defined(WRONG_KIND)
#if !defined(WRONG_ABSTRACT)
  void visit(const loupe::Module&) override {}
#endif
#if defined(WRONG_SIGNATURE)
  void report(loupe::Report&, double) override {}
#else
  void report(loupe::Report& report) override {
    report.value("Example", "Example", "size", size_);
  }
#endif
#endif
#if defined(WRONG_TWO_KINDS)
  loupe::Request request() const override {
    return {};
  }
  void process(const loupe::Event&) override {}
#endif

 private:
  int size_ = 0;
};

LOUPE_PLUGIN("example", "1", Example);
