// The same in C++.
#include "constants_1_0.c"
