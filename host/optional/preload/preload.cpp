// libloupe_run.so, which LD_PRELOAD loads into a program. It defines four functions under the names of LibTorch's, and
// they pass every call on. The first call loads the watching library; a program without such calls pays nothing. This
// file needs only C's library, so it can be loaded into any program.

#include "preload/preload.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <loupe/files/shared_output.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "preload/needed_libraries.h"

namespace loupe {

/// A result that a function returns through its caller's memory: the real function creates it there, and it is never
/// copied.
struct ReturnedObject {
  ReturnedObject(const ReturnedObject&) = delete;
  ReturnedObject& operator=(const ReturnedObject&) = delete;
  ~ReturnedObject() {}
};

namespace {

constexpr unsigned long version_size = 64;

/// Writes formatted text, which may be cut.
__attribute__((format(printf, 3, 4))) void put(char* text, unsigned long size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, size, format, arguments);
  va_end(arguments);
}

/// Replaces each control character by "?": names of files and messages of the loader may hold some that steer a
/// terminal.
void make_printable(char* text) {
  for (; *text != '\0'; ++text) {
    const auto letter = static_cast<unsigned char>(*text), next = static_cast<unsigned char>(text[1]);
    if (letter == 0xc2 && next >= 0x80 && next < 0xa0) text[0] = text[1] = '?';
    if (letter < 0x20 || letter == 0x7f) *text = '?';
  }
}

int find_library(dl_phdr_info* info, size_t, void* data) {
  auto& wanted = *static_cast<LibraryName*>(data);
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (strncmp(name, wanted.begins, strlen(wanted.begins)) != 0) return 0;
  put(wanted.path, sizeof wanted.path, "%s", info->dlpi_name);
  return 1;
}
struct NthLibrary {
  int left;
  char path[text_size];
};
int count_down(dl_phdr_info* info, size_t, void* data) {
  auto& wanted = *static_cast<NthLibrary*>(data);
  if (wanted.left-- > 0) return 0;
  put(wanted.path, sizeof wanted.path, "%s", info->dlpi_name);
  return 1;
}

/// Whether the library of that address is a libloupe_run: this one, or another installation's.
bool is_of_loupe_run(void* address) {
  Dl_info of{};
  if (dladdr(address, &of) == 0) return false;
  const char* slash = strrchr(of.dli_fname, '/');
  return strncmp(slash != nullptr ? slash + 1 : of.dli_fname, "libloupe_run.so", strlen("libloupe_run.so")) == 0;
}

/// Finds a function of that name in any loaded library but a libloupe_run, or returns null. Opens no library while it
/// lists them: that would take the loader's locks in the other order.
void* find_anywhere(const char* name) {
  for (int i = 0;; ++i) {
    NthLibrary library{i, ""};
    if (dl_iterate_phdr(&count_down, &library) == 0) return nullptr;
    void* opened = library.path[0] != '\0' ? dlopen(library.path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (opened == nullptr) continue;
    void* found = dlsym(opened, name);
    dlclose(opened);
    if (found != nullptr && !is_of_loupe_run(found)) return found;
  }
}

/// Laid out as a string of C++'s library, and so returned in the same way: through memory that the caller lends.
struct LentString {
  char* text;
  unsigned long size;
  char rest[64];  ///< also holds a short text

  bool is_on_heap() const { return text != nullptr && text != rest; }
};

/// Reads the version of the loaded LibTorch, such as "1.13.1". Returns false without one.
bool read_loaded_version(char (&version)[version_size]) {
  constexpr const char* key = "TORCH_VERSION=";
  const auto show = reinterpret_cast<LentString (*)()>(find_anywhere("_ZN2at11show_configB5cxx11Ev"));
  version[0] = '\0';
  if (show == nullptr) return false;
  const LentString config = show();
  const char* found = config.text != nullptr ? strstr(config.text, key) : nullptr;
  if (found != nullptr) {
    found += strlen(key);
    put(version, version_size, "%.*s", static_cast<int>(strcspn(found, ", \n")), found);
  }
  // Look it up like LibTorch: it may be a sanitizer's function instead of C++'s.
  const auto free_memory = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_DEFAULT, "_ZdlPv"));
  if (free_memory != nullptr && config.is_on_heap()) free_memory(config.text);
  return version[0] != '\0';
}

/// Whether both versions begin with the same two numbers.
bool is_same_minor(const char* version, const char* other) {
  const auto length = [](const char* text) {
    const char* first = strchr(text, '.');
    const char* second = first != nullptr ? strchr(first + 1, '.') : nullptr;
    return second != nullptr ? static_cast<unsigned long>(second - text) : strlen(text);
  };
  return length(version) == length(other) && strncmp(version, other, length(version)) == 0;
}

/// The path of a library of Loupe's.
struct OwnLibrary {
  std::atomic<ElfW(Addr)> begin{0}, end{0};
};
OwnLibrary own_libraries[2];   // the host, and its part that watches programs
__thread bool starts = false;  // this thread is starting the watching library
// The stack address of the current request for parameters on this thread. LibTorch asks each module below for its own,
// through the same functions. It is an address, not a count, so that an exception does not leave it wrong for long.
__thread const void* asked_at = nullptr;
pthread_mutex_t starting = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

}  // namespace

bool is_loaded(LibraryName& name) {
  return dl_iterate_phdr(&find_library, &name) == 1;
}

bool is_first_process() {
  char own[16];
  put(own, sizeof own, "%d", static_cast<int>(getpid()));
  return is_set(run_process_variable, own);
}

void tell(const char* format, ...) {
  char text[2 * text_size] = "loupe: ";
  const unsigned long begun = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + begun, sizeof text - begun - 1, format, arguments);
  va_end(arguments);
  make_printable(text);
  strcat(text, "\n");
  write_shared(STDERR_FILENO, text, strlen(text));
}

namespace {

/// Logs one message; the program runs on without Loupe, or ends here if --require was given.
void go_unwatched(const char* why) {
  const bool required = is_set(run_require_variable, "1");
  tell("%s%s%s", required ? "error: " : "warning: ", why,
       required ? "; --require ends the program here" : "; the program runs unwatched");
  if (required) _exit(exit_unwatched);
}

struct OpenedLibrary {
  const link_map* map;
  OwnLibrary* own;
};
/// Stores the path of the library in `data`.
int find_opened(dl_phdr_info* info, size_t, void* data) {
  const auto& opened = *static_cast<OpenedLibrary*>(data);
  if (info->dlpi_addr != opened.map->l_addr || strcmp(info->dlpi_name, opened.map->l_name) != 0) return 0;
  ElfW(Addr) first = ~ElfW(Addr){0}, last = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const ElfW(Addr) begin = info->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
    if (segment.p_type != PT_LOAD) continue;
    if (begin < first) first = begin;
    if (end > last) last = end;
  }
  opened.own->begin.store(first, std::memory_order_relaxed);
  opened.own->end.store(last, std::memory_order_relaxed);
  return 1;
}

/// Opens a library of Loupe's forever. Returns null, with the reason, if it does not match the program's LibTorch.
void* open_own(const char* path, OwnLibrary& own, char* why) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = dlerror();
    put(why, text_size, "'%s' cannot be loaded beside this program's LibTorch: %s", path,
        reason != nullptr ? reason : "");
    return nullptr;
  }
  OpenedLibrary opened{static_cast<const link_map*>(library), &own};
  dl_iterate_phdr(&find_opened, &opened);
  return library;
}

bool is_identity(const char* library) {
  return strncmp(library, "libtorch_cpu.so", 15) == 0 || strncmp(library, "libc10.so", 9) == 0;
}

/// Starts the watching library of a folder. Returns false, with the reason, if it does not match this program: it must
/// not load another LibTorch beside the program's own.
bool start_from(const char* folder, char* why) {
  char path[text_size];
  put(path, sizeof path, "%s/%s", folder, run_host_name);
  NeededLibraries needed;
  if (!read_needed_libraries(path, needed)) {
    put(why, text_size, "'%s' cannot be read; is Loupe installed whole?", path);
    return false;
  }
  for (int i = 0; i < needed.count; ++i) {
    if (!is_identity(needed.names[i])) continue;
    if (dlopen(needed.names[i], RTLD_LAZY | RTLD_NOLOAD) != nullptr) continue;
    LibraryName loaded{"libtorch_cpu.so", ""};
    const bool any = is_loaded(loaded);
    char version[version_size];
    put(why, text_size,
        "the program loads LibTorch %s ('%s'), but the Loupe in '%s' was built with LibTorch %s, whose library is "
        "'%s'; "
        "name the folder of a Loupe that was built with the program's in %s",
        read_loaded_version(version) ? version : "of another version", any ? loaded.path : "in a separate library",
        folder, needed.libtorch[0] != '\0' ? needed.libtorch : "of another version", needed.names[i],
        run_hosts_variable);
    return false;
  }
  // With several installations, the loader may find one's library under the name of another's.
  char version[version_size];
  if (read_loaded_version(version) && needed.libtorch[0] != '\0' && !is_same_minor(version, needed.libtorch)) {
    LibraryName loaded{"libtorch_cpu.so", ""};
    static_cast<void>(is_loaded(loaded));
    put(why, text_size,
        "the program loads LibTorch %s ('%s'), but the Loupe in '%s' was built with LibTorch %s; name the folder of a "
        "Loupe that was built with %s in %s",
        version, loaded.path, folder, needed.libtorch, version, run_hosts_variable);
    return false;
  }
  if (open_own(path, own_libraries[0], why) == nullptr) return false;
  put(path, sizeof path, "%s/%s", folder, run_part_name);
  void* const library = open_own(path, own_libraries[1], why);
  const auto table = library != nullptr ? reinterpret_cast<const void* (*)()>(dlsym(library, "loupe_part")) : nullptr;
  if (table == nullptr) return false;
  listener = static_cast<const RunTable*>(table())->start(why, text_size);
  if (main_has_ended && listener != nullptr) listener.load()->main_ended();
  return listener != nullptr;
}

/// Finds the folder of the watching library: this library's folder, or the one above.
void host_folder(char* folder) {
  Dl_info info{};
  char file[PATH_MAX], host[PATH_MAX + text_size];
  if (dladdr(reinterpret_cast<void*>(&host_folder), &info) == 0 || !realpath(info.dli_fname, file)) return;
  for (int up = 0; up < 2; ++up) {
    if (char* slash = strrchr(file, '/')) *slash = '\0';
    put(folder, text_size, "%s", file);
    put(host, sizeof host, "%s/%s", file, run_host_name);
    if (access(host, R_OK) == 0) return;
  }
}

/// A sanitizer would report Loupe's locks and memory, and change the exit code.
bool has_sanitizer() {
  for (const char* each : {"__asan_init", "__hwasan_init", "__lsan_init", "__msan_init", "__tsan_init"})
    if (dlsym(RTLD_DEFAULT, each) != nullptr) return true;
  return false;
}

/// Tries Loupe's own folder first, then those of other installations.
void start() {
  if (has_sanitizer()) return go_unwatched("a sanitizer (such as libasan.so in LD_PRELOAD) is loaded in this process");
  LibraryName present{"libloupe_host.so", ""};
  if (is_loaded(present)) {
    tell("the program was built with Loupe ('%s') and is watched as its own code says", present.path);
    return;
  }
  char folder[text_size] = ".", why[text_size] = "", other[text_size] = "";
  host_folder(folder);
  if (start_from(folder, why)) return;
  const char* rest = getenv(run_hosts_variable);
  while (rest != nullptr && *rest != '\0') {
    const size_t length = strcspn(rest, ":");
    put(folder, sizeof folder, "%.*s", static_cast<int>(length), rest);
    if (length > 0 && start_from(folder, other)) return;
    rest += rest[length] == ':' ? length + 1 : length;
  }
  go_unwatched(why);
}

const RunListener* started() {
  if (!tried && !is_second) {
    pthread_mutex_lock(&starting);
    static bool begun = false;  // the library calls these functions itself as it starts
    if (!begun) {
      begun = starts = true;
      start();
      starts = false;
      tried = true;
    }
    pthread_mutex_unlock(&starting);
  }
  return listener;
}

/// LibTorch's own function. RTLD_NEXT does not find it if LibTorch was loaded later.
void* real_of(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr || is_of_loupe_run(found)) found = find_anywhere(name);
  if (found == nullptr) {
    tell("error: '%s' is called, but no loaded library has it", name);
    abort();
  }
  return found;
}

template <class Function>
Function real_function(void*& kept, const char* name) {
  void* known = __atomic_load_n(&kept, __ATOMIC_ACQUIRE);
  if (known == nullptr) __atomic_store_n(&kept, known = real_of(name), __ATOMIC_RELEASE);
  return reinterpret_cast<Function>(known);
}

/// Whether the watching library makes the call: such a call is not the program's, and may come under Loupe's locks.
bool is_own_call(const void* caller) {
  const auto address = reinterpret_cast<ElfW(Addr)>(caller);
  for (const OwnLibrary& own : own_libraries)
    if (address >= own.begin.load(std::memory_order_relaxed) && address < own.end.load(std::memory_order_relaxed))
      return true;
  return false;
}

#define LOUPE_PARAMETERS "_ZNK5torch2nn6Module10parametersEb"
#define LOUPE_NAMED_PARAMETERS "_ZNK5torch2nn6Module16named_parametersB5cxx11Eb"
#define LOUPE_NAMED_PARAMETERS_OLD "_ZNK5torch2nn6Module16named_parametersEb"
#define LOUPE_ADD_GROUP "_ZN5torch5optim9Optimizer15add_param_groupERKNS0_19OptimizerParamGroupE"
#define LOUPE_TRAIN "_ZN5torch2nn6Module5trainEb"

ReturnedObject pass_on(void*& real, const char* name, const void* module, bool recurse, const void* caller) {
  const auto ask = real_function<ReturnedObject (*)(const void*, bool)>(real, name);
  const void* here = __builtin_frame_address(0);
  if (here < asked_at) return ask(module, recurse);
  const RunListener* told = is_own_call(caller) ? nullptr : started();
  if (told != nullptr) told->module_used(module);
  struct Asking {
    explicit Asking(const void* place) { asked_at = place; }
    ~Asking() { asked_at = nullptr; }
  } const asking(here);
  return ask(module, recurse);
}

}  // namespace

LOUPE_RUN_EXPORT ReturnedObject parameters(const void* module, bool recurse) asm(LOUPE_PARAMETERS);
ReturnedObject parameters(const void* module, bool recurse) {
  static void* real = nullptr;
  return pass_on(real, LOUPE_PARAMETERS, module, recurse, __builtin_return_address(0));
}

LOUPE_RUN_EXPORT ReturnedObject named_parameters(const void* module, bool recurse) asm(LOUPE_NAMED_PARAMETERS);
ReturnedObject named_parameters(const void* module, bool recurse) {
  static void* real = nullptr;
  return pass_on(real, LOUPE_NAMED_PARAMETERS, module, recurse, __builtin_return_address(0));
}

/// The function for a LibTorch that uses the std::string from before C++11.
LOUPE_RUN_EXPORT ReturnedObject old_named_parameters(const void* module, bool recurse) asm(LOUPE_NAMED_PARAMETERS_OLD);
ReturnedObject old_named_parameters(const void* module, bool recurse) {
  static void* real = nullptr;
  return pass_on(real, LOUPE_NAMED_PARAMETERS_OLD, module, recurse, __builtin_return_address(0));
}

LOUPE_RUN_EXPORT void train(void* module, bool on) asm(LOUPE_TRAIN);
void train(void* module, bool on) {
  static void* real = nullptr;
  const RunListener* told = starts ? nullptr : listener.load();
  if (told != nullptr) told->mode_set(module, on);
  real_function<void (*)(void*, bool)>(real, LOUPE_TRAIN)(module, on);
}

LOUPE_RUN_EXPORT void add_param_group(void* optimizer, const void* group) asm(LOUPE_ADD_GROUP);
void add_param_group(void* optimizer, const void* group) {
  static void* real = nullptr;
  if (!starts) has_optimizer = true;
  const RunListener* told = started();
  if (told != nullptr) told->group_added(optimizer, group);
  real_function<void (*)(void*, const void*)>(real, LOUPE_ADD_GROUP)(optimizer, group);
}

namespace {

/// Takes this library out of a list of libraries to preload.
void drop_from_preload() {
  const char* list = getenv("LD_PRELOAD");
  if (list == nullptr) return;
  char* kept = static_cast<char*>(malloc(strlen(list) + 1));
  if (kept == nullptr) return;
  kept[0] = '\0';
  while (*list != '\0') {
    const size_t length = strcspn(list, ": ");
    const bool is_own = memmem(list, length, "libloupe_run.so", strlen("libloupe_run.so")) != nullptr;
    if (length > 0 && !is_own) {
      if (kept[0] != '\0') strcat(kept, ":");
      strncat(kept, list, length);
    }
    list += length;
    if (*list != '\0') ++list;
  }
  static_cast<void>(kept[0] != '\0' ? setenv("LD_PRELOAD", kept, 1) : unsetenv("LD_PRELOAD"));
  free(kept);
}

/// Frees the lock in a child that was just forked: a thread of the parent may have held it while it started watching.
void release_start() {
  const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  starting = fresh;
}

__attribute__((constructor)) void begin() {
  await_end_of_main_thread();
  pthread_atfork(nullptr, nullptr, &release_start);
  char own[16];
  put(own, sizeof own, "%d", static_cast<int>(getpid()));
  setenv(run_process_variable, own, 0);
  if (is_set(run_follow_variable, "no")) drop_from_preload();
  Dl_info first{}, here{};
  is_second = dladdr(dlsym(RTLD_DEFAULT, LOUPE_ADD_GROUP), &first) != 0 &&
              dladdr(reinterpret_cast<void*>(&find_anywhere), &here) != 0 && first.dli_fbase != here.dli_fbase &&
              is_of_loupe_run(first.dli_fbase);
}

}  // namespace
}  // namespace loupe
