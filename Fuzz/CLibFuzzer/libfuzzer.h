// The functions of libFuzzer that this program calls. The compiler comes with the library, but without a header for it.
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(
    int *_Nonnull count, char *_Nullable *_Nonnull *_Nonnull arguments,
    int (*_Nonnull run)(const uint8_t *_Nullable bytes, size_t count));

size_t LLVMFuzzerMutate(uint8_t *_Nullable bytes, size_t count, size_t limit);
