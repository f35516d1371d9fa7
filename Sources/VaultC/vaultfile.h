/*
 * libvaultfile: encrypted containers of which any range can be read, and whose keys change by two small writes.
 *
 * The format is in Spec/FORMAT.md; Documentation/C.md shows how to begin. Link with `pkg-config --libs libvaultfile`.
 *
 * Errors. A call that can fail returns NULL, or an error, which the caller frees with vaultfile_error_free. After an
 * error, every result that the call would have given is NULL or 0. Programs decide by vaultfile_error_status or
 * vaultfile_error_name. Nothing is thrown through a call, and no call ends the process, except where the system has no
 * memory for a handle of a few hundred bytes.
 *
 * Handles. The types below are incomplete: a handle is a value that only the library understands, and not an address.
 * A handle that is NULL, was freed, or is of another type gives the error invalidArgument. Freeing such a handle does
 * nothing. What is freed while another thread uses it lives until that call ends. A handle that is made from others,
 * such as a reader from keys, does not need them afterwards.
 *
 * Bytes. Every array comes with its count, which may be 0; then the pointer may be NULL. Texts with a count are UTF-8
 * and need no zero at their end. A `const char *` without a count ends with a zero: paths, as the system has them, and
 * names. The library keeps no pointer after a call returns, except the callbacks and their contexts.
 *
 * Threads. Any thread may call with any handle. Calls on one reader run side by side. Calls on one writer, encryptor or
 * decryptor wait for each other. A process that was forked from one with threads calls nothing before exec.
 *
 * Secrets. The library keeps them in locked memory and wipes them. Wipe your own copies: vaultfile_wipe. No error, no
 * report and no vaultfile_data holds a key, a passphrase or an identity; where a call returns a secret, the caller gives
 * the memory for it. Plaintext is in ordinary memory.
 *
 * Reports are objects of JSON on one line. Members may be added, and are never removed.
 *
 * Compatibility. A program that was compiled with this header runs with every later libvaultfile.so.N of the same N,
 * without being compiled again: functions, numbers and names of errors are added, and never changed or removed. Names
 * and numbers that a program does not know can appear at any time, so a switch needs a default. A change that breaks
 * this gets another N. Before version 1.0.0 of vaultfile, N is 0, and only this promise holds: each change that breaks
 * it is in CHANGELOG.md. The format has a promise of its own, in README.md.
 */
#ifndef VAULTFILE_H
#define VAULTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of this header; vaultfile_version gives that of the library. */
#define VAULTFILE_VERSION "0.1.0"

#if defined(__GNUC__) || defined(__clang__)
#define VAULTFILE_RESULT __attribute__((warn_unused_result))
#else
#define VAULTFILE_RESULT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What went wrong: name, status, message, place. */
typedef struct vaultfile_error vaultfile_error;
/* Bytes that a call returns. */
typedef struct vaultfile_data vaultfile_data;
/* How a container is made, opened or changed. NULL stands for the defaults. */
typedef struct vaultfile_options vaultfile_options;
/* Secrets that open containers. */
typedef struct vaultfile_keys vaultfile_keys;
/* Who can open a container; or which slots are removed from it. */
typedef struct vaultfile_recipients vaultfile_recipients;
/* Reads any range of a container. */
typedef struct vaultfile_reader vaultfile_reader;
/* Writes a container to a file. */
typedef struct vaultfile_writer vaultfile_writer;
/* Turns plaintext that comes in pieces into a container that goes in pieces. */
typedef struct vaultfile_encryptor vaultfile_encryptor;
/* Turns a container that comes in pieces into plaintext that goes in pieces. */
typedef struct vaultfile_decryptor vaultfile_decryptor;
/* Keys, recipients, identities and groups with names, as a keyring had them when it was opened. */
typedef struct vaultfile_keyring vaultfile_keyring;
/* Changes to a keyring that are made together. */
typedef struct vaultfile_change vaultfile_change;

/* ---- The library ---- */

/* The version of the library, such as "0.1.0". Always valid. */
const char *vaultfile_version(void);

/* The library that encrypts, with its version. Always valid. */
const char *vaultfile_engine(void);

/* How many handles the program has not freed yet. For tests of the program: the library refers to what belongs to a
 * handle, so a checker of memory does not report it as definitely lost. */
size_t vaultfile_handle_count(void);

/* Overwrites bytes with zeros, in a way that no compiler leaves out. */
void vaultfile_wipe(void *bytes, size_t count);

/* ---- Errors ---- */

/* The numbers of errors. The names and their meanings are in Spec/FORMAT.md, chapter 16.2, and in Spec/KEYRING.md; those
 * from 101 on are not errors of the Spec. */
enum vaultfile_status {
    VAULTFILE_OK = 0,
    /* Containers. */
    VAULTFILE_NOT_VAULTFILE = 1,           /* the input does not begin or end like a container */
    VAULTFILE_UNSUPPORTED_VERSION = 2,     /* the version of the format is unknown */
    VAULTFILE_UNSUPPORTED_SUITE = 3,       /* the suite of primitives is unknown */
    VAULTFILE_UNSUPPORTED_COMPRESSION = 4, /* the compression is unknown */
    VAULTFILE_UNSUPPORTED_FLAGS = 5,       /* a flag is unknown */
    VAULTFILE_HEADER_DAMAGED = 6,          /* no usable header copy is intact */
    VAULTFILE_HEADER_MALFORMED = 7,        /* an intact header copy breaks a rule */
    VAULTFILE_COPIES_DISAGREE = 8,         /* the header copies belong to different containers */
    VAULTFILE_UNEXPECTED_STATE = 9,        /* no header copy is of the state that the pin requires */
    VAULTFILE_LIMIT_EXCEEDED = 10,         /* it would cost more than the limits allow */
    VAULTFILE_WRONG_KEY = 11,              /* no given secret opens it with the given context */
    VAULTFILE_HEADER_FORGED = 12,          /* the header was changed without the file key */
    VAULTFILE_RECORD_DAMAGED = 13,         /* a record was changed or moved */
    VAULTFILE_MANIFEST_MALFORMED = 14,     /* the manifest breaks a rule */
    VAULTFILE_UNSUPPORTED_MEMBER = 15,     /* the manifest has a member that must be known */
    VAULTFILE_MANIFEST_MISMATCH = 16,      /* the lengths of the manifest are wrong */
    VAULTFILE_CONTENT_MISMATCH = 17,       /* the SHA-256 of the plaintext is wrong */
    VAULTFILE_PACKING_MALFORMED = 18,      /* the packed stream breaks a rule */
    VAULTFILE_PADDING_NOT_ZERO = 19,       /* a byte that must be zero is not */
    VAULTFILE_FOOTER_DAMAGED = 20,         /* the footer is not that of this container */
    VAULTFILE_TRUNCATED = 21,              /* the container ends too early */
    VAULTFILE_TRAILING_DATA = 22,          /* something follows the footer */
    VAULTFILE_RANGE_INVALID = 23,          /* a range is not within the plaintext */
    VAULTFILE_INDEX_MISMATCH = 24,         /* the index of a tar stream is wrong */
    VAULTFILE_BAD_KEY = 25,                /* a text or bytes are no key, recipient or identity */
    VAULTFILE_BAD_PASSPHRASE = 26,         /* a passphrase has 1 to 1024 bytes */
    VAULTFILE_BAD_CONTEXT = 27,            /* a context has at most 65,535 bytes */
    VAULTFILE_TOO_LARGE = 28,              /* more than a container can hold */
    VAULTFILE_DOES_NOT_FIT = 29,           /* the slots do not fit a header */
    VAULTFILE_MIXED_RECIPIENTS = 30,       /* post-quantum and classical public keys together */
    VAULTFILE_PLUGIN_FAILED = 31,          /* an age plugin would be needed; the library starts none */
    VAULTFILE_HEADER_DETACHED = 32,        /* the slots are in a header file, and none was given */
    VAULTFILE_NOT_DETACHED = 33,           /* a header file was given for a container that has its own slots */
    /* Changing keys. */
    VAULTFILE_LAST_SLOT = 51,              /* nobody could open the container */
    VAULTFILE_CONSENT_NEEDED = 52,         /* somebody would lose access; an option agrees to it */
    VAULTFILE_HARD_LINKS = 53,             /* the file has other names, which would keep the old file */
    VAULTFILE_GENERATION_EXHAUSTED = 54,   /* the header cannot be changed any more */
    VAULTFILE_COPIES_CONFLICT = 55,        /* the header copies contradict each other */
    VAULTFILE_ROTATION_UNFINISHED = 56,    /* an interrupted change, whose new slots do not open */
    /* Keyrings. */
    VAULTFILE_KEYRING_MALFORMED = 71,      /* a keyring breaks a rule */
    VAULTFILE_KEYRING_MISMATCH = 72,       /* the two files of a keyring do not belong together */
    VAULTFILE_KEYRING_UNPROTECTED = 73,    /* nothing protects the keyring */
    VAULTFILE_KEYRING_PROTECTED = 74,      /* something protects the keyring already */
    VAULTFILE_NO_SUCH_KEY = 75,            /* it is not in the keyring */
    VAULTFILE_KEY_DESTROYED = 76,          /* it was destroyed */
    VAULTFILE_NO_CURRENT_KEY = 77,         /* no key is current */
    VAULTFILE_KEY_EXISTS = 78,             /* the keyring has it already */
    VAULTFILE_KEY_NAME_TAKEN = 79,         /* something else has the name */
    /* Files, arguments, the system. */
    VAULTFILE_INVALID_ARGUMENT = 101,      /* a handle, a pointer, a text or a combination of options is wrong */
    VAULTFILE_INPUT_FAILED = 102,          /* the input cannot be read */
    VAULTFILE_OUTPUT_FAILED = 103,         /* the output cannot be written */
    VAULTFILE_OUTPUT_EXISTS = 104,         /* the output exists */
    VAULTFILE_OUTPUT_NOT_REPLACEABLE = 105, /* the output is not a regular file */
    VAULTFILE_IN_USE = 106,                /* another process changes it at this moment */
    VAULTFILE_MEMORY_UNAVAILABLE = 107,    /* the system has no memory left */
    VAULTFILE_KEY_STORE_UNAVAILABLE = 108, /* the system cannot keep keyrings unlocked */
    VAULTFILE_FORKED = 109,                /* the writer belongs to another process */
    VAULTFILE_CALLBACK_FAILED = 110,       /* a callback returned a status: vaultfile_error_callback */
    VAULTFILE_OTHER = 199                  /* an error whose name has no number yet */
};

/* The number of an error; VAULTFILE_OK for NULL. */
int32_t vaultfile_error_status(vaultfile_error *error);

/* The name of an error, as the Spec has it, such as "wrongKey"; "" for NULL. Valid until the error is freed. */
const char *vaultfile_error_name(vaultfile_error *error);

/* The check that failed, in English, on one line, without a full stop. For people and logs. Valid until the error is
 * freed. */
const char *vaultfile_error_message(vaultfile_error *error);

/* The offset in the container of what failed, in bytes. Returns false if the error has no place. */
bool vaultfile_error_offset(vaultfile_error *error, uint64_t *offset);

/* The index of the record that failed. Returns false if it was no record. */
bool vaultfile_error_record(vaultfile_error *error, uint64_t *record);

/* The errno of the system call that failed; 0 if it was none. */
int32_t vaultfile_error_errno(vaultfile_error *error);

/* The status that a callback returned; 0 unless the status of the error is VAULTFILE_CALLBACK_FAILED. */
int32_t vaultfile_error_callback(vaultfile_error *error);

void vaultfile_error_free(vaultfile_error *error);

/* ---- Bytes that a call returns ---- */

/* The bytes, with a zero after them that is not counted. Valid until the data is freed. NULL for NULL. */
const void *vaultfile_data_bytes(vaultfile_data *data);

/* How many bytes there are. */
size_t vaultfile_data_count(vaultfile_data *data);

/* Wipes the bytes and frees them. */
void vaultfile_data_free(vaultfile_data *data);

/* ---- Options ---- */

/* Numbers. A flag is 0 or 1. */
enum vaultfile_number {
    /* Making a container. */
    VAULTFILE_CHUNK_SIZE = 1,      /* bytes of a full record: a power of two, 4096 to 8,388,608; default 65,536 */
    VAULTFILE_HEADER_CAPACITY = 2, /* bytes of a header copy; default: what the slots need, with room for one more */
    VAULTFILE_COMPRESS = 3,        /* flag: compress by DEFLATE */
    VAULTFILE_DIGEST = 4,          /* flag: keep the SHA-256 of the plaintext */
    VAULTFILE_TAR_INDEX = 5,       /* flag: keep an index if the plaintext is a tar stream */
    VAULTFILE_MIX_RECIPIENTS = 6,  /* flag: allow post-quantum and classical public keys together */
    VAULTFILE_MODIFIED = 7,        /* metadata: seconds since 1970, negative before */
    VAULTFILE_PERMISSIONS = 8,     /* metadata: mode bits within 0777 */
    VAULTFILE_REPLACE = 9,         /* flag: replace an existing output */
    VAULTFILE_JOBS = 10,           /* threads of one call; default: one for each processor */
    VAULTFILE_SPARSE = 11,         /* flag: zeros of a decrypted file become holes */
    VAULTFILE_READ_SIZE = 12,      /* bytes that a long read asks its callback for at once; default 524,288 */
    /* Limits on what opening may cost; they give limitExceeded. */
    VAULTFILE_SERVICE_LIMITS = 20, /* flag: those for services that open containers of strangers; sets all below */
    VAULTFILE_MAX_PLAINTEXT = 21,  /* bytes of plaintext */
    VAULTFILE_MAX_CHUNK_SIZE = 22,
    VAULTFILE_MAX_PASSPHRASE_SLOTS = 23,
    VAULTFILE_MAX_PASSES = 24,
    VAULTFILE_MAX_MEMORY_KIB = 25,
    VAULTFILE_MAX_STRETCHING_KIB = 26,
    VAULTFILE_MAX_PUBLIC_KEY_SLOTS = 27,
    VAULTFILE_MAX_STANZA_SLOTS = 28,
    /* Changing a container. */
    VAULTFILE_DRY_RUN = 40,        /* flag: report what would change, and write nothing */
    VAULTFILE_REMOVE_OTHERS = 41,  /* flag: remove, or drop, every slot that opens for nobody who is added */
    VAULTFILE_LOSE_ACCESS = 42,    /* flag: go on if no given secret opens the container afterwards */
    VAULTFILE_LOSE_SLOTS = 43,     /* flag: re-encryption may lose slots that are not named */
    VAULTFILE_KEEP_SLOTS = 44,     /* flag: re-encryption makes a new slot for each given secret that opens one */
    VAULTFILE_BREAK_LINKS = 45,    /* flag: go on if the file has other names */
    VAULTFILE_KEEP_COPY = 46,      /* which header copy to keep if they conflict: 1 the front, 2 the tail */
    /* Keyrings. */
    VAULTFILE_ALLOW_UNPROTECTED = 60, /* flag: accept a keyring that nothing protects */
    VAULTFILE_ALLOW_UNLOCKED = 61     /* flag: use a keyring that the command has unlocked for a time */
};

/* Bytes. */
enum vaultfile_text {
    VAULTFILE_CONTEXT = 101,      /* binds a container to its place: it opens with no other; at most 65,535 bytes */
    VAULTFILE_NAME = 102,         /* metadata: the name of the file, one path component */
    VAULTFILE_CONTENT_TYPE = 103, /* metadata: 1 to 127 printable ASCII characters */
    VAULTFILE_PIN = 104,          /* the state of the header that the caller remembers: VAULTFILE-PIN-1… */
    VAULTFILE_HEADER_PIN = 105,   /* the same of a header file */
    VAULTFILE_HEADER_FILE = 106,  /* the bytes of the header file of a container whose slots are in one */
    VAULTFILE_HEADER_PATH = 107   /* its path; it takes the place of the bytes, and they of it */
};

vaultfile_error *vaultfile_options_new(vaultfile_options **options) VAULTFILE_RESULT;

/* Sets a number. An option that a call does not use has no effect on it. invalidArgument for an unknown option, or a
 * value that it cannot have. */
vaultfile_error *vaultfile_options_set_number(vaultfile_options *options, int32_t option, int64_t value) VAULTFILE_RESULT;

/* Sets bytes. badContext for a context that is too long; otherwise as for numbers. */
vaultfile_error *vaultfile_options_set_bytes(
    vaultfile_options *options, int32_t option, const void *bytes, size_t count) VAULTFILE_RESULT;

/* How far a call is. For vaultfile_rotate, _repair, _detach and _attach, `done` is in bytes of the container, and they call
 * this only where they write the whole container anew. For all others it is in bytes of plaintext. Called now and then, on
 * the thread of the call. Returns 0, or a status of the program's own: then the call ends with the error callbackFailed,
 * which has it, and what it has begun is as after any other error. It must not call the library. */
typedef int32_t (*vaultfile_progress_callback)(void *context, uint64_t done);

/* Sets the callback of the calls that work on a whole container: ..._file, ..._descriptor, reader_verify, reader_damage,
 * rotate, repair, reencrypt, detach, attach. NULL removes it. It and `context` must stay valid as long as calls use these
 * options. */
vaultfile_error *vaultfile_options_set_progress(
    vaultfile_options *options, vaultfile_progress_callback progress, void *context) VAULTFILE_RESULT;

void vaultfile_options_free(vaultfile_options *options);

/* ---- Keys that open ---- */

vaultfile_error *vaultfile_keys_new(vaultfile_keys **keys) VAULTFILE_RESULT;

/* Adds a symmetric key of 32 bytes. badKey for anything else. */
vaultfile_error *vaultfile_keys_add_key(vaultfile_keys *keys, const void *key, size_t count) VAULTFILE_RESULT;

/* Adds the key in the text of a key file: VAULTFILE-KEY-1…. badKey. */
vaultfile_error *vaultfile_keys_add_key_file(vaultfile_keys *keys, const void *text, size_t count) VAULTFILE_RESULT;

/* Adds a passphrase of 1 to 1024 bytes. The command brings texts to Unicode's form NFC first. badPassphrase. */
vaultfile_error *vaultfile_keys_add_passphrase(vaultfile_keys *keys, const void *bytes, size_t count) VAULTFILE_RESULT;

/* Adds the identities in the text of a file: AGE-SECRET-KEY-…, or an OpenSSH private key of the type ssh-ed25519 that
 * has no passphrase. badKey; pluginFailed for the identity of a plugin. */
vaultfile_error *vaultfile_keys_add_identities(vaultfile_keys *keys, const void *text, size_t count) VAULTFILE_RESULT;

/* Adds the keys and identities of a keyring. */
vaultfile_error *vaultfile_keys_add_keyring(vaultfile_keys *keys, vaultfile_keyring *keyring) VAULTFILE_RESULT;

/* What a callback is asked for. */
enum vaultfile_request {
    VAULTFILE_ASK_KEYS = 1,       /* symmetric keys; their IDs are given */
    VAULTFILE_ASK_IDENTITIES = 2, /* identities */
    VAULTFILE_ASK_PASSPHRASES = 3 /* passphrases, last of all; a program may ask its user here */
};

/* Adds secrets to `answer`, by vaultfile_keys_add_…; other secrets than those asked for are ignored. To add none is not
 * an error: the container may have another slot. `ids` are `id_count` IDs of 16 bytes each from a header that is not
 * authenticated yet, and NULL for other requests. `answer` is valid until the callback returns, which must not free it.
 * Called on the thread of the call that opens, once for each request and header copy at most.
 *
 * Returns 0, or a status of the program's own: then the call ends with the error callbackFailed, which has it. */
typedef int32_t (*vaultfile_key_callback)(
    void *context, int32_t request, const void *ids, size_t id_count, vaultfile_keys *answer);

/* Sets the callback; NULL removes it. It and `context` must stay valid as long as calls use these keys. */
vaultfile_error *vaultfile_keys_set_callback(
    vaultfile_keys *keys, vaultfile_key_callback callback, void *context) VAULTFILE_RESULT;

void vaultfile_keys_free(vaultfile_keys *keys);

/* ---- Recipients ---- */

vaultfile_error *vaultfile_recipients_new(vaultfile_recipients **recipients) VAULTFILE_RESULT;

/* Adds a symmetric key of 32 bytes. badKey. */
vaultfile_error *vaultfile_recipients_add_key(
    vaultfile_recipients *recipients, const void *key, size_t count) VAULTFILE_RESULT;

/* Adds the key in the text of a key file. badKey. */
vaultfile_error *vaultfile_recipients_add_key_file(
    vaultfile_recipients *recipients, const void *text, size_t count) VAULTFILE_RESULT;

/* Adds a passphrase, with the cost of a try: Argon2id with so many passes over so many KiB. 0 and 0 are the standard
 * cost, 3 passes over 256 MiB. badPassphrase; making the container gives invalidArgument for a cost that the format does
 * not have. */
vaultfile_error *vaultfile_recipients_add_passphrase(
    vaultfile_recipients *recipients, const void *bytes, size_t count, uint32_t passes,
    uint32_t memory_kib) VAULTFILE_RESULT;

/* Adds people by their public keys, in the text of a recipients file: age1…, age1pq1… or ssh-ed25519 …, one a line;
 * lines that begin with # and empty lines are ignored. If `hidden`, the slots do not show whose they are. badKey also
 * for a line that cannot be used: nobody is left out silently. pluginFailed for the recipient of a plugin. */
vaultfile_error *vaultfile_recipients_add_public_keys(
    vaultfile_recipients *recipients, const void *text, size_t count, bool hidden) VAULTFILE_RESULT;

/* Adds the owners of identities, in a text as for vaultfile_keys_add_identities. */
vaultfile_error *vaultfile_recipients_add_identities(
    vaultfile_recipients *recipients, const void *text, size_t count, bool hidden) VAULTFILE_RESULT;

/* Adds what a keyring has under a name: a key, a recipient, an identity, or the members of a group without those who are
 * former. NULL is the current key. noSuchKey, keyDestroyed, noCurrentKey; lastSlot if nobody is left in the group. */
vaultfile_error *vaultfile_recipients_add_from_keyring(
    vaultfile_recipients *recipients, vaultfile_keyring *keyring, const char *name) VAULTFILE_RESULT;

/* Names slots by their ID of 16 bytes, to remove them: no secret is needed. Nobody can be added by it. */
vaultfile_error *vaultfile_recipients_add_slot_id(
    vaultfile_recipients *recipients, const void *id, size_t count) VAULTFILE_RESULT;

void vaultfile_recipients_free(vaultfile_recipients *recipients);

/* ---- New secrets ---- */

enum {
    VAULTFILE_KEY_COUNT = 32,       /* bytes of a symmetric key */
    VAULTFILE_ID_COUNT = 16,        /* bytes of an ID */
    VAULTFILE_SECRET_TEXT_MOST = 4096 /* bytes that hold every text of a secret that a call here writes */
};

/* Writes a fresh key of 32 bytes. `count` is 32. */
vaultfile_error *vaultfile_generate_key(void *key, size_t count) VAULTFILE_RESULT;

/* Writes the ID of a key, 16 bytes, which headers show. */
vaultfile_error *vaultfile_key_id(const void *key, size_t key_count, void *id, size_t count) VAULTFILE_RESULT;

/* Writes the text of a key file with this key, and its count. invalidArgument if `capacity` is too small. */
vaultfile_error *vaultfile_key_file(
    const void *key, size_t key_count, void *text, size_t capacity, size_t *count) VAULTFILE_RESULT;

/* Writes the text of a file with a fresh identity, and its count. If `post_quantum`, a quantum computer does not break
 * it (X-Wing); otherwise it is of X25519. */
vaultfile_error *vaultfile_generate_identity(
    bool post_quantum, void *text, size_t capacity, size_t *count) VAULTFILE_RESULT;

/* The recipients of identities, age1… or age1pq1…, one a line. */
vaultfile_error *vaultfile_identity_recipients(
    const void *text, size_t count, vaultfile_data **recipients) VAULTFILE_RESULT;

/* ---- Reading ---- */

/* Reads at most `capacity` bytes at an offset, and sets their count: 0 only at the end. If it returns 0 and sets no count,
 * or one that is too large, the call ends with invalidArgument. Called from several threads at once. It may read another
 * container, and must not use the handles of the call.
 *
 * Returns 0; VAULTFILE_MEDIUM_FAILED if the medium fails there: the error is inputFailed, and vaultfile_reader_damage goes
 * on after it; or another status, with which the call ends: callbackFailed. */
typedef int32_t (*vaultfile_read_callback)(
    void *context, uint64_t offset, void *buffer, size_t capacity, size_t *count);

#define VAULTFILE_MEDIUM_FAILED INT32_MIN

/* Opens a container in a file. The error is the first check that failed. */
vaultfile_error *vaultfile_reader_open_path(
    const char *path, vaultfile_keys *keys, vaultfile_options *options, vaultfile_reader **reader) VAULTFILE_RESULT;

/* Opens a container in memory, of which it makes a copy: memoryUnavailable if there is no room for it. */
vaultfile_error *vaultfile_reader_open_memory(
    const void *bytes, size_t count, vaultfile_keys *keys, vaultfile_options *options,
    vaultfile_reader **reader) VAULTFILE_RESULT;

/* Opens a container of `size` bytes that a callback reads. The callback and its context must stay valid until the reader
 * is freed and no call uses it. A long read asks for VAULTFILE_READ_SIZE bytes at once, and each thread of a call holds as
 * many: use more if every request takes a while, as to an object store. More than 64 MiB counts as 64 MiB. */
vaultfile_error *vaultfile_reader_open_callback(
    vaultfile_read_callback read, void *context, uint64_t size, vaultfile_keys *keys, vaultfile_options *options,
    vaultfile_reader **reader) VAULTFILE_RESULT;

/* The length of the plaintext in bytes. */
vaultfile_error *vaultfile_reader_length(vaultfile_reader *reader, uint64_t *length) VAULTFILE_RESULT;

/* Reads `count` bytes of plaintext from `offset` on, which are authenticated. After an error the buffer holds nothing of
 * use. rangeInvalid, recordDamaged, truncated, packingMalformed; what the source gives. */
vaultfile_error *vaultfile_reader_read(
    vaultfile_reader *reader, uint64_t offset, void *buffer, size_t count) VAULTFILE_RESULT;

/* Reads and authenticates everything. The error is that of the first damage. Uses VAULTFILE_JOBS. */
vaultfile_error *vaultfile_reader_verify(vaultfile_reader *reader, vaultfile_options *options) VAULTFILE_RESULT;

/* Reads and authenticates everything, also after damage. It succeeds even if everything is damaged. The report has
 * `damage`, a list of objects with `error`, `message`, and the lost `range` of the plaintext. */
vaultfile_error *vaultfile_reader_damage(
    vaultfile_reader *reader, vaultfile_options *options, vaultfile_data **report) VAULTFILE_RESULT;

/* A report with `health`, `manifest` and `header`, which are authenticated. Their members are those of the
 * command's JSON: Documentation/JSON.md. */
vaultfile_error *vaultfile_reader_info(vaultfile_reader *reader, vaultfile_data **report) VAULTFILE_RESULT;

void vaultfile_reader_free(vaultfile_reader *reader);

/* ---- What a container shows without a key ---- */

/* A report, in which nothing is authenticated. notVaultfile, unsupportedVersion. */
vaultfile_error *vaultfile_inspect_path(const char *path, vaultfile_data **report) VAULTFILE_RESULT;
vaultfile_error *vaultfile_inspect_memory(const void *bytes, size_t count, vaultfile_data **report) VAULTFILE_RESULT;
vaultfile_error *vaultfile_inspect_callback(
    vaultfile_read_callback read, void *context, uint64_t size, vaultfile_data **report) VAULTFILE_RESULT;

/* The same of a header file (Spec, chapter 23): a report with the members of `front`. The errors of vaultfile_verify_header
 * that need no key. */
vaultfile_error *vaultfile_inspect_header(const void *header, size_t count, vaultfile_data **report) VAULTFILE_RESULT;

/* Opens a header file by itself, without its body. The report is authenticated, and has the `pin` to remember.
 * notVaultfile, truncated, trailingData, headerDamaged, headerMalformed, wrongKey, headerForged, unexpectedState. */
vaultfile_error *vaultfile_verify_header(
    const void *header, size_t count, vaultfile_keys *keys, vaultfile_options *options,
    vaultfile_data **report) VAULTFILE_RESULT;

/* ---- Whole containers ---- */

/* Encrypts bytes in memory. */
vaultfile_error *vaultfile_encrypt(
    const void *plaintext, size_t count, vaultfile_recipients *recipients, vaultfile_options *options,
    vaultfile_data **container) VAULTFILE_RESULT;

/* Decrypts a container in memory. Set VAULTFILE_MAX_PLAINTEXT for containers of strangers. */
vaultfile_error *vaultfile_decrypt(
    const void *container, size_t count, vaultfile_keys *keys, vaultfile_options *options,
    vaultfile_data **plaintext) VAULTFILE_RESULT;

/* Encrypts a file into a new file with mode 0600, which appears when it is complete, or not at all. Uses VAULTFILE_JOBS. */
vaultfile_error *vaultfile_encrypt_file(
    const char *input, const char *output, vaultfile_recipients *recipients, vaultfile_options *options) VAULTFILE_RESULT;

/* Decrypts a file in the same way. Uses VAULTFILE_JOBS and VAULTFILE_SPARSE. */
vaultfile_error *vaultfile_decrypt_file(
    const char *input, const char *output, vaultfile_keys *keys, vaultfile_options *options) VAULTFILE_RESULT;

/* Encrypts what comes from a descriptor until its end: a file, a pipe, a socket. Several threads do the work. */
vaultfile_error *vaultfile_encrypt_descriptor(
    int32_t input, int32_t output, vaultfile_recipients *recipients, vaultfile_options *options) VAULTFILE_RESULT;

/* Decrypts in the same way. After an error, what was written is authentic, and may be incomplete. */
vaultfile_error *vaultfile_decrypt_descriptor(
    int32_t input, int32_t output, vaultfile_keys *keys, vaultfile_options *options) VAULTFILE_RESULT;

/* ---- Writing to a file ---- */

/* Begins a container in a file with mode 0600. Nothing has the name before vaultfile_writer_commit. */
vaultfile_error *vaultfile_writer_open(
    const char *path, vaultfile_recipients *recipients, vaultfile_options *options,
    vaultfile_writer **writer) VAULTFILE_RESULT;

/* Takes the next bytes of the plaintext. After an error, every further call gives the same error. */
vaultfile_error *vaultfile_writer_write(vaultfile_writer *writer, const void *bytes, size_t count) VAULTFILE_RESULT;

/* Completes the container, makes it durable, and gives it its name. Afterwards the writer can only be freed. */
vaultfile_error *vaultfile_writer_commit(vaultfile_writer *writer) VAULTFILE_RESULT;

/* Without a commit, no file remains. */
void vaultfile_writer_free(vaultfile_writer *writer);

/* ---- Containers whose slots are in a header file ---- */

/* Without its header file nobody opens such a container (Spec, chapter 23). Each call gives the bytes of the header file
 * before a byte of the container: store them durably before the container, and remove them if it fails. To open the
 * container, set VAULTFILE_HEADER_FILE or VAULTFILE_HEADER_PATH. */
vaultfile_error *vaultfile_encrypt_detached(
    const void *plaintext, size_t count, vaultfile_recipients *recipients, vaultfile_options *options,
    vaultfile_data **header, vaultfile_data **container) VAULTFILE_RESULT;
vaultfile_error *vaultfile_writer_open_detached(
    const char *path, vaultfile_recipients *recipients, vaultfile_options *options,
    vaultfile_data **header, vaultfile_writer **writer) VAULTFILE_RESULT;
vaultfile_error *vaultfile_encryptor_new_detached(
    vaultfile_recipients *recipients, vaultfile_options *options, vaultfile_data **header,
    vaultfile_encryptor **encryptor) VAULTFILE_RESULT;

/* Moves the slots of a container to a header file, which is durable before the container loses them. NULL for the name
 * that the command looks for. If it is interrupted, the same call finishes it. VAULTFILE_HEADER_CAPACITY is the size of
 * the header file; VAULTFILE_LOSE_SLOTS agrees that slots are lost that only a header file of this name has. The report is
 * that of a rotation, with `headerFile`, its path, and `headerPin`; it may be NULL. */
vaultfile_error *vaultfile_detach(
    const char *path, const char *header, vaultfile_keys *keys, vaultfile_options *options,
    vaultfile_data **report) VAULTFILE_RESULT;

/* Moves them back, and then removes the header file. notDetached if the container has slots of its own. */
vaultfile_error *vaultfile_attach(
    const char *path, const char *header, vaultfile_keys *keys, vaultfile_options *options,
    vaultfile_data **report) VAULTFILE_RESULT;

/* ---- Streams ---- */

vaultfile_error *vaultfile_encryptor_new(
    vaultfile_recipients *recipients, vaultfile_options *options, vaultfile_encryptor **encryptor) VAULTFILE_RESULT;

/* Takes all `count` bytes of plaintext, and writes at most `capacity` bytes of the container to `output`. What has no
 * room comes first in the next call: if `*output_count` is `capacity`, call again with no bytes. After an error, every
 * further call gives the same error. */
vaultfile_error *vaultfile_encryptor_update(
    vaultfile_encryptor *encryptor, const void *bytes, size_t count, void *output, size_t capacity,
    size_t *output_count) VAULTFILE_RESULT;

/* Says that the plaintext ends here. The rest of the container comes from vaultfile_encryptor_update with no bytes, until
 * `*output_count` is 0. */
vaultfile_error *vaultfile_encryptor_finish(vaultfile_encryptor *encryptor) VAULTFILE_RESULT;

void vaultfile_encryptor_free(vaultfile_encryptor *encryptor);

vaultfile_error *vaultfile_decryptor_new(
    vaultfile_keys *keys, vaultfile_options *options, vaultfile_decryptor **decryptor) VAULTFILE_RESULT;

/* Takes the next bytes of a container in the same way, and writes plaintext, which is authenticated. Only after
 * vaultfile_decryptor_finish it is certain that it is complete. One record of a compressed container can hold a thousand
 * times its size: what has no room in `output` is kept in memory, up to 1 GiB, then the error is limitExceeded. */
vaultfile_error *vaultfile_decryptor_update(
    vaultfile_decryptor *decryptor, const void *bytes, size_t count, void *output, size_t capacity,
    size_t *output_count) VAULTFILE_RESULT;

/* Says that the container ends here. truncated if it does not. Plaintext that had no room still comes. */
vaultfile_error *vaultfile_decryptor_finish(vaultfile_decryptor *decryptor) VAULTFILE_RESULT;

void vaultfile_decryptor_free(vaultfile_decryptor *decryptor);

/* ---- Changing who can open a container ---- */

/* Changes slots in place, by two small writes: removes those of `removing`, then adds those of `adding`; NULL for none.
 * An interrupted call loses nothing, and the same call finishes it. Store an added key durably before. `report` may be
 * NULL. Errors: those of Vault.rotate in Errors.md of VaultFile's documentation. */
vaultfile_error *vaultfile_rotate(
    const char *path, vaultfile_recipients *adding, vaultfile_recipients *removing, vaultfile_keys *keys,
    vaultfile_options *options, vaultfile_data **report) VAULTFILE_RESULT;

/* Brings a container to the current key of a keyring, and removes the slots of its other keys. `keys` may be NULL: the
 * keyring opens it. */
vaultfile_error *vaultfile_rotate_to_current(
    const char *path, vaultfile_keyring *keyring, vaultfile_keys *keys, vaultfile_options *options,
    vaultfile_data **report) VAULTFILE_RESULT;

/* Changes slots of a header file (Spec, chapter 23) in memory: `header` are its bytes, and `rotated` gets those of the new
 * one, which replaces it as a whole: by a rename, or by a write to an object store that is made only if the object is
 * still the one that was read. If there is nothing to change, they are the same bytes. The body is not needed. Older
 * versions of the object still open it with their keys, until they are destroyed. `report` has `newHeader`, which says
 * whether something changed, `added`, `removed`, `kept` and `header`; it may be NULL. Nothing is written, so
 * VAULTFILE_DRY_RUN has no effect. If VAULTFILE_HEADER_PIN is not set, VAULTFILE_PIN has its meaning. */
vaultfile_error *vaultfile_rotate_header(
    const void *header, size_t count, vaultfile_recipients *adding, vaultfile_recipients *removing,
    vaultfile_keys *keys, vaultfile_options *options, vaultfile_data **rotated, vaultfile_data **report) VAULTFILE_RESULT;

/* The same of a header file in a file system, which is replaced under a lock. */
vaultfile_error *vaultfile_rotate_header_file(
    const char *path, vaultfile_recipients *adding, vaultfile_recipients *removing, vaultfile_keys *keys,
    vaultfile_options *options, vaultfile_data **report) VAULTFILE_RESULT;

/* Brings a header file in memory to the current key of a keyring. */
vaultfile_error *vaultfile_rotate_header_to_current(
    const void *header, size_t count, vaultfile_keyring *keyring, vaultfile_keys *keys, vaultfile_options *options,
    vaultfile_data **rotated, vaultfile_data **report) VAULTFILE_RESULT;

/* Makes both header copies and the end of a container whole again. */
vaultfile_error *vaultfile_repair(
    const char *path, vaultfile_keys *keys, vaultfile_options *options, vaultfile_data **report) VAULTFILE_RESULT;

/* Encrypts the contents again under a new file key, for these recipients only. consentNeeded for slots that would be lost
 * and are not in `dropping`, which may be NULL. A container that VAULTFILE_HEADER_PATH opens gets a new header file in the
 * folder of that one, which is removed: the report has `headerFile`, its path, and `headerPin`. */
vaultfile_error *vaultfile_reencrypt(
    const char *path, vaultfile_recipients *recipients, vaultfile_recipients *dropping, vaultfile_keys *keys,
    vaultfile_options *options, vaultfile_data **report) VAULTFILE_RESULT;

/* ---- Keyrings ---- */

/* Makes a keyring with a first key, which is current. The unlockers are symmetric keys and passphrases. outputExists. */
vaultfile_error *vaultfile_keyring_create(
    const char *path, vaultfile_recipients *unlockers, const char *first_name) VAULTFILE_RESULT;

/* Opens a keyring; `keys` open the file `.key` beside it. Keep the handle: a passphrase takes long. */
vaultfile_error *vaultfile_keyring_open(
    const char *path, vaultfile_keys *keys, vaultfile_options *options, vaultfile_keyring **keyring) VAULTFILE_RESULT;

/* A report with `entries`, a list of objects with `name`, `state`, `id`, `created`, `recipient`, `members`. */
vaultfile_error *vaultfile_keyring_entries(vaultfile_keyring *keyring, vaultfile_data **report) VAULTFILE_RESULT;

/* Writes the text of a file with a key or an identity of the keyring, by name, and its count. */
vaultfile_error *vaultfile_keyring_export(
    vaultfile_keyring *keyring, const char *name, void *text, size_t capacity, size_t *count) VAULTFILE_RESULT;

void vaultfile_keyring_free(vaultfile_keyring *keyring);

/* Changes are collected, and made together or not at all by vaultfile_change_apply. */
vaultfile_error *vaultfile_change_new(vaultfile_change **change) VAULTFILE_RESULT;
/* A new key, which becomes current. */
vaultfile_error *vaultfile_change_generate_key(vaultfile_change *change, const char *name) VAULTFILE_RESULT;
/* An existing key of 32 bytes. */
vaultfile_error *vaultfile_change_add_key(
    vaultfile_change *change, const char *name, const void *key, size_t count, bool current) VAULTFILE_RESULT;
/* Someone to encrypt to: age1…, age1pq1…, ssh-ed25519 …. */
vaultfile_error *vaultfile_change_add_recipient(
    vaultfile_change *change, const char *name, const void *text, size_t count) VAULTFILE_RESULT;
/* A fresh identity. */
vaultfile_error *vaultfile_change_generate_identity(
    vaultfile_change *change, const char *name, bool post_quantum) VAULTFILE_RESULT;
/* The one identity of a text. */
vaultfile_error *vaultfile_change_add_identity(
    vaultfile_change *change, const char *name, const void *text, size_t count) VAULTFILE_RESULT;
/* A group, new or with other members: names, with commas between. */
vaultfile_error *vaultfile_change_set_group(
    vaultfile_change *change, const char *name, const char *members) VAULTFILE_RESULT;
vaultfile_error *vaultfile_change_remove_group(vaultfile_change *change, const char *name) VAULTFILE_RESULT;
/* Makes a key current, or a former recipient one again. */
vaultfile_error *vaultfile_change_use(vaultfile_change *change, const char *name) VAULTFILE_RESULT;
/* Retires a key, which still opens; or makes a recipient former. */
vaultfile_error *vaultfile_change_retire(vaultfile_change *change, const char *name) VAULTFILE_RESULT;
/* Destroys a key or an identity. What only it opened is lost for ever. */
vaultfile_error *vaultfile_change_destroy(vaultfile_change *change, const char *name) VAULTFILE_RESULT;
/* Makes the changes. The report says what is left of destroyed secrets on the disk; it may be NULL. */
vaultfile_error *vaultfile_change_apply(
    vaultfile_change *change, const char *path, vaultfile_keys *keys, vaultfile_options *options,
    vaultfile_data **report) VAULTFILE_RESULT;
void vaultfile_change_free(vaultfile_change *change);

/* Changes what unlocks a keyring. `adding` and `removing` are symmetric keys and passphrases; NULL for none. */
vaultfile_error *vaultfile_keyring_change_unlockers(
    const char *path, vaultfile_recipients *adding, vaultfile_recipients *removing, vaultfile_keys *keys,
    vaultfile_data **report) VAULTFILE_RESULT;

/* Makes a new unlock key, which only `unlockers` open: copies of the old file `.key` do not help any more. */
vaultfile_error *vaultfile_keyring_protect(
    const char *path, vaultfile_recipients *unlockers, bool renewing, vaultfile_keys *keys, vaultfile_options *options,
    vaultfile_data **report) VAULTFILE_RESULT;

#ifdef __cplusplus
}
#endif

#endif
