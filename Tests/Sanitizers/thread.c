// Tells ThreadSanitizer how Swift's standard library synchronises threads. The library is not instrumented, so
// ThreadSanitizer does not see its synchronisation and would report races that do not exist. These functions take the
// place of the library's own, call them, and report the order that they establish.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// By default a process waits a second at its end, to find late races. The tests start thousands of processes.
const char *__tsan_default_options(void) { return "atexit_sleep_ms=0"; }

static void *original(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

// The code that locks and unlocks an uncontended Mutex is compiled into the program, where ThreadSanitizer sees it. The
// rest is in the library, and on Linux in the kernel.

#define HANDLE __attribute__((swift_context)) void *handle
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

__attribute__((swiftcall)) void lock_slow(uint32_t thread, HANDLE) __asm__(LOCK);
__attribute__((swiftcall)) void unlock_slow(HANDLE) __asm__(UNLOCK);

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

// Arrays and similar values are copied on write, unless they have only one owner. A thread that finds itself the only
// owner comes after all threads that have released the value.

// Values that are not addresses have the highest bit set; some other bits are flags.
static void *address(uintptr_t object) {
    return (intptr_t)object > 0 ? (void *)(object & ~((uintptr_t)0xF << 60 | 7)) : NULL;
}

static void *original_once(void **place, const char *name) {
    void *found = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (!found) __atomic_store_n(place, found = original(name), __ATOMIC_RELAXED);
    return found;
}

typedef void letting_go(uintptr_t);
typedef void letting_go_of_some(uintptr_t, uint32_t);
typedef _Bool asking(uintptr_t);

#define ORIGINAL(type, name)                                        \
    static void *place;                                             \
    type *function = (type *)original_once(&place, #name)

#define LETS_GO(name)                                               \
    void name(uintptr_t object) {                                   \
        ORIGINAL(letting_go, name);                                 \
        void *held = address(object);                               \
        if (held) __tsan_release(held);                             \
        function(object);                                           \
    }
#define LETS_GO_OF_SOME(name)                                       \
    void name(uintptr_t object, uint32_t count) {                   \
        ORIGINAL(letting_go_of_some, name);                         \
        void *held = address(object);                               \
        if (held) __tsan_release(held);                             \
        function(object, count);                                    \
    }
#define ASKS(name)                                                  \
    _Bool name(uintptr_t object) {                                  \
        ORIGINAL(asking, name);                                     \
        void *held = address(object);                               \
        _Bool is_unique = function(object);                         \
        if (is_unique && held) __tsan_acquire(held);                \
        return is_unique;                                           \
    }

LETS_GO(swift_release)
LETS_GO(swift_bridgeObjectRelease)
LETS_GO_OF_SOME(swift_release_n)
LETS_GO_OF_SOME(swift_bridgeObjectRelease_n)
ASKS(swift_isUniquelyReferenced_native)
ASKS(swift_isUniquelyReferenced_nonNull_native)
ASKS(swift_isUniquelyReferenced_nonNull_bridgeObject)
