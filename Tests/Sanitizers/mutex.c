// Tells ThreadSanitizer what Swift's Mutex does where it has to wait.
//
// Taking and giving back a Mutex that nobody else wants is compiled into the program, where ThreadSanitizer sees it. The
// rest is in the standard library, which is not instrumented, and on Linux in the kernel: without this, whatever one
// thread did before it gave a Mutex back and another after it had to wait for it is reported as a race. These stand
// before the library's own functions, call them, and say which of the two came first.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define HANDLE __attribute__((swift_context)) void *handle
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

void __tsan_acquire(void *address);
void __tsan_release(void *address);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, HANDLE) __asm__(LOCK);
__attribute__((swiftcall)) void unlock_slow(HANDLE) __asm__(UNLOCK);

static void *original(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

__attribute__((swiftcall)) void lock_slow(uint32_t thread, HANDLE) {
    typedef __attribute__((swiftcall)) void function(uint32_t thread, HANDLE);
    ((function *)original(LOCK))(thread, handle);
    __tsan_acquire(handle);
}

__attribute__((swiftcall)) void unlock_slow(HANDLE) {
    typedef __attribute__((swiftcall)) void function(HANDLE);
    __tsan_release(handle);
    ((function *)original(UNLOCK))(handle);
}
