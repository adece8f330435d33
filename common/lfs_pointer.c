/* Line by line; lines that are not known (extensions) are passed over. */
#include "common/lfs_pointer.h"

#include "common/units.h"
#include "proto/hex.h"

#include <string.h>

struct line {
    const char *text;
    size_t length;
};

/* The next line without its end; false where there is none. */
static bool next_line(const char **text, size_t *left, struct line *line)
{
    const char *end = memchr(*text, '\n', *left);
    if (!end)
        return false;
    *line = (struct line){*text, (size_t)(end - *text)};
    *left -= line->length + 1;
    *text = end + 1;
    return true;
}

static bool begins_with(const struct line *line, const char *start)
{
    size_t length = strlen(start);
    return line->length >= length && memcmp(line->text, start, length) == 0;
}

static bool parse_size(uint64_t *size, const char *digits, size_t length)
{
    char number[24];
    struct error ignored;
    if (length >= sizeof number)
        return false;
    memcpy(number, digits, length);
    number[length] = '\0';
    return units_parse_number(number, 0, UINT64_MAX, size, &ignored) == 0;
}

bool lfs_pointer_parse(struct lfs_pointer *pointer, const char *text, size_t length)
{
    static const char oid[] = "oid sha256:", size[] = "size ";
    bool has_oid = false, has_size = false;
    struct line line;
    if (length >= LFS_POINTER_MAX || !next_line(&text, &length, &line))
        return false;
    /* The second is from before its first release. */
    if (!begins_with(&line, "version https://git-lfs.github.com/spec/") &&
        !begins_with(&line, "version https://hawser.github.com/spec/"))
        return false;
    while (next_line(&text, &length, &line)) {
        if (begins_with(&line, oid))
            has_oid = line.length == strlen(oid) + 2 * sizeof pointer->oid &&
                      hex_parse(pointer->oid, sizeof pointer->oid, line.text + strlen(oid));
        else if (begins_with(&line, size))
            has_size = parse_size(&pointer->size, line.text + strlen(size), line.length - strlen(size));
    }
    return has_oid && has_size && length == 0;
}
