#include "check/examiner.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <loupe/error.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "check/lent_memory.h"
#include "check/rule.h"
#include "check/session.h"
#include "loader/plugin_file.h"

namespace loupe::check {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A child's report about a rule: its beginning, or its result. Short enough for a single write.
struct Message {
  enum What { begins, ends } what;
  std::size_t index;  ///< its place among all rules of the file and its components
  bool passed;
  char component[128], rule[64], detail[1024];
};

/// The progress of a child, in memory that outlives it.
struct Progress {
  char step[256], context[256];
  char misuse[128];  ///< how the component misused lent memory, if that caused a crash
};

Progress* progress = nullptr;  // set in the child
std::string remark_now;

template <std::size_t size>
void write_text(char (&to)[size], const std::string& text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

/// Records the misused memory, then lets the crash happen.
void note_misuse(int signal, siginfo_t* told, void*) {
  const LentMemory::Misuse misuse = LentMemory::misuse_at(told->si_addr);
  if (misuse.deed != nullptr && progress != nullptr) {
    char* to = progress->misuse;
    const char* const end = to + sizeof progress->misuse - 1;
    for (const char* from : {misuse.deed, misuse.what}) {
      while (*from != '\0' && to < end) *to++ = *from++;
    }
    *to = '\0';
  }
  std::signal(signal, SIG_DFL);
}

class Examination {
 public:
  Examination(Subject subject, std::size_t first, int channel)
      : subject_(std::move(subject)), first_(first), channel_(channel) {}

  void run() {
    for (const Rule& rule : file_rules()) {
      if (rule.examine == &check_bootstrap) load();
      if (!can_look_at(rule)) return;  // an earlier rule reports the reason
      look_at(rule, subject_);
    }
    if (subject_.plugin == nullptr || !LOUPE_REACHES(*subject_.plugin, component_count)) return;
    for (std::size_t i = 0; subject_.plugin->components != nullptr && i < subject_.plugin->component_count; ++i) {
      Subject component = subject_;
      component.component = subject_.plugin->components[i];
      const loupe_component* told = component.component;
      if (told == nullptr || !LOUPE_REACHES(*told, destroy) || told->name == nullptr || told->interface_id == nullptr)
        continue;  // the rule `plugin` reports that
      component.kind = kind_of(told->interface_id).value_or(Kind::lens);
      bool whole = true;
      StubHost::take_drafts();  // discard the previous component's
      for (const Rule& rule : component_rules()) {
        if (!whole || (rule.concerns != nullptr && !rule.concerns(component))) {
          ++index_;
          continue;
        }
        look_at(rule, component);
        if (rule.examine == &check_functions) whole = is_whole(component);
      }
    }
  }

 private:
  /// A component that lacks required functions, or is of a kind that is not known, cannot be checked further.
  static bool is_whole(const Subject& component) {
    if (!kind_of(component.component->interface_id)) return false;
    try {
      check_functions(component);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  /// A file that is not a library has no symbols, and one that is not a plugin has no functions to call.
  bool can_look_at(const Rule& rule) const {
    if (rule.examine == &check_exports) return true;
    if (rule.examine == &check_bootstrap) return subject_.entry != nullptr;
    if (rule.examine == &check_unknown_ids || rule.examine == &check_plugin) return is_bootstrapped_;
    return is_library();
  }

  bool is_library() const {
    try {
      const PluginFile file(subject_.file);
      const ElfFile elf(file);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  void load() {
    note_step("loading");
    void* library = ::dlopen(subject_.file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    load_tensor_lending();  // the rule `links` reports a failure
    subject_.entry = static_cast<const loupe_entry*>(::dlsym(library, LOUPE_ENTRY_SYMBOL));
    if (subject_.entry == nullptr) return;
    try {
      check_bootstrap(subject_);
    } catch (const std::exception&) {
      return;  // its rule reports that
    }
    is_bootstrapped_ = true;
    note_step("get_extension(\"" LOUPE_PLUGIN_ID "\")");
    subject_.plugin = static_cast<const loupe_plugin*>(subject_.entry->get_extension(LOUPE_PLUGIN_ID));
  }

  void look_at(const Rule& rule, const Subject& subject) {
    const std::size_t index = index_++;
    if (index < first_) return;
    Message message{Message::begins, index, false, {}, {}, {}};
    if (subject.component != nullptr) write_text(message.component, subject.component->name);
    write_text(message.rule, rule.name);
    send(message);
    note_context("");
    note_step("");
    note_remark("");
    message.what = Message::ends;
    try {
      rule.examine(subject);
      message.passed = true;
      write_text(message.detail, remark_now);
    } catch (const std::exception& e) {
      write_text(message.detail, e.what());
    } catch (...) {
      write_text(message.detail, "it threw an exception that is not a std::exception");
    }
    send(message);
  }

  void send(const Message& message) {
    const auto* bytes = reinterpret_cast<const char*>(&message);
    for (std::size_t sent = 0; sent < sizeof message;) {
      const ::ssize_t count = ::write(channel_, bytes + sent, sizeof message - sent);
      if (count <= 0) ::_exit(1);
      sent += static_cast<std::size_t>(count);
    }
  }

  Subject subject_;
  bool is_bootstrapped_ = false;
  std::size_t first_, index_ = 0;
  int channel_;
};

/// Checks the rules from the `first` on, and writes messages to `channel`. Runs in the child process, whose working
/// directory is `folder`.
void examine(const std::string& file, const std::string& options, const std::string& folder, std::size_t first,
             int channel, Progress* shared) {
  progress = shared;
  struct sigaction noting {};
  noting.sa_sigaction = &note_misuse;
  noting.sa_flags = SA_SIGINFO;
  for (const int signal : {SIGSEGV, SIGBUS}) ::sigaction(signal, &noting, nullptr);
  Examination({.file = file, .options = options, .folder = folder}, first, channel).run();
}

/// A folder that is deleted with this object.
class ScratchFolder {
 public:
  ScratchFolder() {
    // Use memory if possible: visualizers wait for the disk again and again.
    std::error_code none;
    const bool in_memory = std::getenv("TMPDIR") == nullptr && fs::is_directory("/dev/shm", none);
    const fs::path parent = in_memory ? fs::path("/dev/shm") : fs::temp_directory_path();
    std::string name = (parent / "loupe-check-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw Error("no folder can be created in '" + parent.string() + "': " + std::strerror(errno));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Memory that children share with this process; empty at first.
std::shared_ptr<Progress> share_progress() {
  void* memory = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(std::string("no memory can be shared: ") + std::strerror(errno));
  return {static_cast<Progress*>(memory), [](Progress* shared) { ::munmap(shared, sizeof *shared); }};
}

/// Discards the plugin's output in the child, and prevents a crash file.
void settle_in(const std::string& folder) {
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
  if (::chdir(folder.c_str()) != 0) ::_exit(1);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM}) std::signal(signal, SIG_DFL);
}

/// One child process, which checks the rules from `first` on.
class Child {
 public:
  Child(const std::string& file, const std::string& options, const std::string& folder, std::size_t first,
        Progress* shared) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("no pipe can be created: ") + std::strerror(errno));
    process_ = ::fork();
    if (process_ == 0) {
      ::close(ends[0]);
      ::setpgid(0, 0);
      settle_in(folder);
      examine(file, options, folder, first, ends[1], shared);
      ::_exit(0);  // skips the plugin's destructors
    }
    ::close(ends[1]);
    channel_ = ends[0];
    if (process_ < 0) {
      ::close(channel_);
      throw Error(std::string("no process can be started: ") + std::strerror(errno));
    }
  }
  ~Child() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      wait();
    }
    ::close(channel_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  enum class Heard { message, end, nothing };
  Heard listen(Message& message, Clock::time_point deadline) {
    auto* bytes = reinterpret_cast<char*>(&message);
    for (std::size_t got = 0; got < sizeof message;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd waiting{channel_, POLLIN, 0};
      const int ready = ::poll(&waiting, 1, left > 0 ? static_cast<int>(left) : 0);
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return Heard::nothing;
      const ::ssize_t count = ::read(channel_, bytes + got, sizeof message - got);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return Heard::end;
      got += static_cast<std::size_t>(count);
    }
    return Heard::message;
  }
  /// Why it ended: "", or "it crashes (Segmentation fault)".
  std::string wait() {
    if (process_ <= 0) return "";
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    if (WIFSIGNALED(status)) return std::string("it crashes (") + ::strsignal(WTERMSIG(status)) + ")";
    if (WEXITSTATUS(status) != 0) return "it ends the process with " + std::to_string(WEXITSTATUS(status));
    return "";
  }

 private:
  ::pid_t process_ = 0;
  int channel_ = -1;
};

std::string meaning_of(const std::string& name) {
  for (const auto* rules : {&file_rules(), &component_rules()}) {
    for (const Rule& rule : *rules) {
      if (rule.name == name) return rule.meaning;
    }
  }
  return "";
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The faults of one component, so that one that breaks many rules is reported once.
class Faults {
 public:
  /// @param fault  the fault, without the circumstances of the rule
  /// @return the first rule that the same fault broke; else empty
  std::string first_rule_with(const std::string& component, const std::string& rule, const std::string& fault) {
    if (component != component_) known_.clear();
    component_ = component;
    for (const auto& [first, known] : known_) {
      if (!known.empty() && ends_with(fault, known)) return first;
    }
    known_.emplace_back(rule, fault);
    return "";
  }

 private:
  std::string component_;
  std::vector<std::pair<std::string, std::string>> known_;  // the rule, the fault
};

}  // namespace

void note_step(const std::string& step) {
  if (progress != nullptr) write_text(progress->step, step);
}

void note_context(const std::string& context) {
  if (progress != nullptr) write_text(progress->context, context);
}

void note_remark(const std::string& remark) {
  remark_now = remark;
}

std::vector<Row> examine_plugin(const std::string& file, const std::string& options, double seconds) {
  const std::string path = fs::absolute(file).string();
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<Row> rows;
  Faults faults;
  std::size_t next = 0;
  for (;;) {
    const ScratchFolder folder;
    const std::shared_ptr<Progress> shared = share_progress();
    Child child(path, options, folder.path(), next, shared.get());
    std::optional<Message> begun;
    const auto broken = [&](const std::string& why) {
      const std::string component = begun ? begun->component : "", rule = begun ? begun->rule : "loading";
      const bool is_known = shared->step[0] != '\0';
      const std::string fault = why + (is_known ? std::string(" in ") + shared->step : "");
      rows.push_back({file, component, rule, false, fault + (is_known ? shared->context : ""),
                      faults.first_rule_with(component, rule, fault)});
    };
    Child::Heard heard;
    for (Message message; (heard = child.listen(message, Clock::now() + limit)) == Child::Heard::message;) {
      if (message.what == Message::begins) {
        begun = message;
        next = message.index + 1;
        continue;
      }
      std::string same_as;
      if (!message.passed) same_as = faults.first_rule_with(message.component, message.rule, message.detail);
      rows.push_back({file, message.component, message.rule, message.passed, message.detail, std::move(same_as)});
      begun.reset();
    }
    if (heard == Child::Heard::nothing) {
      broken("it does not return within " + std::to_string(seconds).substr(0, 4) + " s");
      if (!begun) return rows;  // every child begins with that, so that none would get further
      continue;
    }
    const std::string end = child.wait();
    if (!begun && end.empty()) return rows;
    broken(end.empty() ? "it ends the process" : end);
    if (const std::string misuse = shared->misuse; !misuse.empty()) rows.back().detail += ": " + misuse;
    if (begun) rows.back().detail += "; the rule is: " + meaning_of(begun->rule);
    if (!begun) return rows;
  }
}

}  // namespace loupe::check
