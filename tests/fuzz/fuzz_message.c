/* Control messages, from the text of a frame. */
#include "message_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    try_message((const char *)bytes, length);
    return 0;
}
