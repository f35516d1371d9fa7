// libfuse3, which is loaded when it is needed: no other verb pays for it at its start, and the command runs where it is
// not installed. The types come from its header, so a call with wrong arguments does not compile. Nothing here links
// the library.
#pragma once

#if defined(__linux__)

// The functions below are those that are neither macros nor have several versions in the library: they mean the same in
// every libfuse3. The loop over requests, which has had three forms, is our own.
// Its `off_t` has 64 bits. On all systems of 64 bits it has them without _FILE_OFFSET_BITS, which would give this module
// other types than the rest of the package has.
#define FUSE_USE_VERSION 35

#include <dlfcn.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <unistd.h>

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
#define VAULTFILE_FUSE_LIBRARY "libfuse3.so.4"
#else
#define VAULTFILE_FUSE_LIBRARY "libfuse3.so.3"
#endif

#define VAULTFILE_FUSE_FUNCTIONS(F) \
    F(session_mount) \
    F(session_unmount) \
    F(session_destroy) \
    F(session_exited) \
    F(session_receive_buf) \
    F(session_process_buf) \
    F(set_log_func) \
    F(req_userdata) \
    F(reply_err) \
    F(reply_none) \
    F(reply_entry) \
    F(reply_attr) \
    F(reply_readlink) \
    F(reply_open) \
    F(reply_buf) \
    F(reply_statfs) \
    F(add_direntry)

// A pointer to each function. The compiler takes the types from the library's own header.
struct vaultfile_fuse {
    // Newer headers have a macro of this name.
    struct fuse_session *(*session_new)(struct fuse_args *, const struct fuse_lowlevel_ops *, size_t, void *);
#define VAULTFILE_POINTER(name) __typeof__(fuse_##name) *name;
    VAULTFILE_FUSE_FUNCTIONS(VAULTFILE_POINTER)
#undef VAULTFILE_POINTER
};

// Loads the library, and fills the table. Returns NULL, or what is missing.
static inline const char *vaultfile_fuse_load(struct vaultfile_fuse *table) {
    // A program that has its libraries in itself has no loader. With the library would come a second C library, and
    // memory that one of them gives must not go back to the other.
    if (getauxval(AT_BASE) == 0) return "a program that can load libraries";
    void *library = dlopen(VAULTFILE_FUSE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) return VAULTFILE_FUSE_LIBRARY;
#define VAULTFILE_LOAD(name) \
    if (!(*(void **)&table->name = dlsym(library, "fuse_" #name))) return "fuse_" #name " in " VAULTFILE_FUSE_LIBRARY;
    VAULTFILE_LOAD(session_new)
    VAULTFILE_FUSE_FUNCTIONS(VAULTFILE_LOAD)
#undef VAULTFILE_LOAD
    return NULL;
}

// Fills a status. Swift may not see the members of its times.
static inline void vaultfile_fuse_stat(
    struct stat *status, uint64_t inode, uint32_t mode, uint32_t links, uint64_t size, int64_t seconds,
    uint32_t nanoseconds
) {
    memset(status, 0, sizeof(*status));
    status->st_ino = inode;
    status->st_mode = mode;
    status->st_nlink = links;
    status->st_uid = getuid();
    status->st_gid = getgid();
    status->st_size = (off_t)size;
    status->st_blksize = 1 << 16;
    status->st_blocks = (blkcnt_t)(size / 512 + (size % 512 != 0));
    status->st_mtim.tv_sec = seconds;
    status->st_mtim.tv_nsec = nanoseconds;
    status->st_ctim = status->st_atim = status->st_mtim;
}

// Detaches a mount at once, also if its files are open. -1 and errno on failure.
static inline int vaultfile_fuse_detach(const char *path) { return umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW); }

#endif
