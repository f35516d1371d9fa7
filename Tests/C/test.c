/*
 * Uses every function of vaultfile.h, rightly and wrongly. `make library-check` runs it alone, under valgrind and with
 * AddressSanitizer.
 *
 * usage: test FOLDER [little-memory]
 *
 * FOLDER is empty; files come into it. With little-memory only the calls run that must live with little memory: a checker
 * of memory takes more than they leave.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vaultfile.h"

static int checks;
static int failures;

#define CHECK(condition)                                                               \
    do {                                                                               \
        ++checks;                                                                      \
        if (!(condition)) {                                                            \
            ++failures;                                                                \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);  \
        }                                                                              \
    } while (0)

/* Checks that a call succeeds. */
#define OK(call)                                                                       \
    do {                                                                               \
        vaultfile_error *const ok_error = (call);                                      \
        ++checks;                                                                      \
        if (ok_error != NULL) {                                                        \
            ++failures;                                                                \
            fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call,          \
                vaultfile_error_name(ok_error), vaultfile_error_message(ok_error));    \
            vaultfile_error_free(ok_error);                                            \
        }                                                                              \
    } while (0)

/* Checks that a call fails with a status. */
#define FAILS(wanted, call)                                                            \
    do {                                                                               \
        vaultfile_error *const fails_error = (call);                                   \
        ++checks;                                                                      \
        if (vaultfile_error_status(fails_error) != (wanted)) {                         \
            ++failures;                                                                \
            fprintf(stderr, "%s:%d: %s: gives %d %s: %s\n", __FILE__, __LINE__, #call, \
                (int)vaultfile_error_status(fails_error), vaultfile_error_name(fails_error), \
                vaultfile_error_message(fails_error));                                 \
        }                                                                              \
        CHECK(fails_error == NULL || vaultfile_error_message(fails_error)[0] != 0);    \
        vaultfile_error_free(fails_error);                                             \
    } while (0)

static const char *folder;
static unsigned char key[VAULTFILE_KEY_COUNT];
static unsigned char *text; /* the plaintext of most tests */
static const size_t text_count = 1000003;
static char cheap[] = "a passphrase";

static const char *at(const char *name) {
    static char paths[4][4096];
    static int next;
    char *const path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static vaultfile_recipients *for_key(void) {
    vaultfile_recipients *recipients;
    OK(vaultfile_recipients_new(&recipients));
    OK(vaultfile_recipients_add_key(recipients, key, sizeof key));
    return recipients;
}

static vaultfile_keys *with_key(void) {
    vaultfile_keys *keys;
    OK(vaultfile_keys_new(&keys));
    OK(vaultfile_keys_add_key(keys, key, sizeof key));
    return keys;
}

static vaultfile_options *option(int32_t number, int64_t value) {
    vaultfile_options *options;
    OK(vaultfile_options_new(&options));
    OK(vaultfile_options_set_number(options, number, value));
    return options;
}

static vaultfile_data *container(vaultfile_options *options) {
    vaultfile_recipients *const recipients = for_key();
    vaultfile_data *made;
    OK(vaultfile_encrypt(text, text_count, recipients, options, &made));
    vaultfile_recipients_free(recipients);
    return made;
}

static void save(const char *path, const void *bytes, size_t count) {
    FILE *const file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

static bool has(vaultfile_data *report, const char *part) {
    const char *const bytes = vaultfile_data_bytes(report);
    const bool found = bytes != NULL && strlen(bytes) == vaultfile_data_count(report) && strstr(bytes, part) != NULL;
    if (!found) fprintf(stderr, "no %s in %s\n", part, bytes == NULL ? "NULL" : bytes);
    return found;
}

static void test_library(void) {
    CHECK(strcmp(vaultfile_version(), VAULTFILE_VERSION) == 0);
    CHECK(strlen(vaultfile_engine()) > 3);
    char secret[] = "secret";
    vaultfile_wipe(secret, sizeof secret);
    CHECK(memcmp(secret, "\0\0\0\0\0\0", sizeof secret) == 0);
    vaultfile_wipe(NULL, 5);
}

static void test_memory(void) {
    vaultfile_options *const options = option(VAULTFILE_DIGEST, 1);
    OK(vaultfile_options_set_bytes(options, VAULTFILE_NAME, "caf\xc3\xa9 \"1\".txt", 13));
    OK(vaultfile_options_set_bytes(options, VAULTFILE_CONTENT_TYPE, "text/plain", 10));
    OK(vaultfile_options_set_number(options, VAULTFILE_MODIFIED, -1));
    OK(vaultfile_options_set_number(options, VAULTFILE_PERMISSIONS, 0640));
    vaultfile_data *const made = container(options);
    vaultfile_keys *const keys = with_key();

    vaultfile_data *found;
    OK(vaultfile_decrypt(vaultfile_data_bytes(made), vaultfile_data_count(made), keys, NULL, &found));
    CHECK(vaultfile_data_count(found) == text_count);
    CHECK(memcmp(vaultfile_data_bytes(found), text, text_count) == 0);
    vaultfile_data_free(found);

    vaultfile_reader *reader;
    OK(vaultfile_reader_open_memory(vaultfile_data_bytes(made), vaultfile_data_count(made), keys, NULL, &reader));
    uint64_t length;
    OK(vaultfile_reader_length(reader, &length));
    CHECK(length == text_count);
    static unsigned char part[70000];
    const size_t offsets[] = {0, 1, 65535, 65536, 500000, 930003};
    for (size_t index = 0; index < sizeof offsets / sizeof *offsets; ++index) {
        OK(vaultfile_reader_read(reader, offsets[index], part, sizeof part));
        CHECK(memcmp(part, text + offsets[index], sizeof part) == 0);
    }
    OK(vaultfile_reader_read(reader, text_count, NULL, 0));
    FAILS(VAULTFILE_RANGE_INVALID, vaultfile_reader_read(reader, text_count - 1, part, 2));
    FAILS(VAULTFILE_RANGE_INVALID, vaultfile_reader_read(reader, UINT64_MAX, part, 2));
    OK(vaultfile_reader_verify(reader, NULL));
    vaultfile_data *report;
    OK(vaultfile_reader_info(reader, &report));
    CHECK(has(report, "\"name\":\"caf\\u00e9 \\\"1\\\".txt\"") && has(report, "\"mode\":\"0640\""));
    CHECK(has(report, "\"modified\":\"1969-12-31T23:59:59Z\"") && has(report, "\"health\":\"intact\""));
    CHECK(has(report, "\"plaintextLength\":1000003") && has(report, "\"digest\":\"") && has(report, "\"pin\":\"VAULT"));
    vaultfile_data_free(report);
    OK(vaultfile_reader_damage(reader, NULL, &report));
    CHECK(has(report, "{\"damage\":[]}"));
    vaultfile_data_free(report);
    vaultfile_reader_free(reader);

    OK(vaultfile_inspect_memory(vaultfile_data_bytes(made), vaultfile_data_count(made), &report));
    CHECK(has(report, "\"authenticated\":false") && has(report, "\"kind\":\"key\""));
    vaultfile_data_free(report);
    FAILS(VAULTFILE_NOT_VAULTFILE, vaultfile_inspect_memory("no container", 12, &report));
    CHECK(report == NULL);

    /* A changed byte is noticed, and its place is known. */
    unsigned char *const damaged = malloc(vaultfile_data_count(made));
    memcpy(damaged, vaultfile_data_bytes(made), vaultfile_data_count(made));
    damaged[200000] ^= 1;
    OK(vaultfile_reader_open_memory(damaged, vaultfile_data_count(made), keys, NULL, &reader));
    vaultfile_error *const error = vaultfile_reader_verify(reader, NULL);
    CHECK(vaultfile_error_status(error) == VAULTFILE_RECORD_DAMAGED);
    CHECK(strcmp(vaultfile_error_name(error), "recordDamaged") == 0);
    uint64_t offset = 0, record = 0;
    CHECK(vaultfile_error_offset(error, &offset) && offset > 100000 && offset <= 200000);
    CHECK(vaultfile_error_record(error, &record) && record == 2);
    CHECK(vaultfile_error_errno(error) == 0 && vaultfile_error_callback(error) == 0);
    vaultfile_error_free(error);
    OK(vaultfile_reader_damage(reader, NULL, &report));
    CHECK(has(report, "\"error\":\"recordDamaged\"") && has(report, "\"range\":[131072,196608]"));
    vaultfile_data_free(report);
    vaultfile_reader_free(reader);
    FAILS(VAULTFILE_RECORD_DAMAGED, vaultfile_decrypt(damaged, vaultfile_data_count(made), keys, NULL, &found));
    CHECK(found == NULL);
    /* As a stream, what is right before the damage comes out whole, however little room there is. Then the error stays. */
    const size_t right = 131072;
    unsigned char *const room = malloc(right + 1000);
    vaultfile_decryptor *stream;
    size_t out;
    OK(vaultfile_decryptor_new(keys, NULL, &stream));
    OK(vaultfile_decryptor_update(stream, damaged, vaultfile_data_count(made), room, 1000, &out));
    size_t got = out;
    while (out > 0 && got < right) {
        OK(vaultfile_decryptor_update(stream, NULL, 0, room + got, 1000, &out));
        got += out;
    }
    CHECK(got == right && memcmp(room, text, right) == 0);
    for (int call = 0; call < 2; call++)
        FAILS(VAULTFILE_RECORD_DAMAGED, vaultfile_decryptor_update(stream, NULL, 0, room, 1000, &out));
    FAILS(VAULTFILE_RECORD_DAMAGED, vaultfile_decryptor_finish(stream));
    vaultfile_decryptor_free(stream);
    free(room);
    free(damaged);

    vaultfile_data_free(made);
    vaultfile_keys_free(keys);
    vaultfile_options_free(options);
}

static void test_streams(void) {
    vaultfile_options *const options = option(VAULTFILE_COMPRESS, 1);
    OK(vaultfile_options_set_bytes(options, VAULTFILE_CONTEXT, "here", 4));
    vaultfile_recipients *const recipients = for_key();
    vaultfile_keys *const keys = with_key();
    for (size_t piece = 1; piece <= 1000000; piece = piece * 97 + 3) {
        vaultfile_encryptor *encryptor;
        vaultfile_decryptor *decryptor;
        OK(vaultfile_encryptor_new(recipients, options, &encryptor));
        OK(vaultfile_decryptor_new(keys, options, &decryptor));
        unsigned char *const back = calloc(1, text_count);
        const size_t wanted = piece < 100 ? 5000 : text_count;
        static unsigned char middle[3001];
        size_t given = 0, got = 0, count, out;
        bool is_finished = false, is_done = false;
        while (!is_done) {
            const size_t next = wanted - given < piece ? wanted - given : piece;
            if (next == 0 && !is_finished) {
                OK(vaultfile_encryptor_finish(encryptor));
                is_finished = true;
            }
            OK(vaultfile_encryptor_update(encryptor, text + given, next, middle, sizeof middle, &count));
            given += next;
            is_done = is_finished && count == 0;
            OK(vaultfile_decryptor_update(decryptor, middle, count, back + got, text_count - got, &out));
            got += out;
        }
        OK(vaultfile_decryptor_finish(decryptor));
        CHECK(got == wanted && memcmp(back, text, wanted) == 0);
        FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_encryptor_update(encryptor, text, 1, middle, 1, &count));
        FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_encryptor_finish(encryptor));
        FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_decryptor_finish(decryptor));
        free(back);
        vaultfile_encryptor_free(encryptor);
        vaultfile_decryptor_free(decryptor);
    }

    /* A cut container is no complete one, and what is not a container fails again and again. */
    vaultfile_data *const made = container(options);
    vaultfile_decryptor *decryptor;
    size_t out;
    unsigned char *const back = malloc(text_count);
    OK(vaultfile_decryptor_new(keys, options, &decryptor));
    OK(vaultfile_decryptor_update(decryptor, vaultfile_data_bytes(made), vaultfile_data_count(made) - 1, back, text_count, &out));
    FAILS(VAULTFILE_TRUNCATED, vaultfile_decryptor_finish(decryptor));
    vaultfile_decryptor_free(decryptor);
    OK(vaultfile_decryptor_new(keys, options, &decryptor));
    unsigned char rubbish[5000] = {7};
    FAILS(VAULTFILE_NOT_VAULTFILE, vaultfile_decryptor_update(decryptor, rubbish, sizeof rubbish, back, 1, &out));
    FAILS(VAULTFILE_NOT_VAULTFILE, vaultfile_decryptor_update(decryptor, rubbish, sizeof rubbish, back, 1, &out));
    FAILS(VAULTFILE_NOT_VAULTFILE, vaultfile_decryptor_finish(decryptor));
    vaultfile_decryptor_free(decryptor);
    /* Another context does not open. */
    vaultfile_data *found;
    FAILS(VAULTFILE_WRONG_KEY, vaultfile_decrypt(vaultfile_data_bytes(made), vaultfile_data_count(made), keys, NULL, &found));
    /* Plaintext that has no room is kept, and comes later. */
    OK(vaultfile_decryptor_new(keys, options, &decryptor));
    OK(vaultfile_decryptor_update(decryptor, vaultfile_data_bytes(made), vaultfile_data_count(made), NULL, 0, &out));
    CHECK(out == 0);
    OK(vaultfile_decryptor_finish(decryptor));
    size_t got = 0;
    do {
        OK(vaultfile_decryptor_update(decryptor, NULL, 0, back + got, text_count - got < 77777 ? text_count - got : 77777, &out));
        got += out;
    } while (out > 0);
    CHECK(got == text_count && memcmp(back, text, got) == 0);
    vaultfile_decryptor_free(decryptor);
    free(back);
    vaultfile_data_free(made);
    vaultfile_keys_free(keys);
    vaultfile_recipients_free(recipients);
    vaultfile_options_free(options);
}

static void test_files(void) {
    vaultfile_recipients *const recipients = for_key();
    vaultfile_keys *const keys = with_key();
    vaultfile_writer *writer;
    vaultfile_reader *reader;
    OK(vaultfile_writer_open(at("w.vault"), recipients, NULL, &writer));
    for (size_t done = 0; done < text_count; done += 100000)
        OK(vaultfile_writer_write(writer, text + done, text_count - done < 100000 ? text_count - done : 100000));
    FAILS(VAULTFILE_INPUT_FAILED, vaultfile_reader_open_path(at("w.vault"), keys, NULL, &reader));
    OK(vaultfile_writer_commit(writer));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_writer_commit(writer));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_writer_write(writer, text, 1));
    vaultfile_writer_free(writer);
    OK(vaultfile_reader_open_path(at("w.vault"), keys, NULL, &reader));
    static unsigned char part[1000];
    OK(vaultfile_reader_read(reader, 12345, part, sizeof part));
    CHECK(memcmp(part, text + 12345, sizeof part) == 0);
    vaultfile_reader_free(reader);

    /* A writer without a commit leaves nothing. */
    OK(vaultfile_writer_open(at("none.vault"), recipients, NULL, &writer));
    OK(vaultfile_writer_write(writer, text, text_count));
    vaultfile_writer_free(writer);
    CHECK(access(at("none.vault"), F_OK) != 0);
    FAILS(VAULTFILE_OUTPUT_EXISTS, vaultfile_writer_open(at("w.vault"), recipients, NULL, &writer));
    CHECK(writer == NULL);

    save(at("plain"), text, text_count);
    FAILS(VAULTFILE_OUTPUT_EXISTS, vaultfile_encrypt_file(at("plain"), at("w.vault"), recipients, NULL));
    vaultfile_options *const replace = option(VAULTFILE_REPLACE, 1);
    OK(vaultfile_encrypt_file(at("plain"), at("w.vault"), recipients, replace));
    OK(vaultfile_decrypt_file(at("w.vault"), at("back"), keys, NULL));
    struct stat status;
    CHECK(stat(at("back"), &status) == 0 && status.st_size == (off_t)text_count && (status.st_mode & 0777) == 0600);
    unsigned char *const zeros = calloc(1, 1 << 20);
    save(at("zeros"), zeros, 1 << 20);
    free(zeros);
    vaultfile_options *const holes = option(VAULTFILE_JOBS, 2);
    OK(vaultfile_encrypt_file(at("zeros"), at("z.vault"), recipients, holes));
    OK(vaultfile_decrypt_file(at("z.vault"), at("full"), keys, holes));
    OK(vaultfile_options_set_number(holes, VAULTFILE_SPARSE, 1));
    OK(vaultfile_decrypt_file(at("z.vault"), at("sparse"), keys, holes));
    CHECK(stat(at("full"), &status) == 0 && status.st_size == 1 << 20 && status.st_blocks >= 2048);
    CHECK(stat(at("sparse"), &status) == 0 && status.st_size == 1 << 20 && status.st_blocks < 200);
    vaultfile_options_free(holes);
    vaultfile_error *const error = vaultfile_decrypt_file(at("missing"), at("other"), keys, NULL);
    CHECK(vaultfile_error_status(error) == VAULTFILE_INPUT_FAILED && vaultfile_error_errno(error) == ENOENT);
    CHECK(!vaultfile_error_offset(error, NULL) && !vaultfile_error_record(error, NULL));
    vaultfile_error_free(error);

    const int input = open(at("plain"), O_RDONLY), output = open(at("d.vault"), O_RDWR | O_CREAT, 0600);
    OK(vaultfile_encrypt_descriptor(input, output, recipients, NULL));
    CHECK(lseek(output, 0, SEEK_SET) == 0);
    const int back = open(at("d.back"), O_RDWR | O_CREAT, 0600);
    OK(vaultfile_decrypt_descriptor(output, back, keys, NULL));
    CHECK(lseek(back, 0, SEEK_END) == (off_t)text_count);
    close(input), close(output), close(back);
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_decrypt_descriptor(-1, 1, keys, NULL));
    FAILS(VAULTFILE_INPUT_FAILED, vaultfile_decrypt_descriptor(999, 1, keys, NULL));

    vaultfile_data *report;
    OK(vaultfile_inspect_path(at("w.vault"), &report));
    CHECK(has(report, "\"copiesAreIdentical\":true"));
    vaultfile_data_free(report);
    vaultfile_options_free(replace);
    vaultfile_keys_free(keys);
    vaultfile_recipients_free(recipients);
}

/* ---- Callbacks ---- */

struct source {
    const unsigned char *bytes;
    size_t count;
    uint64_t failing; /* reads of this byte return `status` */
    int32_t status;
    size_t claims; /* how many bytes more a read claims to have read */
    bool forgets;  /* whether a read does not set the count */
    size_t largest; /* the most bytes that a read was asked for */
};

static int32_t read_source(void *context, uint64_t offset, void *buffer, size_t capacity, size_t *count) {
    struct source *const source = context;
    if (capacity > source->largest) source->largest = capacity;
    if (source->forgets) return 0;
    *count = 0;
    if (source->status != 0 && source->failing >= offset && source->failing < offset + capacity) return source->status;
    if (offset >= source->count) return 0;
    *count = source->count - offset < capacity ? source->count - offset : capacity;
    memcpy(buffer, source->bytes + offset, *count);
    *count += source->claims;
    return 0;
}

struct giver {
    int32_t status;
    int asked[4];
    bool gives;
};

static int32_t give_keys(void *context, int32_t request, const void *ids, size_t count, vaultfile_keys *answer) {
    struct giver *const giver = context;
    giver->asked[request & 3]++;
    if (giver->status != 0) return giver->status;
    if (request == VAULTFILE_ASK_KEYS) {
        unsigned char id[VAULTFILE_ID_COUNT];
        OK(vaultfile_key_id(key, sizeof key, id, sizeof id));
        CHECK(count == 1 && memcmp(ids, id, sizeof id) == 0);
        if (giver->gives) OK(vaultfile_keys_add_key(answer, key, sizeof key));
    } else {
        CHECK(ids == NULL && count == 0);
    }
    return 0;
}

static void test_callbacks(void) {
    vaultfile_data *const made = container(NULL);
    vaultfile_keys *const keys = with_key();
    struct source source = {vaultfile_data_bytes(made), vaultfile_data_count(made), 0, 0, 0, false, 0};
    vaultfile_reader *reader;
    OK(vaultfile_reader_open_callback(read_source, &source, source.count, keys, NULL, &reader));
    static unsigned char part[300000];
    OK(vaultfile_reader_read(reader, 400000, part, sizeof part));
    CHECK(memcmp(part, text + 400000, sizeof part) == 0);
    CHECK(source.largest > sizeof part && source.largest <= 524288 + 8 * 40);
    /* A long read asks for as much as the program wants. */
    vaultfile_options *options;
    OK(vaultfile_options_new(&options));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_number(options, VAULTFILE_READ_SIZE, 0));
    OK(vaultfile_options_set_number(options, VAULTFILE_READ_SIZE, 1 << 17));
    vaultfile_reader *small;
    OK(vaultfile_reader_open_callback(read_source, &source, source.count, keys, options, &small));
    source.largest = 0;
    OK(vaultfile_reader_read(small, 400000, part, sizeof part));
    CHECK(memcmp(part, text + 400000, sizeof part) == 0);
    CHECK(source.largest > 1 << 16 && source.largest < 1 << 18);
    vaultfile_reader_free(small);
    vaultfile_options_free(options);
    /* The status of a callback passes through. */
    source.failing = 200000;
    source.status = 4711;
    vaultfile_error *error = vaultfile_reader_read(reader, 0, part, sizeof part);
    CHECK(vaultfile_error_status(error) == VAULTFILE_CALLBACK_FAILED && vaultfile_error_callback(error) == 4711);
    vaultfile_error_free(error);
    error = vaultfile_reader_verify(reader, NULL);
    CHECK(vaultfile_error_callback(error) == 4711);
    vaultfile_error_free(error);
    /* A failing medium is damage. */
    source.status = VAULTFILE_MEDIUM_FAILED;
    FAILS(VAULTFILE_INPUT_FAILED, vaultfile_reader_verify(reader, NULL));
    vaultfile_data *report;
    OK(vaultfile_reader_damage(reader, NULL, &report));
    CHECK(has(report, "\"error\":\"inputFailed\""));
    vaultfile_data_free(report);
    /* A callback that lies about what it has read is a mistake of the program, and no damage. */
    source.status = 0;
    source.claims = 1;
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_read(reader, 0, part, sizeof part));
    source.claims = SIZE_MAX / 2;
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_read(reader, 0, part, sizeof part));
    source.claims = 0;
    source.forgets = true;
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_read(reader, 0, part, sizeof part));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_damage(reader, NULL, &report));
    source.forgets = false;
    vaultfile_reader_free(reader);
    OK(vaultfile_inspect_callback(read_source, &source, source.count, &report));
    CHECK(has(report, "\"copiesAreIdentical\":true"));
    vaultfile_data_free(report);
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_open_callback(NULL, NULL, 5, keys, NULL, &reader));

    struct giver giver = {0, {0}, true};
    vaultfile_keys *asked;
    OK(vaultfile_keys_new(&asked));
    OK(vaultfile_keys_set_callback(asked, give_keys, &giver));
    OK(vaultfile_reader_open_callback(read_source, &source, source.count, asked, NULL, &reader));
    CHECK(giver.asked[VAULTFILE_ASK_KEYS] >= 1 && giver.asked[VAULTFILE_ASK_PASSPHRASES] == 0);
    vaultfile_reader_free(reader);
    giver.gives = false;
    FAILS(VAULTFILE_WRONG_KEY, vaultfile_reader_open_callback(read_source, &source, source.count, asked, NULL, &reader));
    giver.status = -3;
    error = vaultfile_reader_open_callback(read_source, &source, source.count, asked, NULL, &reader);
    CHECK(vaultfile_error_callback(error) == -3);
    vaultfile_error_free(error);
    OK(vaultfile_keys_set_callback(asked, NULL, NULL));
    FAILS(VAULTFILE_WRONG_KEY, vaultfile_reader_open_callback(read_source, &source, source.count, asked, NULL, &reader));
    vaultfile_keys_free(asked);
    vaultfile_keys_free(keys);
    vaultfile_data_free(made);
}

/* ---- Progress ---- */

struct listener {
    uint64_t last;
    unsigned calls;
    int32_t status; /* what it returns */
};

static int32_t listen(void *context, uint64_t done) {
    struct listener *const listener = context;
    if (listener->status != 0) return listener->status;
    CHECK(done >= listener->last);
    listener->last = done;
    listener->calls++;
    return 0;
}

/* Whether a call ended with the status of the callback. */
static bool was_ended(vaultfile_error *error) {
    const bool was = vaultfile_error_status(error) == VAULTFILE_CALLBACK_FAILED && vaultfile_error_callback(error) == 77;
    vaultfile_error_free(error);
    return was;
}

static void test_progress(void) {
    vaultfile_recipients *const recipients = for_key();
    vaultfile_keys *const keys = with_key();
    vaultfile_options *const options = option(VAULTFILE_JOBS, 2);
    struct listener listener = {0, 0, 0};
    OK(vaultfile_options_set_progress(options, listen, &listener));
    save(at("heard"), text, text_count);
    OK(vaultfile_encrypt_file(at("heard"), at("heard.vault"), recipients, options));
    CHECK(listener.calls > 0 && listener.last == text_count);
    listener = (struct listener){0, 0, 0};
    OK(vaultfile_decrypt_file(at("heard.vault"), at("heard.again"), keys, options));
    CHECK(listener.calls > 0 && listener.last == text_count);

    vaultfile_reader *reader;
    vaultfile_data *report;
    OK(vaultfile_reader_open_path(at("heard.vault"), keys, NULL, &reader));
    listener = (struct listener){0, 0, 77};
    CHECK(was_ended(vaultfile_encrypt_file(at("heard"), at("ended"), recipients, options)));
    CHECK(was_ended(vaultfile_decrypt_file(at("heard.vault"), at("ended"), keys, options)));
    CHECK(access(at("ended"), F_OK) != 0);
    CHECK(was_ended(vaultfile_reader_verify(reader, options)));
    CHECK(was_ended(vaultfile_reader_damage(reader, options, &report)) && report == NULL);
    CHECK(was_ended(vaultfile_reencrypt(at("heard.vault"), recipients, NULL, keys, options, &report)) && report == NULL);
    OK(vaultfile_reader_verify(reader, NULL));
    listener.status = 0;
    OK(vaultfile_reencrypt(at("heard.vault"), recipients, NULL, keys, options, NULL));
    const unsigned before = listener.calls;
    OK(vaultfile_options_set_progress(options, NULL, NULL));
    OK(vaultfile_reader_verify(reader, options));
    CHECK(listener.calls == before);
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_progress(NULL, listen, &listener));
    vaultfile_reader_free(reader);
    vaultfile_options_free(options);
    vaultfile_keys_free(keys);
    vaultfile_recipients_free(recipients);
}

/* ---- Keys ---- */

static void test_secrets(void) {
    unsigned char other[VAULTFILE_KEY_COUNT], id[VAULTFILE_ID_COUNT];
    OK(vaultfile_generate_key(other, sizeof other));
    CHECK(memcmp(other, key, sizeof key) != 0);
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_generate_key(other, sizeof other - 1));
    OK(vaultfile_key_id(key, sizeof key, id, sizeof id));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_key_id(key, sizeof key, id, sizeof id - 1));
    char file[VAULTFILE_SECRET_TEXT_MOST];
    size_t count;
    OK(vaultfile_key_file(key, sizeof key, file, sizeof file, &count));
    CHECK(count > 60 && memmem(file, count, "VAULTFILE-KEY-1", 15) != NULL);
    size_t none;
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_key_file(key, sizeof key, file, count - 1, &none));
    CHECK(none == 0);

    vaultfile_keys *keys;
    OK(vaultfile_keys_new(&keys));
    OK(vaultfile_keys_add_key_file(keys, file, count));
    FAILS(VAULTFILE_BAD_KEY, vaultfile_keys_add_key_file(keys, file, count - 3));
    FAILS(VAULTFILE_BAD_KEY, vaultfile_keys_add_key(keys, key, 31));
    FAILS(VAULTFILE_BAD_PASSPHRASE, vaultfile_keys_add_passphrase(keys, NULL, 0));
    FAILS(VAULTFILE_BAD_KEY, vaultfile_keys_add_identities(keys, "AGE-SECRET-KEY-1", 16));
    vaultfile_data *const made = container(NULL);
    vaultfile_reader *reader;
    OK(vaultfile_reader_open_memory(vaultfile_data_bytes(made), vaultfile_data_count(made), keys, NULL, &reader));
    vaultfile_reader_free(reader);
    vaultfile_keys_free(keys);
    vaultfile_data_free(made);

    for (int is_post_quantum = 0; is_post_quantum < 2; ++is_post_quantum) {
        OK(vaultfile_generate_identity(is_post_quantum, file, sizeof file, &count));
        vaultfile_data *lines;
        OK(vaultfile_identity_recipients(file, count, &lines));
        CHECK(has(lines, is_post_quantum ? "age1pq1" : "age1"));
        vaultfile_recipients *recipients;
        OK(vaultfile_recipients_new(&recipients));
        OK(vaultfile_recipients_add_public_keys(recipients, vaultfile_data_bytes(lines), vaultfile_data_count(lines), false));
        FAILS(VAULTFILE_BAD_KEY, vaultfile_recipients_add_public_keys(recipients, file, count, false));
        FAILS(VAULTFILE_BAD_KEY, vaultfile_recipients_add_public_keys(recipients, "ssh-rsa AAAA", 12, false));
        vaultfile_data *sealed, *opened;
        OK(vaultfile_encrypt("for you", 7, recipients, NULL, &sealed));
        vaultfile_recipients_free(recipients);
        OK(vaultfile_keys_new(&keys));
        FAILS(VAULTFILE_WRONG_KEY,
            vaultfile_decrypt(vaultfile_data_bytes(sealed), vaultfile_data_count(sealed), keys, NULL, &opened));
        OK(vaultfile_keys_add_identities(keys, file, count));
        OK(vaultfile_decrypt(vaultfile_data_bytes(sealed), vaultfile_data_count(sealed), keys, NULL, &opened));
        CHECK(vaultfile_data_count(opened) == 7 && memcmp(vaultfile_data_bytes(opened), "for you", 8) == 0);
        vaultfile_data_free(opened);
        vaultfile_data_free(sealed);
        /* Hidden: for the owner of the identity, who is not shown. */
        OK(vaultfile_recipients_new(&recipients));
        OK(vaultfile_recipients_add_identities(recipients, file, count, true));
        OK(vaultfile_encrypt(NULL, 0, recipients, NULL, &sealed));
        vaultfile_data *report;
        OK(vaultfile_inspect_memory(vaultfile_data_bytes(sealed), vaultfile_data_count(sealed), &report));
        CHECK(has(report, "\"hidden\":true"));
        vaultfile_data_free(report);
        OK(vaultfile_decrypt(vaultfile_data_bytes(sealed), vaultfile_data_count(sealed), keys, NULL, &opened));
        CHECK(vaultfile_data_count(opened) == 0);
        vaultfile_data_free(opened);
        vaultfile_data_free(sealed);
        vaultfile_recipients_free(recipients);
        vaultfile_keys_free(keys);
        vaultfile_data_free(lines);
    }
    vaultfile_wipe(file, sizeof file);

    /* Passphrases, at the lowest cost that the format has: 2 passes over 19 MiB. */
    vaultfile_recipients *recipients;
    OK(vaultfile_recipients_new(&recipients));
    OK(vaultfile_recipients_add_passphrase(recipients, cheap, strlen(cheap), 2, 19456));
    vaultfile_data *sealed, *opened;
    OK(vaultfile_encrypt(text, 10, recipients, NULL, &sealed));
    OK(vaultfile_keys_new(&keys));
    OK(vaultfile_keys_add_passphrase(keys, cheap, strlen(cheap)));
    OK(vaultfile_decrypt(vaultfile_data_bytes(sealed), vaultfile_data_count(sealed), keys, NULL, &opened));
    vaultfile_data_free(opened);
    vaultfile_options *const limits = option(VAULTFILE_MAX_PASSPHRASE_SLOTS, 0);
    FAILS(VAULTFILE_LIMIT_EXCEEDED,
        vaultfile_decrypt(vaultfile_data_bytes(sealed), vaultfile_data_count(sealed), keys, limits, &opened));
    OK(vaultfile_options_set_number(limits, VAULTFILE_SERVICE_LIMITS, 1));
    OK(vaultfile_options_set_number(limits, VAULTFILE_MAX_PLAINTEXT, 9));
    FAILS(VAULTFILE_LIMIT_EXCEEDED,
        vaultfile_decrypt(vaultfile_data_bytes(sealed), vaultfile_data_count(sealed), keys, limits, &opened));
    vaultfile_options_free(limits);
    vaultfile_keys_free(keys);
    vaultfile_recipients_free(recipients);
    vaultfile_data_free(sealed);
}

static void test_changes(void) {
    vaultfile_data *made = container(NULL);
    save(at("c.vault"), vaultfile_data_bytes(made), vaultfile_data_count(made));
    vaultfile_data_free(made);
    unsigned char other[VAULTFILE_KEY_COUNT], id[VAULTFILE_ID_COUNT];
    OK(vaultfile_generate_key(other, sizeof other));
    OK(vaultfile_key_id(key, sizeof key, id, sizeof id));
    vaultfile_recipients *adding, *removing;
    OK(vaultfile_recipients_new(&adding));
    OK(vaultfile_recipients_add_key(adding, other, sizeof other));
    OK(vaultfile_recipients_new(&removing));
    OK(vaultfile_recipients_add_slot_id(removing, id, sizeof id));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_recipients_add_slot_id(removing, id, 15));
    vaultfile_keys *const old = with_key();
    vaultfile_keys *new;
    OK(vaultfile_keys_new(&new));
    OK(vaultfile_keys_add_key(new, other, sizeof other));
    vaultfile_data *report;

    FAILS(VAULTFILE_WRONG_KEY, vaultfile_rotate(at("c.vault"), NULL, removing, new, NULL, &report));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_rotate(at("c.vault"), removing, NULL, old, NULL, &report));
    FAILS(VAULTFILE_LAST_SLOT, vaultfile_rotate(at("c.vault"), NULL, removing, old, NULL, &report));
    vaultfile_options *const dry = option(VAULTFILE_DRY_RUN, 1);
    OK(vaultfile_rotate(at("c.vault"), adding, removing, old, dry, NULL));
    vaultfile_reader *reader;
    FAILS(VAULTFILE_WRONG_KEY, vaultfile_reader_open_path(at("c.vault"), new, NULL, &reader));
    OK(vaultfile_rotate(at("c.vault"), adding, removing, old, NULL, &report));
    CHECK(has(report, "\"generation\":2") && has(report, "\"newHeader\":true"));
    vaultfile_data_free(report);
    FAILS(VAULTFILE_WRONG_KEY, vaultfile_reader_open_path(at("c.vault"), old, NULL, &reader));
    OK(vaultfile_reader_open_path(at("c.vault"), new, NULL, &reader));
    OK(vaultfile_reader_info(reader, &report));
    vaultfile_reader_free(reader);

    /* The pin of this state refuses the state before. */
    const char *const pin = strstr(vaultfile_data_bytes(report), "VAULTFILE-PIN-1");
    vaultfile_options *const pinned = option(VAULTFILE_JOBS, 1);
    OK(vaultfile_options_set_bytes(pinned, VAULTFILE_PIN, pin, 132));
    vaultfile_data_free(report);
    OK(vaultfile_reader_open_path(at("c.vault"), new, pinned, &reader));
    vaultfile_reader_free(reader);
    OK(vaultfile_rotate(at("c.vault"), NULL, NULL, new, NULL, NULL));
    made = container(NULL);
    save(at("c.old"), vaultfile_data_bytes(made), vaultfile_data_count(made));
    vaultfile_data_free(made);
    FAILS(VAULTFILE_UNEXPECTED_STATE, vaultfile_reader_open_path(at("c.old"), old, pinned, &reader));
    vaultfile_options_free(pinned);

    /* A damaged header copy is repaired. */
    const int file = open(at("c.vault"), O_RDWR);
    CHECK(pwrite(file, "x", 1, 300) == 1);
    close(file);
    OK(vaultfile_reader_open_path(at("c.vault"), new, NULL, &reader));
    OK(vaultfile_reader_info(reader, &report));
    CHECK(has(report, "\"health\":\"frontDamaged\""));
    vaultfile_data_free(report);
    vaultfile_reader_free(reader);
    OK(vaultfile_repair(at("c.vault"), new, NULL, &report));
    CHECK(has(report, "\"repaired\":true"));
    vaultfile_data_free(report);

    /* Re-encryption loses no slot silently. */
    vaultfile_recipients *const back = for_key();
    FAILS(VAULTFILE_CONSENT_NEEDED, vaultfile_reencrypt(at("c.vault"), back, NULL, new, NULL, &report));
    OK(vaultfile_reencrypt(at("c.vault"), back, adding, new, NULL, &report));
    CHECK(has(report, "\"lost\":[{") && has(report, "\"generation\":1"));
    vaultfile_data_free(report);
    OK(vaultfile_reader_open_path(at("c.vault"), old, NULL, &reader));
    OK(vaultfile_reader_verify(reader, NULL));
    vaultfile_reader_free(reader);
    vaultfile_recipients_free(back);
    vaultfile_options_free(dry);
    vaultfile_recipients_free(adding);
    vaultfile_recipients_free(removing);
    vaultfile_keys_free(old);
    vaultfile_keys_free(new);
}

/* Header files in memory. A header copy alone is one. */
static void test_headers(void) {
    vaultfile_options *const options = option(VAULTFILE_HEADER_CAPACITY, 4096);
    vaultfile_data *const made = container(options);
    const void *const header = vaultfile_data_bytes(made);
    unsigned char other[32];
    OK(vaultfile_generate_key(other, sizeof other));
    vaultfile_recipients *adding, *const removing = for_key();
    OK(vaultfile_recipients_new(&adding));
    OK(vaultfile_recipients_add_key(adding, other, sizeof other));
    vaultfile_keys *const old = with_key();
    vaultfile_keys *new;
    OK(vaultfile_keys_new(&new));
    OK(vaultfile_keys_add_key(new, other, sizeof other));
    vaultfile_data *rotated, *same, *report;

    FAILS(VAULTFILE_WRONG_KEY, vaultfile_rotate_header(header, 4096, NULL, removing, new, NULL, &rotated, &report));
    CHECK(rotated == NULL && report == NULL);
    FAILS(VAULTFILE_LAST_SLOT, vaultfile_rotate_header(header, 4096, NULL, removing, old, NULL, &rotated, NULL));
    FAILS(VAULTFILE_TRUNCATED, vaultfile_rotate_header(header, 4095, adding, NULL, old, NULL, &rotated, NULL));
    FAILS(VAULTFILE_TRAILING_DATA, vaultfile_rotate_header(header, 4097, adding, NULL, old, NULL, &rotated, NULL));
    FAILS(VAULTFILE_TRUNCATED, vaultfile_rotate_header(NULL, 0, adding, NULL, old, NULL, &rotated, NULL));
    FAILS(VAULTFILE_NOT_VAULTFILE, vaultfile_rotate_header("no", 2, adding, NULL, old, NULL, &rotated, NULL));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_rotate_header(header, 4096, adding, NULL, old, NULL, NULL, &report));
    OK(vaultfile_rotate_header(header, 4096, adding, removing, old, NULL, &rotated, &report));
    CHECK(has(report, "\"generation\":2") && has(report, "\"newHeader\":true") && has(report, "\"kept\":[]"));
    vaultfile_data_free(report);
    CHECK(vaultfile_data_count(rotated) == 4096);
    const void *const now = vaultfile_data_bytes(rotated);

    OK(vaultfile_inspect_header(now, 4096, &report));
    CHECK(has(report, "\"generation\":2") && strstr(vaultfile_data_bytes(report), "\"pin\"") == NULL);
    vaultfile_data_free(report);
    FAILS(VAULTFILE_TRUNCATED, vaultfile_inspect_header(now, 4095, &report));
    FAILS(VAULTFILE_WRONG_KEY, vaultfile_verify_header(now, 4096, old, NULL, &report));
    OK(vaultfile_verify_header(now, 4096, new, NULL, &report));
    const char *const pin = strstr(vaultfile_data_bytes(report), "VAULTFILE-PIN-1");
    OK(vaultfile_options_set_bytes(options, VAULTFILE_HEADER_PIN, pin, 132));
    vaultfile_data_free(report);
    OK(vaultfile_verify_header(now, 4096, new, options, &report));
    vaultfile_data_free(report);
    FAILS(VAULTFILE_UNEXPECTED_STATE, vaultfile_verify_header(header, 4096, old, options, &report));
    FAILS(VAULTFILE_UNEXPECTED_STATE,
        vaultfile_rotate_header(header, 4096, adding, NULL, old, options, &same, &report));
    CHECK(same == NULL && report == NULL);

    /* Nothing to change: the same bytes. */
    OK(vaultfile_rotate_header(now, 4096, adding, NULL, new, options, &same, &report));
    CHECK(has(report, "\"newHeader\":false"));
    CHECK(vaultfile_data_count(same) == 4096 && memcmp(vaultfile_data_bytes(same), now, 4096) == 0);
    vaultfile_data_free(report);
    vaultfile_data_free(same);

    vaultfile_data_free(rotated);
    vaultfile_data_free(made);
    vaultfile_options_free(options);
    vaultfile_recipients_free(adding);
    vaultfile_recipients_free(removing);
    vaultfile_keys_free(old);
    vaultfile_keys_free(new);
}

/* Containers whose slots are in a header file. */
static void test_detached(void) {
    vaultfile_recipients *const recipients = for_key();
    vaultfile_keys *const keys = with_key();
    vaultfile_options *const given = option(VAULTFILE_JOBS, 1);
    vaultfile_data *header, *body, *opened, *report;
    vaultfile_reader *reader;
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_encrypt_detached(text, text_count, recipients, NULL, NULL, &body));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_encrypt_detached(text, text_count, recipients, NULL, &header, NULL));
    CHECK(header == NULL);
    FAILS(VAULTFILE_LAST_SLOT, vaultfile_encrypt_detached(text, text_count, NULL, NULL, &header, &body));
    CHECK(header == NULL && body == NULL);
    OK(vaultfile_encrypt_detached(text, text_count, recipients, NULL, &header, &body));
    const void *const bytes = vaultfile_data_bytes(body);
    const size_t count = vaultfile_data_count(body);
    FAILS(VAULTFILE_HEADER_DETACHED, vaultfile_decrypt(bytes, count, keys, NULL, &opened));
    OK(vaultfile_options_set_bytes(
        given, VAULTFILE_HEADER_FILE, vaultfile_data_bytes(header), vaultfile_data_count(header)));
    OK(vaultfile_decrypt(bytes, count, keys, given, &opened));
    CHECK(vaultfile_data_count(opened) == text_count && memcmp(vaultfile_data_bytes(opened), text, text_count) == 0);
    vaultfile_data_free(opened);
    OK(vaultfile_reader_open_memory(bytes, count, keys, given, &reader));
    OK(vaultfile_reader_info(reader, &report));
    CHECK(has(report, "\"headerFileHeader\":{"));
    vaultfile_data_free(report);
    unsigned char part[100];
    OK(vaultfile_reader_read(reader, 700000, part, sizeof part));
    CHECK(memcmp(part, text + 700000, sizeof part) == 0);
    vaultfile_reader_free(reader);

    /* In files. The path takes the place of the bytes. */
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_bytes(given, VAULTFILE_HEADER_PATH, "", 0));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_bytes(given, VAULTFILE_HEADER_PATH, "a\0b", 3));
    char header_path[4096];
    snprintf(header_path, sizeof header_path, "%s", at("d.hdr"));
    OK(vaultfile_options_set_bytes(given, VAULTFILE_HEADER_PATH, header_path, strlen(header_path)));
    save(at("d.vault"), bytes, count);
    FAILS(VAULTFILE_INPUT_FAILED, vaultfile_reader_open_path(at("d.vault"), keys, given, &reader));
    save(at("d.hdr"), vaultfile_data_bytes(header), vaultfile_data_count(header));
    OK(vaultfile_reader_open_path(at("d.vault"), keys, given, &reader));
    OK(vaultfile_reader_verify(reader, NULL));
    vaultfile_reader_free(reader);
    vaultfile_data_free(header);
    vaultfile_data_free(body);

    /* Its slots change, move to the container, and back. */
    vaultfile_recipients *more;
    unsigned char other[32];
    OK(vaultfile_generate_key(other, sizeof other));
    OK(vaultfile_recipients_new(&more));
    OK(vaultfile_recipients_add_key(more, other, sizeof other));
    OK(vaultfile_rotate_header_file(at("d.hdr"), more, NULL, keys, NULL, &report));
    CHECK(has(report, "\"generation\":2") && has(report, "\"newFile\":true"));
    vaultfile_data_free(report);
    FAILS(VAULTFILE_INPUT_FAILED, vaultfile_rotate_header_file(at("none"), more, NULL, keys, NULL, NULL));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_attach(at("d.vault"), NULL, keys, NULL, NULL));
    OK(vaultfile_attach(at("d.vault"), at("d.hdr"), keys, NULL, NULL));
    OK(vaultfile_reader_open_path(at("d.vault"), keys, NULL, &reader));
    vaultfile_reader_free(reader);
    FAILS(VAULTFILE_INPUT_FAILED, vaultfile_attach(at("d.vault"), at("d.hdr"), keys, NULL, NULL));
    OK(vaultfile_detach(at("d.vault"), at("d.hdr"), keys, NULL, &report));
    CHECK(has(report, "d.hdr\"") && has(report, "\"headerPin\":\"VAULTFILE-PIN-1"));
    vaultfile_data_free(report);
    /* Re-encryption replaces the header file. Of bytes alone it cannot. */
    FAILS(VAULTFILE_HEADER_DETACHED, vaultfile_reencrypt(at("d.vault"), recipients, more, keys, NULL, &report));
    OK(vaultfile_options_set_bytes(given, VAULTFILE_HEADER_FILE, "", 0));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reencrypt(at("d.vault"), recipients, more, keys, given, &report));
    OK(vaultfile_options_set_bytes(given, VAULTFILE_HEADER_PATH, header_path, strlen(header_path)));
    OK(vaultfile_reencrypt(at("d.vault"), recipients, more, keys, given, &report));
    CHECK(has(report, "\"headerFileHeader\":{"));
    vaultfile_data_free(report);

    /* A writer, and a stream. */
    vaultfile_writer *writer;
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_writer_open_detached(at("dw.vault"), recipients, NULL, NULL, &writer));
    OK(vaultfile_writer_open_detached(at("dw.vault"), recipients, NULL, &header, &writer));
    save(at("dw.hdr"), vaultfile_data_bytes(header), vaultfile_data_count(header));
    vaultfile_data_free(header);
    OK(vaultfile_writer_write(writer, text, text_count));
    OK(vaultfile_writer_commit(writer));
    vaultfile_writer_free(writer);
    const char *const path = at("dw.hdr");
    OK(vaultfile_options_set_bytes(given, VAULTFILE_HEADER_PATH, path, strlen(path)));
    OK(vaultfile_reader_open_path(at("dw.vault"), keys, given, &reader));
    OK(vaultfile_reader_verify(reader, NULL));
    vaultfile_reader_free(reader);
    vaultfile_encryptor *encryptor;
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_encryptor_new_detached(recipients, NULL, NULL, &encryptor));
    OK(vaultfile_encryptor_new_detached(recipients, NULL, &header, &encryptor));
    unsigned char stream[65536];
    size_t made = 0, first;
    OK(vaultfile_encryptor_update(encryptor, text, 100, stream, sizeof stream, &made));
    first = made;
    OK(vaultfile_encryptor_finish(encryptor));
    OK(vaultfile_encryptor_update(encryptor, NULL, 0, stream + first, sizeof stream - first, &made));
    OK(vaultfile_options_set_bytes(
        given, VAULTFILE_HEADER_FILE, vaultfile_data_bytes(header), vaultfile_data_count(header)));
    OK(vaultfile_decrypt(stream, first + made, keys, given, &opened));
    CHECK(vaultfile_data_count(opened) == 100 && memcmp(vaultfile_data_bytes(opened), text, 100) == 0);
    vaultfile_data_free(opened);
    vaultfile_data_free(header);
    vaultfile_encryptor_free(encryptor);
    vaultfile_recipients_free(more);
    vaultfile_recipients_free(recipients);
    vaultfile_options_free(given);
    vaultfile_keys_free(keys);
}

static void test_keyring(void) {
    vaultfile_recipients *const unlockers = for_key();
    vaultfile_keys *const unlocking = with_key();
    OK(vaultfile_keyring_create(at("ring"), unlockers, "first"));
    FAILS(VAULTFILE_OUTPUT_EXISTS, vaultfile_keyring_create(at("ring"), unlockers, "first"));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_keyring_create(at("ring2"), unlockers, "no name"));
    vaultfile_keyring *keyring;
    FAILS(VAULTFILE_WRONG_KEY, vaultfile_keyring_open(at("ring"), NULL, NULL, &keyring));
    OK(vaultfile_keyring_open(at("ring"), unlocking, NULL, &keyring));

    vaultfile_recipients *recipients;
    OK(vaultfile_recipients_new(&recipients));
    OK(vaultfile_recipients_add_from_keyring(recipients, keyring, NULL));
    FAILS(VAULTFILE_NO_SUCH_KEY, vaultfile_recipients_add_from_keyring(recipients, keyring, "nobody"));
    vaultfile_writer *writer;
    OK(vaultfile_writer_open(at("k.vault"), recipients, NULL, &writer));
    OK(vaultfile_writer_write(writer, text, 70000));
    OK(vaultfile_writer_commit(writer));
    vaultfile_writer_free(writer);
    vaultfile_recipients_free(recipients);
    vaultfile_keyring_free(keyring);

    char identity[VAULTFILE_SECRET_TEXT_MOST];
    size_t identity_count, count;
    OK(vaultfile_generate_identity(false, identity, sizeof identity, &identity_count));
    vaultfile_data *lines;
    OK(vaultfile_identity_recipients(identity, identity_count, &lines));
    unsigned char other[VAULTFILE_KEY_COUNT];
    OK(vaultfile_generate_key(other, sizeof other));
    vaultfile_change *change;
    OK(vaultfile_change_new(&change));
    OK(vaultfile_change_generate_key(change, "second"));
    OK(vaultfile_change_add_key(change, "third", other, sizeof other, false));
    OK(vaultfile_change_add_recipient(change, "ann", vaultfile_data_bytes(lines), vaultfile_data_count(lines) - 1));
    OK(vaultfile_change_generate_identity(change, "me", false));
    OK(vaultfile_change_set_group(change, "team", "ann,me"));
    OK(vaultfile_change_use(change, "third"));
    OK(vaultfile_change_retire(change, "third"));
    OK(vaultfile_change_use(change, "second"));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_change_set_group(change, "team", "ann,,me"));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_change_use(change, NULL));
    vaultfile_data *report;
    OK(vaultfile_change_apply(change, at("ring"), unlocking, NULL, &report));
    CHECK(has(report, "\"exchange\":\"notNeeded\""));
    vaultfile_data_free(report);
    vaultfile_change_free(change);
    OK(vaultfile_keyring_open(at("ring"), unlocking, NULL, &keyring));
    OK(vaultfile_keyring_entries(keyring, &report));
    CHECK(has(report, "\"name\":\"second\",\"state\":\"current\"") && has(report, "\"name\":\"first\",\"state\":\"retired\""));
    CHECK(has(report, "\"members\":[\"ann\",\"me\"]") && has(report, "\"recipient\":\"age1"));
    vaultfile_data_free(report);

    OK(vaultfile_rotate_to_current(at("k.vault"), keyring, NULL, NULL, &report));
    CHECK(has(report, "\"removed\":[{"));
    vaultfile_data_free(report);

    /* The same of a header file in memory. */
    vaultfile_options *const small = option(VAULTFILE_HEADER_CAPACITY, 4096);
    vaultfile_data *const made = container(small), *rotated;
    const void *const header = vaultfile_data_bytes(made);
    FAILS(VAULTFILE_WRONG_KEY,
        vaultfile_rotate_header_to_current(header, 4096, keyring, NULL, NULL, &rotated, &report));
    FAILS(VAULTFILE_INVALID_ARGUMENT,
        vaultfile_rotate_header_to_current(header, 4096, NULL, unlocking, NULL, &rotated, &report));
    OK(vaultfile_rotate_header_to_current(header, 4096, keyring, unlocking, NULL, &rotated, &report));
    CHECK(has(report, "\"added\":[{") && has(report, "\"kept\":[{"));
    vaultfile_data_free(report);
    vaultfile_data_free(rotated);
    vaultfile_data_free(made);
    vaultfile_options_free(small);
    char file[VAULTFILE_SECRET_TEXT_MOST];
    OK(vaultfile_keyring_export(keyring, "second", file, sizeof file, &count));
    vaultfile_keys *keys;
    OK(vaultfile_keys_new(&keys));
    OK(vaultfile_keys_add_key_file(keys, file, count));
    vaultfile_reader *reader;
    OK(vaultfile_reader_open_path(at("k.vault"), keys, NULL, &reader));
    vaultfile_reader_free(reader);
    vaultfile_keys_free(keys);
    OK(vaultfile_keyring_export(keyring, "me", file, sizeof file, &count));
    CHECK(memmem(file, count, "AGE-SECRET-KEY-1", 16) != NULL);
    FAILS(VAULTFILE_NO_SUCH_KEY, vaultfile_keyring_export(keyring, "ann", file, sizeof file, &count));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_keyring_export(keyring, "me", file, 5, &count));
    vaultfile_wipe(file, sizeof file);

    /* To the group, opened by the identity in the keyring. */
    OK(vaultfile_recipients_new(&recipients));
    OK(vaultfile_recipients_add_from_keyring(recipients, keyring, "team"));
    vaultfile_data *sealed, *opened;
    OK(vaultfile_encrypt(text, 5, recipients, NULL, &sealed));
    OK(vaultfile_keys_new(&keys));
    OK(vaultfile_keys_add_keyring(keys, keyring));
    vaultfile_keyring_free(keyring);
    OK(vaultfile_decrypt(vaultfile_data_bytes(sealed), vaultfile_data_count(sealed), keys, NULL, &opened));
    vaultfile_data_free(opened);
    vaultfile_data_free(sealed);
    vaultfile_keys_free(keys);
    vaultfile_recipients_free(recipients);

    OK(vaultfile_change_new(&change));
    OK(vaultfile_change_remove_group(change, "team"));
    OK(vaultfile_change_destroy(change, "first"));
    OK(vaultfile_change_add_identity(change, "ann-herself", identity, identity_count));
    OK(vaultfile_change_apply(change, at("ring"), unlocking, NULL, &report));
    CHECK(has(report, "\"exchange\":\"done\"") && has(report, "\"reason\":\"destroyedKey\""));
    vaultfile_data_free(report);
    FAILS(VAULTFILE_NO_SUCH_KEY, vaultfile_change_apply(change, at("ring"), unlocking, NULL, &report));
    vaultfile_change_free(change);

    vaultfile_recipients *phrase;
    OK(vaultfile_recipients_new(&phrase));
    OK(vaultfile_recipients_add_passphrase(phrase, cheap, strlen(cheap), 2, 19456));
    OK(vaultfile_keyring_change_unlockers(at("ring"), phrase, NULL, unlocking, &report));
    CHECK(has(report, "\"kind\":\"passphrase\""));
    vaultfile_data_free(report);
    OK(vaultfile_keys_new(&keys));
    OK(vaultfile_keys_add_passphrase(keys, cheap, strlen(cheap)));
    OK(vaultfile_keyring_open(at("ring"), keys, NULL, &keyring));
    vaultfile_keyring_free(keyring);
    FAILS(VAULTFILE_KEYRING_PROTECTED, vaultfile_keyring_protect(at("ring"), unlockers, false, keys, NULL, &report));
    OK(vaultfile_keyring_protect(at("ring"), unlockers, true, keys, NULL, &report));
    vaultfile_data_free(report);
    FAILS(VAULTFILE_WRONG_KEY, vaultfile_keyring_open(at("ring"), keys, NULL, &keyring));
    vaultfile_keys_free(keys);
    vaultfile_recipients_free(phrase);
    vaultfile_data_free(lines);
    vaultfile_keys_free(unlocking);
    vaultfile_recipients_free(unlockers);
}

/* ---- Wrong calls ---- */

static void test_misuse(void) {
    vaultfile_keys *keys = with_key();
    vaultfile_recipients *const recipients = for_key();
    vaultfile_options *options = option(VAULTFILE_JOBS, 1);
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_number(options, 9999, 1));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_number(options, VAULTFILE_COMPRESS, 2));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_number(options, VAULTFILE_JOBS, 0));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_number(options, VAULTFILE_CHUNK_SIZE, 4097));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_number(options, VAULTFILE_CHUNK_SIZE, INT64_MIN));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_number(options, VAULTFILE_HEADER_CAPACITY, 5));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_number(options, VAULTFILE_PERMISSIONS, 01000));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_number(options, VAULTFILE_MAX_PASSES, -1));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_number(options, VAULTFILE_KEEP_COPY, 3));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_bytes(options, 77, "x", 1));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_bytes(options, VAULTFILE_NAME, "a/b", 3));
    /* The other call has other numbers. */
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_bytes(options, VAULTFILE_CHUNK_SIZE, "65536", 5));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_number(options, VAULTFILE_CONTENT_TYPE, 1));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_bytes(options, VAULTFILE_NAME, "\xff", 1));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_bytes(options, VAULTFILE_CONTENT_TYPE, NULL, 1));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_bytes(options, VAULTFILE_PIN, "x", 1));
    unsigned char *const large = calloc(1, 65536);
    FAILS(VAULTFILE_BAD_CONTEXT, vaultfile_options_set_bytes(options, VAULTFILE_CONTEXT, large, 65536));
    free(large);

    /* Places and bytes that are missing. */
    vaultfile_reader *reader;
    vaultfile_data *data;
    size_t count;
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_keys_new(NULL));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_open_memory(NULL, 1, keys, NULL, &reader));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_open_memory("", SIZE_MAX, keys, NULL, &reader));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_open_path(NULL, keys, NULL, &reader));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_open_path("", keys, NULL, &reader));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_encrypt(text, 5, recipients, NULL, NULL));
    FAILS(VAULTFILE_LAST_SLOT, vaultfile_encrypt(text, 5, NULL, NULL, &data));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_key_file(key, sizeof key, NULL, 5, &count));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_key_file(key, sizeof key, NULL, 0, NULL));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_length(NULL, NULL));

    /* Handles of other types, freed ones, and none. */
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_keys_add_key((vaultfile_keys *)recipients, key, sizeof key));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_keys_add_key(NULL, key, sizeof key));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_keys_add_keyring(keys, (vaultfile_keyring *)options));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_verify((vaultfile_reader *)text, NULL));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_encrypt(text, 5, recipients, (vaultfile_options *)keys, &data));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_writer_write(NULL, text, 1));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_encryptor_update(NULL, text, 1, NULL, 0, &count));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_decryptor_update(NULL, text, 1, NULL, 0, &count));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_change_apply(NULL, at("ring"), keys, NULL, NULL));
    vaultfile_keys_free((vaultfile_keys *)recipients); /* does nothing */
    OK(vaultfile_encrypt(text, 5, recipients, NULL, &data));
    vaultfile_data_free(data);
    CHECK(vaultfile_data_bytes(data) == NULL && vaultfile_data_count(data) == 0);
    vaultfile_data_free(data);
    vaultfile_keys_free(keys);
    vaultfile_keys_free(keys);
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_keys_add_key(keys, key, sizeof key));
    vaultfile_options_free(options);
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_encrypt(text, 5, recipients, options, &data));
    vaultfile_recipients_free(recipients);
    CHECK(vaultfile_error_status(NULL) == VAULTFILE_OK && vaultfile_error_name(NULL)[0] == 0);
    CHECK(vaultfile_error_message(NULL)[0] == 0 && !vaultfile_error_offset(NULL, NULL));
    vaultfile_error_free(NULL), vaultfile_data_free(NULL), vaultfile_options_free(NULL), vaultfile_keys_free(NULL);
    vaultfile_recipients_free(NULL), vaultfile_reader_free(NULL), vaultfile_writer_free(NULL);
    vaultfile_encryptor_free(NULL), vaultfile_decryptor_free(NULL), vaultfile_keyring_free(NULL);
    vaultfile_change_free(NULL);
}

/* ---- Threads ---- */

static vaultfile_reader *shared;

static void *read_much(void *context) {
    const size_t seed = (size_t)(uintptr_t)context;
    unsigned char *const part = malloc(50000);
    for (size_t round = 0; round < 40; ++round) {
        const size_t offset = (seed * 7919 + round * 104729) % (text_count - 50000);
        OK(vaultfile_reader_read(shared, offset, part, 50000));
        CHECK(memcmp(part, text + offset, 50000) == 0);
    }
    free(part);
    return NULL;
}

static vaultfile_encryptor *shared_encryptor;

static void *push_much(void *context) {
    (void)context;
    unsigned char output[1000];
    size_t count;
    for (int round = 0; round < 200; ++round)
        OK(vaultfile_encryptor_update(shared_encryptor, text, 1000, output, sizeof output, &count));
    return NULL;
}

static void *use_what_goes(void *context) {
    (void)context;
    unsigned char part[10];
    for (int round = 0; round < 200; ++round) {
        vaultfile_error *const error = vaultfile_reader_read(shared, 0, part, sizeof part);
        const int32_t status = vaultfile_error_status(error);
        CHECK(status == VAULTFILE_OK || status == VAULTFILE_INVALID_ARGUMENT);
        vaultfile_error_free(error);
    }
    return NULL;
}

static void run_threads(void *(*body)(void *), bool frees) {
    pthread_t threads[4];
    for (size_t index = 0; index < 4; ++index)
        CHECK(pthread_create(&threads[index], NULL, body, (void *)(uintptr_t)index) == 0);
    if (frees) vaultfile_reader_free(shared);
    for (size_t index = 0; index < 4; ++index) pthread_join(threads[index], NULL);
}

static void test_threads(void) {
    vaultfile_data *const made = container(NULL);
    vaultfile_keys *const keys = with_key();
    OK(vaultfile_reader_open_memory(vaultfile_data_bytes(made), vaultfile_data_count(made), keys, NULL, &shared));
    run_threads(read_much, false);
    run_threads(use_what_goes, true);
    vaultfile_recipients *const recipients = for_key();
    OK(vaultfile_encryptor_new(recipients, NULL, &shared_encryptor));
    run_threads(push_much, false);
    OK(vaultfile_encryptor_finish(shared_encryptor));
    vaultfile_encryptor_free(shared_encryptor);
    vaultfile_recipients_free(recipients);
    vaultfile_keys_free(keys);
    vaultfile_data_free(made);
}

/* ---- Little memory ---- */

/* Leaves the program so much more memory than it has. */
static void limit_memory(size_t more) {
    long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1 && fclose(file) == 0);
    const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    const struct rlimit limit = {most, most};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* Calls that get more bytes than a copy has room for end with an error, or need no copy. None ends the process. */
static void test_little_memory(void) {
    const size_t count = 200u << 20;
    char *const zeros = calloc(1, count);
    vaultfile_recipients *const recipients = for_key();
    vaultfile_keys *const keys = with_key();
    vaultfile_options *const options = option(VAULTFILE_JOBS, 1);
    vaultfile_data *made, *data, *report;
    OK(vaultfile_encrypt(zeros, count, recipients, options, &made));
    const void *const bytes = vaultfile_data_bytes(made);
    const size_t whole = vaultfile_data_count(made);
    limit_memory(100u << 20);

    FAILS(VAULTFILE_MEMORY_UNAVAILABLE, vaultfile_encrypt(zeros, count, recipients, options, &data));
    CHECK(data == NULL);
    FAILS(VAULTFILE_MEMORY_UNAVAILABLE, vaultfile_decrypt(bytes, whole, keys, options, &data));
    CHECK(data == NULL);
    vaultfile_reader *reader;
    FAILS(VAULTFILE_MEMORY_UNAVAILABLE, vaultfile_reader_open_memory(bytes, whole, keys, NULL, &reader));
    CHECK(reader == NULL);
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_open_memory(bytes, SIZE_MAX / 2 + 1, keys, NULL, &reader));
    FAILS(VAULTFILE_MEMORY_UNAVAILABLE, vaultfile_reader_open_memory(bytes, SIZE_MAX / 2, keys, NULL, &reader));
    OK(vaultfile_inspect_memory(bytes, whole, &report));
    CHECK(has(report, "\"authenticated\":false"));
    vaultfile_data_free(report);
    FAILS(VAULTFILE_TRAILING_DATA, vaultfile_inspect_header(bytes, whole, &report));
    FAILS(VAULTFILE_NOT_VAULTFILE, vaultfile_inspect_header(zeros, count, &report));
    FAILS(VAULTFILE_TRAILING_DATA, vaultfile_verify_header(bytes, whole, keys, NULL, &report));
    FAILS(VAULTFILE_TRAILING_DATA,
        vaultfile_rotate_header(bytes, whole, recipients, NULL, keys, NULL, &data, &report));

    /* Texts and options that are too long. */
    memset(zeros, 'a', count - 1);
    for (int32_t text = VAULTFILE_NAME; text <= VAULTFILE_HEADER_PIN; ++text)
        FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_options_set_bytes(options, text, zeros, count));
    FAILS(VAULTFILE_BAD_CONTEXT, vaultfile_options_set_bytes(options, VAULTFILE_CONTEXT, zeros, count));
    OK(vaultfile_options_set_bytes(options, VAULTFILE_HEADER_FILE, zeros, count));
    OK(vaultfile_options_set_bytes(options, VAULTFILE_HEADER_PATH, zeros, count - 1));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_reader_open_path(zeros, keys, NULL, &reader));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_keyring_create(at("ring"), recipients, zeros));
    FAILS(VAULTFILE_BAD_KEY, vaultfile_recipients_add_public_keys(recipients, zeros, count - 1, false));
    FAILS(VAULTFILE_BAD_KEY, vaultfile_recipients_add_key_file(recipients, zeros, count - 1));
    FAILS(VAULTFILE_BAD_KEY, vaultfile_keys_add_identities(keys, zeros, count - 1));
    FAILS(VAULTFILE_BAD_KEY, vaultfile_keys_add_key_file(keys, zeros, count - 1));
    FAILS(VAULTFILE_BAD_PASSPHRASE, vaultfile_keys_add_passphrase(keys, zeros, count - 1));
    vaultfile_change *change;
    OK(vaultfile_change_new(&change));
    FAILS(VAULTFILE_BAD_KEY, vaultfile_change_add_recipient(change, "ann", zeros, count - 1));
    FAILS(VAULTFILE_INVALID_ARGUMENT, vaultfile_change_set_group(change, "team", zeros));
    vaultfile_change_free(change);

    /* What fits works as before. */
    OK(vaultfile_encrypt(zeros, 1000, recipients, options, &data));
    vaultfile_data_free(data);
    vaultfile_data_free(made);
    vaultfile_options_free(options);
    vaultfile_keys_free(keys);
    vaultfile_recipients_free(recipients);
    free(zeros);
}

int main(int count, char **arguments) {
    const bool has_little_memory = count == 3 && strcmp(arguments[2], "little-memory") == 0;
    if (count != 2 && !has_little_memory) return 64;
    folder = arguments[1];
    text = malloc(text_count);
    for (size_t index = 0; index < text_count; ++index) text[index] = (unsigned char)(index * index >> 7);
    OK(vaultfile_generate_key(key, sizeof key));
    if (has_little_memory) {
        test_little_memory();
    } else {
        test_library();
        test_memory();
        test_streams();
        test_files();
        test_callbacks();
        test_progress();
        test_secrets();
        test_changes();
        test_headers();
        test_detached();
        test_keyring();
        test_misuse();
        test_threads();
    }
    CHECK(vaultfile_handle_count() == 0);
    free(text);
    printf("%d checks, %d failed\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
