// What libFuzzer has for the programs that use it; the compiler brings the library and no header for it.
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(
    int *_Nonnull count, char *_Nullable *_Nonnull *_Nonnull arguments,
    int (*_Nonnull run)(const uint8_t *_Nullable bytes, size_t count));

size_t LLVMFuzzerMutate(uint8_t *_Nullable bytes, size_t count, size_t limit);
