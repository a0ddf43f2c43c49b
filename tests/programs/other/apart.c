/* Loads LibTorch late. With "dlmopen" or "deep", LibTorch's calls bypass preloaded libraries. With "late", the
 * program's own call finds only the preloaded libraries. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int main(int count, char** arguments) {
  if (count < 3) return 1;
  const int is_own_namespace = strcmp(arguments[2], "dlmopen") == 0, is_late = strcmp(arguments[2], "late") == 0;
  void* const library = is_own_namespace ? dlmopen(LM_ID_NEWLM, arguments[1], RTLD_NOW)
                                         : dlopen(arguments[1], is_late ? RTLD_NOW : RTLD_NOW | RTLD_DEEPBIND);
  puts(library != NULL ? "loaded" : dlerror());
  // This call of the program itself reaches the preloaded library.
  void (*const train)(void*, bool) = (void (*)(void*, bool))dlsym(RTLD_DEFAULT, "_ZN5torch2nn6Module5trainEb");
  if (is_late && train != NULL) train(arguments, true);
  return 0;
}
