#include <stdio.h>

int main(void) {
  puts("ran");
  return 5;
}
