// What the C libraries declare only for GNU sources, or as macros that Swift does not see. No logic.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/fs.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

// Renames within one folder; fails with EEXIST where the new name is taken, with ENOSYS or EINVAL where the system or
// the file system cannot see to that.
static inline int vaultfile_rename_exclusive(int folder, const char *old_name, const char *new_name) {
#if defined(__APPLE__)
    return renameatx_np(folder, old_name, folder, new_name, RENAME_EXCL);
#elif defined(__linux__)
    return (int)syscall(SYS_renameat2, folder, old_name, folder, new_name, RENAME_NOREPLACE);
#else
    errno = ENOSYS;
    return -1;
#endif
}

// The flag for a file without a name, 0 where the system has none.
static inline int vaultfile_open_nameless(void) {
#if defined(__linux__)
    // O_TMPFILE; the C library hides the name from sources that are not GNU's.
    return 020000000 | O_DIRECTORY;
#else
    return 0;
#endif
}

// Sets the modification time and leaves the time of access as it is.
static inline int vaultfile_set_modified(int file, long long seconds, long nanoseconds) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, {(time_t)seconds, nanoseconds}};
    return futimens(file, times);
}

// Keeps the memory of this process out of core dumps, those that the system pipes to a program included, which know no
// limit of size.
static inline void vaultfile_forbid_dumps(void) {
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
#if defined(__linux__)
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

// How many columns a terminal has, 0 where that cannot be told.
static inline int vaultfile_terminal_columns(int terminal) {
    struct winsize size = {0};
    return ioctl(terminal, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// How many bytes a pipe, a socket or a terminal has that can be read without waiting; -1 where that cannot be told.
static inline int vaultfile_available(int descriptor) {
    int count = 0;
    return ioctl(descriptor, FIONREAD, &count) == 0 ? count : -1;
}

// How many processors this process may run on: a container of a cluster, or taskset, may give it fewer than there are.
static inline long vaultfile_processor_count(void) {
#if defined(__linux__)
    // As many bits as the kernel wants; the C library's own call, and its set's type, are only for GNU sources.
    unsigned long set[1024];
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(set), set);
    long count = 0;
    for (long index = 0; index < bytes / (long)sizeof(*set); index++) count += __builtin_popcountl(set[index]);
    if (count > 0) return count;
#endif
    return sysconf(_SC_NPROCESSORS_ONLN);
}
