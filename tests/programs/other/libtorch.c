void loupe_other_libtorch(void);
void loupe_other_libtorch(void) {}
