#include "check/examiner.h"

#include <fcntl.h>
#include <loupe/error.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "check/child.h"
#include "check/rule.h"

namespace loupe::check {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A folder that is gone with this object.
class ScratchFolder {
 public:
  ScratchFolder() {
    // In memory where that can be: visualizers wait for the disk, over and over.
    std::error_code none;
    const bool in_memory = std::getenv("TMPDIR") == nullptr && fs::is_directory("/dev/shm", none);
    const fs::path parent = in_memory ? fs::path("/dev/shm") : fs::temp_directory_path();
    std::string name = (parent / "loupe-check-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw Error("no folder can be made in '" + parent.string() + "': " + std::strerror(errno));
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

/// Memory that a child shares with this process.
class SharedDoing {
 public:
  SharedDoing() {
    void* memory = ::mmap(nullptr, sizeof(Doing), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(std::string("no memory can be shared: ") + std::strerror(errno));
    doing_ = static_cast<Doing*>(memory);
  }
  ~SharedDoing() { ::munmap(doing_, sizeof(Doing)); }
  SharedDoing(const SharedDoing&) = delete;
  SharedDoing& operator=(const SharedDoing&) = delete;
  Doing* get() { return doing_; }
  std::string step() const {
    const std::string step = doing_->step;
    return step.empty() ? "" : " in " + step;
  }
  std::string context() const { return doing_->step[0] == '\0' ? "" : doing_->context; }
  std::string misuse() const { return doing_->misuse; }

 private:
  Doing* doing_;
};

/// In the child: what the plugin prints is not the check's, and a crash leaves no file.
void settle_in(const std::string& folder) {
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
  if (::chdir(folder.c_str()) != 0) ::_exit(1);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM}) std::signal(signal, SIG_DFL);
}

/// One child process, which looks at the rules from `first` on.
class Child {
 public:
  Child(const std::string& file, const std::string& options, const std::string& folder, std::size_t first,
        Doing* doing) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("no pipe can be made: ") + std::strerror(errno));
    process_ = ::fork();
    if (process_ == 0) {
      ::close(ends[0]);
      ::setpgid(0, 0);
      settle_in(folder);
      examine(file, options, folder, first, ends[1], doing);
      ::_exit(0);  // nothing of the plugin's runs on the way out
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
  /// Why it ended: "", or "crashes (Segmentation fault)".
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

/// The faults of one component, so that one that breaks many rules is told once.
class Faults {
 public:
  /// @param fault  what is wrong, without the circumstances of the rule
  /// @return the first rule that the component broke by the same fault; empty where there is none
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

std::vector<Row> examine_plugin(const std::string& file, const std::string& options, double seconds) {
  const std::string path = fs::absolute(file).string();
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<Row> rows;
  Faults faults;
  std::size_t next = 0;
  for (;;) {
    const ScratchFolder folder;
    SharedDoing doing;
    Child child(path, options, folder.path(), next, doing.get());
    std::optional<Message> begun;
    const auto broken = [&](const std::string& why) {
      const std::string component = begun ? begun->component : "", rule = begun ? begun->rule : "loading";
      const std::string fault = why + doing.step();
      rows.push_back(
          {file, component, rule, false, fault + doing.context(), faults.first_rule_with(component, rule, fault)});
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
      broken("it does not come back within " + std::to_string(seconds).substr(0, 4) + " s");
      if (!begun) return rows;  // what every child does first: none would come further
      continue;
    }
    const std::string end = child.wait();
    if (!begun && end.empty()) return rows;
    broken(end.empty() ? "it ends the process" : end);
    if (const std::string misuse = doing.misuse(); !misuse.empty()) rows.back().detail += ": " + misuse;
    if (begun) rows.back().detail += "; the rule is: " + meaning_of(begun->rule);
    if (!begun) return rows;
  }
}

}  // namespace loupe::check
