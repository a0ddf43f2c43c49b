/* Loads LibTorch so that its calls never come to what was preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char** arguments) {
  if (count < 3) return 1;
  const int is_own_namespace = strcmp(arguments[2], "dlmopen") == 0;
  void* const library =
      is_own_namespace ? dlmopen(LM_ID_NEWLM, arguments[1], RTLD_NOW) : dlopen(arguments[1], RTLD_NOW | RTLD_DEEPBIND);
  puts(library != NULL ? "loaded" : dlerror());
  return 0;
}
