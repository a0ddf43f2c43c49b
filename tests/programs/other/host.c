/* Stands for a Loupe that was built with another LibTorch. It must never be loaded. */
#include <stdlib.h>

void loupe_other_libtorch(void);
__attribute__((constructor)) static void load(void) {
  loupe_other_libtorch();
  abort();
}
