// Precompiles GoogleTest's header, for every test that includes no LibTorch.
