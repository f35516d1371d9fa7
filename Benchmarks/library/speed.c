/* Encrypts, reads and decrypts 256 MiB in pieces of 64 KiB by libvaultfile, and prints the processor time of each in
 * seconds. speed.swift does the same by VaultFile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vaultfile.h>

enum { PIECE = 65536, COUNT = 256 << 20 };

static void check(vaultfile_error *error) {
    if (error == NULL) return;
    fprintf(stderr, "%s\n", vaultfile_error_message(error));
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(void) {
    static unsigned char plain[PIECE], output[2 * PIECE], key[VAULTFILE_KEY_COUNT];
    unsigned char *const container = malloc(COUNT + COUNT / 50);
    /* Not with zeros: the compiler would make a calloc of it, and the pages would be made in the measured time. */
    memset(container, 1, COUNT + COUNT / 50);
    memset(plain, 7, sizeof plain);
    vaultfile_recipients *recipients;
    vaultfile_keys *keys;
    vaultfile_encryptor *encryptor;
    vaultfile_reader *reader;
    vaultfile_decryptor *decryptor;
    size_t total = 0, count;
    check(vaultfile_generate_key(key, sizeof key));
    check(vaultfile_recipients_new(&recipients));
    check(vaultfile_recipients_add_key(recipients, key, sizeof key));
    check(vaultfile_keys_new(&keys));
    check(vaultfile_keys_add_key(keys, key, sizeof key));

    double start = now();
    check(vaultfile_encryptor_new(recipients, NULL, &encryptor));
    for (size_t done = 0; done < COUNT; done += PIECE) {
        check(vaultfile_encryptor_update(encryptor, plain, PIECE, output, sizeof output, &count));
        memcpy(container + total, output, count);
        total += count;
    }
    check(vaultfile_encryptor_finish(encryptor));
    do {
        check(vaultfile_encryptor_update(encryptor, NULL, 0, output, sizeof output, &count));
        memcpy(container + total, output, count);
        total += count;
    } while (count > 0);
    printf("%f", now() - start);

    check(vaultfile_reader_open_memory(container, total, keys, NULL, &reader));
    start = now();
    for (size_t place = 0; place < COUNT; place += PIECE) check(vaultfile_reader_read(reader, place, output, PIECE));
    printf(" %f", now() - start);

    start = now();
    check(vaultfile_decryptor_new(keys, NULL, &decryptor));
    for (size_t place = 0; place < total; place += PIECE) {
        const size_t next = total - place < PIECE ? total - place : PIECE;
        check(vaultfile_decryptor_update(decryptor, container + place, next, output, sizeof output, &count));
    }
    check(vaultfile_decryptor_finish(decryptor));
    printf(" %f\n", now() - start);
    return output[0] == 7 ? 0 : 1;
}
