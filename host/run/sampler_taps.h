#ifndef LOUPE_RUN_SAMPLER_TAPS_H
#define LOUPE_RUN_SAMPLER_TAPS_H

namespace loupe {

/// Declares the taps of LibTorch's samplers: a data loader resets its sampler where an epoch begins. Once, before the
/// first hold.
/// @param reset  told before it, on the program's thread, of the sampler, only to compare with; does not throw
void declare_sampler_taps(void (*reset)(const void* sampler));

}  // namespace loupe

#endif
