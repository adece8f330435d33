/* Git LFS pointers. */
#include "target.h"

#include "common/lfs_pointer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct lfs_pointer pointer;
    if (!lfs_pointer_parse(&pointer, (const char *)bytes, length))
        return 0;
    must_hold(length < LFS_POINTER_MAX && memcmp(bytes, "version https://", 16) == 0);
    must_hold(bytes[length - 1] == '\n');
    return 0;
}
