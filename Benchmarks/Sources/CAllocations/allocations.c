// Replaces malloc for the program and for every library that it loads: counts the calls, and calls glibc's malloc.
// Memory that libraries get directly from mmap, such as libsodium's guarded memory, is not counted.

#define _GNU_SOURCE
#include "CAllocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef __GLIBC__

static _Atomic uint64_t all_threads;
static _Thread_local uint64_t this_thread;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static void count(void) {
    this_thread += 1;
    atomic_fetch_add_explicit(&all_threads, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    count();
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    count();
    void *block = __libc_memalign(alignment, size);
    if (block == NULL) return ENOMEM;
    *memory = block;
    return 0;
}

uint64_t allocations_of_this_thread(void) { return this_thread; }

uint64_t allocations_of_all_threads(void) { return atomic_load_explicit(&all_threads, memory_order_relaxed); }

/// Tries it out, because another malloc may have been loaded before this one.
bool allocations_are_counted(void) {
    uint64_t before = this_thread;
    void *volatile block = malloc(1);
    free(block);
    return this_thread == before + 1;
}

#else

uint64_t allocations_of_this_thread(void) { return 0; }
uint64_t allocations_of_all_threads(void) { return 0; }
bool allocations_are_counted(void) { return false; }

#endif
