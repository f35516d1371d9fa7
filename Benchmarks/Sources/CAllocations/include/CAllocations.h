#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

/// Whether allocations are counted in this process: with glibc they are.
bool allocations_are_counted(void);

/// How often this thread has asked for memory, by malloc and its kin.
uint64_t allocations_of_this_thread(void);

/// How often all threads together have.
uint64_t allocations_of_all_threads(void);

#endif
