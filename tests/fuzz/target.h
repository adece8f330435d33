/* What the fuzz targets share. A target is handed bytes, decodes them, and checks what must hold of whatever
 * came out. */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Unlike assert(), it cannot be compiled out, and the fuzzer keeps the input. */
#define must_hold(condition)                                                                                 \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            abort();                                                                                         \
    } while (0)

#endif
