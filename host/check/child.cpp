#include "check/child.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "check/lent_memory.h"
#include "check/libtorch.h"
#include "check/rule.h"
#include "check/stub_host.h"
#include "loader/plugin_file.h"

namespace loupe::check {
namespace {

Doing* doing_now = nullptr;
std::string remark_now;

template <std::size_t size>
void write_text(char (&to)[size], const std::string& text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

/// Records what the component misused, then lets the crash happen.
void note_misuse(int signal, siginfo_t* told, void*) {
  const LentMemory::Misuse misuse = LentMemory::misuse_at(told->si_addr);
  if (misuse.deed != nullptr && doing_now != nullptr) {
    char* to = doing_now->misuse;
    const char* const end = to + sizeof doing_now->misuse - 1;
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
      if (!can_look_at(rule)) return;  // an earlier rule tells why
      look_at(rule, subject_);
    }
    if (subject_.plugin == nullptr || !LOUPE_REACHES(*subject_.plugin, component_count)) return;
    for (std::size_t i = 0; subject_.plugin->components != nullptr && i < subject_.plugin->component_count; ++i) {
      Subject component = subject_;
      component.component = subject_.plugin->components[i];
      const loupe_component* told = component.component;
      if (told == nullptr || !LOUPE_REACHES(*told, destroy) || told->name == nullptr || told->interface_id == nullptr)
        continue;  // the rule of the plugin tells
      component.kind = kind_of(told->interface_id).value_or(Kind::lens);
      bool whole = true;
      StubHost::take_drafts();  // of the component before
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
  /// A component that lacks what must be there cannot be looked at further.
  static bool is_whole(const Subject& component) {
    try {
      check_functions(component);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  /// A file that is no library has no symbols to look for, and one that is not Loupe's no functions to call.
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
    load_tensor_lending();  // the rule of links tells where that fails
    subject_.entry = static_cast<const loupe_entry*>(::dlsym(library, LOUPE_ENTRY_SYMBOL));
    if (subject_.entry == nullptr) return;
    try {
      check_bootstrap(subject_);
    } catch (const std::exception&) {
      return;  // its rule tells
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
      write_text(message.detail, "an exception that is no std::exception came out");
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

}  // namespace

void note_step(const std::string& step) {
  if (doing_now != nullptr) write_text(doing_now->step, step);
}

void note_context(const std::string& context) {
  if (doing_now != nullptr) write_text(doing_now->context, context);
}

void note_remark(const std::string& remark) {
  remark_now = remark;
}

void examine(const std::string& file, const std::string& options, const std::string& folder, std::size_t first,
             int channel, Doing* doing) {
  doing_now = doing;
  struct sigaction noting {};
  noting.sa_sigaction = &note_misuse;
  noting.sa_flags = SA_SIGINFO;
  for (const int signal : {SIGSEGV, SIGBUS}) ::sigaction(signal, &noting, nullptr);
  Subject subject;
  subject.file = file;
  subject.options = options;
  subject.folder = folder;
  Examination(subject, first, channel).run();
}

}  // namespace loupe::check
