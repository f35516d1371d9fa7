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
#include <fuse3/fuse_lowlevel.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mount.h>

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
#define VAULTFILE_FUSE_LIBRARY "libfuse3.so.4"
#else
#define VAULTFILE_FUSE_LIBRARY "libfuse3.so.3"
#endif

// The functions of the library that are used.
struct vaultfile_fuse {
    // Newer headers have a macro of this name.
    struct fuse_session *(*session_new)(struct fuse_args *, const struct fuse_lowlevel_ops *, size_t, void *);
    __typeof__(&fuse_session_mount) session_mount;
    __typeof__(&fuse_session_unmount) session_unmount;
    __typeof__(&fuse_session_destroy) session_destroy;
    __typeof__(&fuse_session_exited) session_exited;
    __typeof__(&fuse_session_receive_buf) session_receive_buf;
    __typeof__(&fuse_session_process_buf) session_process_buf;
    __typeof__(&fuse_set_log_func) set_log_func;
    __typeof__(&fuse_req_userdata) req_userdata;
    __typeof__(&fuse_reply_err) reply_err;
    __typeof__(&fuse_reply_none) reply_none;
    __typeof__(&fuse_reply_entry) reply_entry;
    __typeof__(&fuse_reply_attr) reply_attr;
    __typeof__(&fuse_reply_readlink) reply_readlink;
    __typeof__(&fuse_reply_open) reply_open;
    __typeof__(&fuse_reply_buf) reply_buf;
    __typeof__(&fuse_reply_statfs) reply_statfs;
    __typeof__(&fuse_add_direntry) add_direntry;
};

// Loads the library. Returns NULL, or what is missing.
static inline const char *vaultfile_fuse_load(struct vaultfile_fuse *fuse) {
    // A program that has its libraries in itself has no loader. With the library would come a second C library, and
    // memory that one of them gives must not go back to the other.
    if (getauxval(AT_BASE) == 0) return "a program that loads libraries";
    void *const library = dlopen(VAULTFILE_FUSE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return VAULTFILE_FUSE_LIBRARY;
#define VAULTFILE_FUSE_FIND(name) \
    if ((*(void **)&fuse->name = dlsym(library, "fuse_" #name)) == NULL) return "fuse_" #name " in " VAULTFILE_FUSE_LIBRARY
    VAULTFILE_FUSE_FIND(session_new);
    VAULTFILE_FUSE_FIND(session_mount);
    VAULTFILE_FUSE_FIND(session_unmount);
    VAULTFILE_FUSE_FIND(session_destroy);
    VAULTFILE_FUSE_FIND(session_exited);
    VAULTFILE_FUSE_FIND(session_receive_buf);
    VAULTFILE_FUSE_FIND(session_process_buf);
    VAULTFILE_FUSE_FIND(set_log_func);
    VAULTFILE_FUSE_FIND(req_userdata);
    VAULTFILE_FUSE_FIND(reply_err);
    VAULTFILE_FUSE_FIND(reply_none);
    VAULTFILE_FUSE_FIND(reply_entry);
    VAULTFILE_FUSE_FIND(reply_attr);
    VAULTFILE_FUSE_FIND(reply_readlink);
    VAULTFILE_FUSE_FIND(reply_open);
    VAULTFILE_FUSE_FIND(reply_buf);
    VAULTFILE_FUSE_FIND(reply_statfs);
    VAULTFILE_FUSE_FIND(add_direntry);
#undef VAULTFILE_FUSE_FIND
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
