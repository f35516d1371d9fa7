// The C library for all targets. Swift files import CPlatform instead of the C library's own module, whose name differs
// between systems. The functions below wrap calls that Swift cannot see: macros, functions with a variable number of
// arguments, and calls that the C library declares only for GNU sources. They hold no logic.
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <sys/disk.h>
#elif defined(__linux__)
#include <linux/fs.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#endif

// The error number of this thread's last call. Swift cannot see the macro `errno` here.
static inline int vaultfile_error_number(void) { return errno; }
static inline void vaultfile_set_error_number(int number) { errno = number; }

// `openat`. Swift cannot call a function that takes a variable number of arguments.
static inline int vaultfile_open_at(int folder, const char *path, int flags, mode_t mode) {
    return openat(folder, path, flags, mode);
}

// Keeps a descriptor from the programs that this process starts.
static inline void vaultfile_close_on_exec(int descriptor) { (void)fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

// The environment for a program that this process starts.
static inline char **vaultfile_environment(void) {
    extern char **environ;
    return environ;
}

// The same open file under a number above those of the standard descriptors, closed when a program is started. -1 and
// errno on failure.
static inline int vaultfile_above_standard(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 3); }

// A pipe that the programs do not get that this process starts. -1 and errno on failure.
static inline int vaultfile_pipe(int ends[2]) {
#if defined(__linux__)
    // The C library declares it only for GNU sources.
    extern int pipe2(int *, int);
    return pipe2(ends, O_CLOEXEC);
#else
    if (pipe(ends) != 0) return -1;
    vaultfile_close_on_exec(ends[0]);
    vaultfile_close_on_exec(ends[1]);
    return 0;
#endif
}

// Renames a file from one folder into another. Without `replaces` it fails with EEXIST if something has the new name; where
// the file system cannot do that in one step, another program can put a file there between two. -1 and errno on failure.
static inline int vaultfile_rename(int from, const char *old, int to, const char *name, int replaces) {
    if (replaces) return renameat(from, old, to, name);
#if defined(__APPLE__)
    if (renameatx_np(from, old, to, name, RENAME_EXCL) == 0) return 0;
    if (errno != ENOTSUP && errno != EINVAL) return -1;
#else
    if (syscall(SYS_renameat2, from, old, to, name, RENAME_NOREPLACE) == 0) return 0;
    if (errno != ENOSYS && errno != EINVAL) return -1;
#endif
    struct stat there;
    if (fstatat(to, name, &there, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(from, old, to, name);
}

// Makes everything durable that was written to the file system of a folder. -1 and errno on failure.
static inline int vaultfile_sync_file_system(int folder) {
#if defined(__linux__)
    // The C library declares it only for GNU sources.
    extern int syncfs(int);
    return syncfs(folder);
#else
    (void)folder;
    sync();
    return 0;
#endif
}

// Makes reads and writes return at once. -1 and errno on failure.
static inline int vaultfile_do_not_wait(int descriptor) { return fcntl(descriptor, F_SETFL, O_NONBLOCK); }

// Lets a new process start in a folder, with nothing open but the standard descriptors. These calls are declared only for
// GNU sources, and by newer systems. Returns 0, or an error number.
static inline int vaultfile_start_in(posix_spawn_file_actions_t *actions, const char *folder) {
#if defined(__GLIBC__)
    extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *, const char *);
    extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
    const int status = posix_spawn_file_actions_addchdir_np(actions, folder);
    return status != 0 ? status : posix_spawn_file_actions_addclosefrom_np(actions, 3);
#elif defined(__APPLE__)
    // Swift sets POSIX_SPAWN_CLOEXEC_DEFAULT, which closes the others.
    return posix_spawn_file_actions_addchdir_np(actions, folder);
#else
    (void)actions, (void)folder;
    return ENOSYS;
#endif
}

// The flags that a file was opened with; -1 and errno on failure.
static inline int vaultfile_status_flags(int descriptor) { return fcntl(descriptor, F_GETFL); }

// Whether the process could map this many more bytes. Maps them for a moment and does not touch them.
static inline int vaultfile_has_room(size_t count) {
    void *const start = mmap(NULL, count, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
    return start != MAP_FAILED && munmap(start, count) == 0;
}

// Enlarges a pipe's buffer to at least this many bytes. Does nothing on systems that cannot.
static inline void vaultfile_enlarge_pipe(int descriptor, int count) {
#if defined(__linux__)
    // F_GETPIPE_SZ and F_SETPIPE_SZ, which the C library declares only for GNU sources.
    const int present = fcntl(descriptor, 1032);
    if (present != -1 && present < count) (void)fcntl(descriptor, 1031, count);
#else
    (void)descriptor, (void)count;
#endif
}

// Waits until what was written to a file is durable. On Darwin, fsync alone may leave it in the drive's cache.
static inline int vaultfile_synchronize(int descriptor) {
#if defined(__APPLE__)
    if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
#endif
    return fsync(descriptor);
}

// A lease on an open file: F_WRLCK, F_RDLCK or F_UNLCK. Takes it, changes it or gives it back. -1 and errno on failure.
static inline int vaultfile_set_lease(int descriptor, int type) {
#if defined(__linux__)
    // F_SETLEASE, which the C library declares only for GNU sources.
    return fcntl(descriptor, 1024, type);
#else
    (void)descriptor, (void)type;
    errno = ENOTSUP;
    return -1;
#endif
}

// The lease on an open file; once another program wants to open the file, the lease that may stay. -1 and errno on
// failure.
static inline int vaultfile_lease(int descriptor) {
#if defined(__linux__)
    // F_GETLEASE
    return fcntl(descriptor, 1025);
#else
    (void)descriptor;
    errno = ENOTSUP;
    return -1;
#endif
}

// The number of the kind of file system that holds an open file, as in <linux/magic.h>; 0 if the system has no such
// numbers, -1 and errno on failure.
static inline long long vaultfile_file_system(int file) {
#if defined(__linux__)
    struct statfs found;
    if (fstatfs(file, &found) != 0) return -1;
    return (uint32_t)found.f_type;
#else
    (void)file;
    return 0;
#endif
}

// Ignores a signal, or restores its default action.
static inline void vaultfile_ignore_signal(int number, int is_ignored) {
    (void)signal(number, is_ignored ? SIG_IGN : SIG_DFL);
}

// Renames within one folder. Fails with EEXIST if the new name is taken, and with ENOSYS or EINVAL if the system or the
// file system has no such call.
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

// The flag that opens a file without a name; 0 if the system has none.
static inline int vaultfile_open_nameless(void) {
#if defined(__linux__)
    // O_TMPFILE, which the C library declares only for GNU sources.
    return 020000000 | O_DIRECTORY;
#else
    return 0;
#endif
}

// The parts of a time. Swift may take the members of `timespec` for those of another module, in the order in which it
// loads the modules, and then does not see them.
static inline long long vaultfile_seconds(struct timespec time) { return time.tv_sec; }
static inline long vaultfile_nanoseconds(struct timespec time) { return time.tv_nsec; }

// The present time of the clock that gives files their times.
static inline struct timespec vaultfile_now(void) {
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_REALTIME, &time);
    return time;
}

// Sets the modification time. The access time does not change.
static inline int vaultfile_set_modified(int file, long long seconds, long nanoseconds) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, {(time_t)seconds, nanoseconds}};
    return futimens(file, times);
}

// Keeps the memory of this process out of core dumps. Returns 0, or -1 and errno if a call failed. The size limit alone
// is not enough on Linux: it does not apply to a dump that the system pipes to a program.
static inline int vaultfile_forbid_dumps(void) {
    const struct rlimit none = {0, 0};
    int status = setrlimit(RLIMIT_CORE, &none);
#if defined(__linux__)
    status |= prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
    return status;
}

// Whether the memory of this process may appear in a core dump; for tests.
static inline int vaultfile_may_dump(void) {
    struct rlimit limit = {0, 0};
    (void)getrlimit(RLIMIT_CORE, &limit);
#if defined(__linux__)
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) return 1;
#endif
    return limit.rlim_cur != 0 || limit.rlim_max != 0;
}

// Maps a page that holds zeros in every process that `fork` makes. NULL if the system has no such pages.
static inline void *vaultfile_map_wiped_on_fork(void) {
#if defined(__linux__)
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return NULL;
    // MADV_WIPEONFORK, which Linux has from 4.14 on. An emulator that accepts every advice follows none.
    if (madvise(page, size, -1) != 0 && madvise(page, size, 18) == 0) return page;
    (void)munmap(page, size);
#endif
    return NULL;
}

// `fork`, which Swift hides because a child may do little. Tests look at what writers do in a child.
static inline pid_t vaultfile_fork(void) { return fork(); }

// The width of a terminal in columns; 0 if unknown.
static inline int vaultfile_terminal_columns(int terminal) {
    struct winsize size = {0};
    return ioctl(terminal, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// How many bytes can be read from a pipe, a socket or a terminal without waiting; -1 if unknown.
static inline int vaultfile_available(int descriptor) {
    int count = 0;
    return ioctl(descriptor, FIONREAD, &count) == 0 ? count : -1;
}

// The size in bytes of an open block device; -1 and errno on failure. Unlike lseek, it does not move the offset, which
// other descriptors and processes may share.
static inline long long vaultfile_device_size(int device) {
#if defined(__APPLE__)
    uint32_t block_size = 0;
    uint64_t count = 0;
    if (ioctl(device, DKIOCGETBLOCKSIZE, &block_size) != 0 || ioctl(device, DKIOCGETBLOCKCOUNT, &count) != 0) return -1;
    return (long long)(count * block_size);
#elif defined(__linux__)
    uint64_t bytes = 0;
    return ioctl(device, BLKGETSIZE64, &bytes) == 0 ? (long long)bytes : -1;
#else
    errno = ENOTSUP;
    return -1;
#endif
}

// How many processors this process may run on. A container of a cluster, or taskset, may allow fewer than the machine
// has.
static inline long vaultfile_processor_count(void) {
#if defined(__linux__)
    // The kernel's own set of bits. The C library declares its call, and its type for the set, only for GNU sources.
    unsigned long set[1024];
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(set), set);
    long count = 0;
    for (long index = 0; index < bytes / (long)sizeof(*set); index++) count += __builtin_popcountl(set[index]);
    if (count > 0) return count;
#endif
    return sysconf(_SC_NPROCESSORS_ONLN);
}

// Keys that the kernel keeps for a user (keyrings(7)). The C library has no functions for these calls. Each returns -1
// and errno on failure; on systems without such keys, errno is ENOSYS.
#if defined(__linux__)
#define VAULTFILE_KEY_CALL(...) syscall(__VA_ARGS__)
#else
#define VAULTFILE_KEY_CALL(...) (errno = ENOSYS, -1L)
#endif

// Whether an error of these calls means that there is no such key, or that it has ended.
static inline int vaultfile_key_is_gone(int error) {
#if defined(__linux__)
    return error == ENOKEY || error == EKEYEXPIRED || error == EKEYREVOKED;
#else
    return error == ENOENT;
#endif
}

// Makes a key in the keyring of this process. Returns its number.
static inline long vaultfile_key_add(const char *name, const void *bytes, size_t count) {
    return VAULTFILE_KEY_CALL(SYS_add_key, "user", name, bytes, count, KEY_SPEC_PROCESS_KEYRING);
}

// Ends a key after this many seconds.
static inline long vaultfile_key_expire(long key, unsigned seconds) {
    return VAULTFILE_KEY_CALL(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, seconds);
}

// Lets all processes of the user see, read, find and end a key. Others than the user get no rights.
static inline long vaultfile_key_share(long key) {
    return VAULTFILE_KEY_CALL(SYS_keyctl, KEYCTL_SETPERM, key, 0x3f2b0000);
}

// Puts a key into the user's keyring, in the place of one that has the same name.
static inline long vaultfile_key_link(long key) {
    return VAULTFILE_KEY_CALL(SYS_keyctl, KEYCTL_LINK, key, KEY_SPEC_USER_KEYRING);
}

// The number of a key in the user's keyring.
static inline long vaultfile_key_find(const char *name) {
    return VAULTFILE_KEY_CALL(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name, 0);
}

// Reads a key. Returns the number of its bytes, even if there was no room for all of them.
static inline long vaultfile_key_read(long key, void *bytes, size_t count) {
    return VAULTFILE_KEY_CALL(SYS_keyctl, KEYCTL_READ, key, bytes, count);
}

// Reads the numbers of the keys in the user's keyring, four bytes each. Returns the number of all these bytes, even if
// there was no room for them.
static inline long vaultfile_key_list(void *numbers, size_t count) {
    return VAULTFILE_KEY_CALL(SYS_keyctl, KEYCTL_READ, KEY_SPEC_USER_KEYRING, numbers, count);
}

// Describes a key: its type, owner, group and permissions, each with a semicolon behind it, its name, and NUL. Returns
// the number of the bytes, even if there was no room for all of them.
static inline long vaultfile_key_describe(long key, void *text, size_t count) {
    return VAULTFILE_KEY_CALL(SYS_keyctl, KEYCTL_DESCRIBE, key, text, count);
}

// Takes a key out of the user's keyring.
static inline long vaultfile_key_unlink(long key) {
    return VAULTFILE_KEY_CALL(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING);
}

// Ends a key at once, for all processes.
static inline long vaultfile_key_invalidate(long key) {
    return VAULTFILE_KEY_CALL(SYS_keyctl, KEYCTL_INVALIDATE, key);
}
