// The same in C++.
#include "layout_1_0.c"
