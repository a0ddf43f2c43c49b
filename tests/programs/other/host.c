/* Replaces the library of a Loupe that was built with another LibTorch. No program may load it. */
#include <stdlib.h>

void loupe_other_libtorch(void);
__attribute__((constructor)) static void load(void) {
  loupe_other_libtorch();
  abort();
}
