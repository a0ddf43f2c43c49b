#include <stdbool.h>
#include <stdio.h>

void loupe_other_libtorch(void);
void loupe_other_libtorch(void) {}

void train(void* module, bool on) __asm__("_ZN5torch2nn6Module5trainEb");
void train(void* module, bool on) {
  if (module != NULL && on) puts("trains");
}
