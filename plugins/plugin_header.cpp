// Precompiles the SDK's header, for every plugin.
