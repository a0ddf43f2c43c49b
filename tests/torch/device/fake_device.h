#pragma once

/// A device of LibTorch's, `at::kPrivateUse1`, that the processor stands in for. It has one queue and clocks of its
/// own, which only tests move: the host's, and the one at which the queue is done with what it was given.
namespace loupe::testing::fake_device {

/// Advances the host clock by this many seconds.
void pass(double seconds);
/// What an operator of that name takes from now on, in seconds; 0 for all others.
void takes(const char* operation, double seconds);
/// The host waits until the queue is done.
void wait();
/// Its stream is being captured from now on, or no more.
void capture(bool captures);
/// How often the host was made to wait for the queue, or asked it something that ends a capture, since the last call.
int offences();

}  // namespace loupe::testing::fake_device
