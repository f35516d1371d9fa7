// The types and numbers of libarchive, and a table of its functions. The library itself is loaded when it is needed:
// linking it would make each start of the command slower.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__linux__)
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define VAULTFILE_ARCHIVE_FUNCTIONS(F) \
    F(archive_error_string) \
    F(archive_errno) \
    F(archive_entry_new) \
    F(archive_entry_free) \
    F(archive_entry_clear) \
    F(archive_entry_copy_pathname) \
    F(archive_entry_copy_sourcepath) \
    F(archive_entry_copy_hardlink) \
    F(archive_entry_copy_symlink) \
    F(archive_entry_filetype) \
    F(archive_entry_size) \
    F(archive_entry_set_size) \
    F(archive_entry_unset_size) \
    F(archive_entry_unset_atime) \
    F(archive_entry_unset_ctime) \
    F(archive_entry_unset_birthtime) \
    F(archive_entry_set_dev) \
    F(archive_entry_set_ino64) \
    F(archive_entry_set_nlink) \
    F(archive_entry_perm) \
    F(archive_entry_set_perm) \
    F(archive_entry_set_fflags) \
    F(archive_entry_acl_clear) \
    F(archive_entry_xattr_clear) \
    F(archive_entry_xattr_reset) \
    F(archive_entry_xattr_next) \
    F(archive_entry_xattr_add_entry) \
    F(archive_entry_sparse_reset) \
    F(archive_entry_sparse_next) \
    F(archive_entry_sparse_clear) \
    F(archive_read_disk_new) \
    F(archive_read_disk_set_symlink_physical) \
    F(archive_read_disk_set_standard_lookup) \
    F(archive_read_disk_set_behavior) \
    F(archive_read_disk_entry_from_file) \
    F(archive_read_new) \
    F(archive_read_support_format_tar) \
    F(archive_read_open) \
    F(archive_read_next_header2) \
    F(archive_read_data_block) \
    F(archive_read_free) \
    F(archive_write_new) \
    F(archive_write_set_format_pax) \
    F(archive_write_set_format_option) \
    F(archive_write_set_bytes_per_block) \
    F(archive_write_set_bytes_in_last_block) \
    F(archive_write_open) \
    F(archive_write_header) \
    F(archive_write_data) \
    F(archive_write_data_block) \
    F(archive_write_finish_entry) \
    F(archive_write_close) \
    F(archive_write_free) \
    F(archive_write_disk_new) \
    F(archive_write_disk_set_options) \
    F(archive_write_disk_set_standard_lookup)

// A pointer to each function. The compiler takes the types from libarchive's own headers.
struct vaultfile_archive {
#define VAULTFILE_POINTER(name) __typeof__(name) *name;
    VAULTFILE_ARCHIVE_FUNCTIONS(VAULTFILE_POINTER)
#undef VAULTFILE_POINTER
};

#if defined(__APPLE__)
#define VAULTFILE_ARCHIVE_LIBRARY "libarchive.dylib"
#else
#define VAULTFILE_ARCHIVE_LIBRARY "libarchive.so.13"
#endif

// Loads the library, and fills the table. Returns NULL, or what is missing: the library, or the name of a function.
static inline const char *vaultfile_archive_load(struct vaultfile_archive *table) {
    void *library = dlopen(VAULTFILE_ARCHIVE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) return VAULTFILE_ARCHIVE_LIBRARY;
#define VAULTFILE_LOAD(name) \
    if (!(table->name = (__typeof__(name) *)dlsym(library, #name))) return #name;
    VAULTFILE_ARCHIVE_FUNCTIONS(VAULTFILE_LOAD)
#undef VAULTFILE_LOAD
    return NULL;
}

// The most bytes of a path that vaultfile_archive_place gives, with its NUL.
#define VAULTFILE_LONGEST_PLACE 1024

// A path by which libarchive finds what it asks a path of: lists of access of folders, and what cannot be opened. Returns
// 0 or an error number.
static inline int vaultfile_archive_place(int file, char *path, size_t size) {
    if (!path || size < VAULTFILE_LONGEST_PLACE) return ENAMETOOLONG;
#if defined(__APPLE__)
    return fcntl(file, F_GETPATH, path) == 0 ? 0 : errno;
#else
    return snprintf(path, size, "/proc/self/fd/%d", file) > 0 ? 0 : EIO;
#endif
}

// The number of the mount that an open file is reached by; 0 if the system does not say it.
static inline unsigned long long vaultfile_archive_mount(int file) {
#if defined(__linux__) && defined(STATX_MNT_ID)
    struct statx found;
    // AT_EMPTY_PATH, which <fcntl.h> has only with _GNU_SOURCE.
    const int empty_path = 0x1000;
    if (syscall(SYS_statx, file, "", empty_path, STATX_MNT_ID, &found) != 0) return 0;
    return found.stx_mask & STATX_MNT_ID ? found.stx_mnt_id : 0;
#else
    (void)file;
    return 0;
#endif
}

// When a file was made, in nanoseconds: a number that a new file does not share with the removed one whose inode it has.
// 0 if the system does not say it. `name` is one in the folder, and a link is not followed; "" is the open file itself.
static inline uint64_t vaultfile_archive_birth(int file, const char *name) {
#if defined(__linux__)
    struct statx found;
    // AT_EMPTY_PATH and AT_SYMLINK_NOFOLLOW, of which <fcntl.h> has the first only with _GNU_SOURCE.
    const int flags = 0x1000 | 0x100;
    if (syscall(SYS_statx, file, name, flags, STATX_BTIME, &found) != 0) return 0;
    if (!(found.stx_mask & STATX_BTIME)) return 0;
    return (uint64_t)found.stx_btime.tv_sec * 1000000000 + found.stx_btime.tv_nsec;
#else
    (void)file;
    (void)name;
    return 0;
#endif
}

// A locale whose characters are UTF-8, and that differs in nothing else; NULL if the system has none. libarchive converts
// names from the locale's characters to UTF-8 and back. In the locale "C" each name that is not ASCII would fail.
static inline void *vaultfile_utf8_locale(void) {
    static const char *const names[] = {"C.UTF-8", "UTF-8", "en_US.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        locale_t locale = newlocale(LC_CTYPE_MASK, names[i], (locale_t)0);
        if (locale) return locale;
    }
    return NULL;
}

// Gives this thread the locale.
static inline void vaultfile_use_locale(void *locale) { uselocale((locale_t)locale); }
