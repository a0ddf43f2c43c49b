// Precompiles the headers of LibTorch and GoogleTest, for every test that includes both.
