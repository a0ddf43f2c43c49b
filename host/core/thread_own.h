#pragma once

#include <cxxabi.h>

namespace loupe {

/// A thread's own T, for code that taps reach: a model may run in the destructor of a static or thread_local object,
/// when an ordinary thread_local is gone. This one is then made anew.
template <class T>
class ThreadOwn {
 public:
  static T& get() {
    if (own_ == nullptr) make();
    return *own_;
  }

 private:
  static void make() {
    own_ = new T();
    // Also calls what is registered while a thread's objects are destroyed. What the main thread makes later, while
    // static objects are, stays: nobody could say when it is no longer used.
    abi::__cxa_thread_atexit(&end, own_, reinterpret_cast<void*>(&end));
  }
  static void end(void* own) {
    own_ = nullptr;  // first, for what the destructor calls may want one
    delete static_cast<T*>(own);
  }

  static inline thread_local constinit T* own_ = nullptr;
};

}  // namespace loupe
