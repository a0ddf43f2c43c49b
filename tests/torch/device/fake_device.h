#pragma once

/// A fake device of LibTorch's type `at::kPrivateUse1`, which the host simulates. It has one queue and two clocks. Only
/// tests move the clocks: the host's time, and the time at which the queue has done all its work.
namespace loupe::testing::fake_device {

/// Advances the host clock by this many seconds.
void pass(double seconds);
/// Sets the seconds that an operator takes from now on. All other operators keep theirs, at first 0.
void takes(const char* operation, double seconds);
/// Lets the host wait until the queue is done.
void wait();
/// Starts or ends the capture of its stream.
void capture(bool captures);
/// How often, since the last call, the host waited for the queue or made a query that would end a capture.
int offences();

}  // namespace loupe::testing::fake_device
