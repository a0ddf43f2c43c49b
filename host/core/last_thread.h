#pragma once

namespace loupe {

/// The C library ends a process whose last thread is gone. After main() has ended by pthread_exit, threads of Loupe's
/// must not keep it alive: once only those are left (see name_own_thread), it is ended in the same way, by exit(0).
/// Needs /proc. From now on, in this process; any thread.
void end_with_last_thread();

/// Where this library was loaded while main() ran on another thread, which somebody else has to watch: it has ended.
void main_thread_ended();

}  // namespace loupe
