/* The record of a model in the local tier, and the reservation of a pull: whatever passes is within its
 * limits, and a record that passes is the same when it is written and read again. */
#include "target.h"

#include "client/cache_record.h"

static void must_be_within_limits(const struct cache_record *record)
{
    must_hold(record->folder > 0 && record->folder <= CACHE_FOLDER_MAX);
    must_hold(record->version.bytes <= LIMIT_SIZE && record->version.files <= LIMIT_FILES);
    must_hold(record->version.number <= LIMIT_SIZE && record->version.nsec < 1000000000);
    must_hold(record->fingerprint > 0 && record->fingerprint <= LIMIT_SIZE);
    must_hold(record->used_ns == 0);
}

static void must_come_back(const struct cache_record *record)
{
    struct cache_record back;
    char *text = cache_record_print(record);
    must_hold(text && cache_record_parse(&back, text, strlen(text)));
    must_hold(back.folder == record->folder && back.fingerprint == record->fingerprint &&
              back.pinned == record->pinned && cache_version_is_same(&back.version, &record->version));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct cache_record record;
    const char *text = (const char *)bytes;
    if (cache_record_parse(&record, text, length)) {
        must_be_within_limits(&record);
        must_come_back(&record);
    }
    must_hold(cache_record_parse_reserved(text, length) <= LIMIT_SIZE);
    return 0;
}
