/* Which names are allowed. Everything that is not clearly allowed is refused, so that a name that passes
 * can be handed to openat() piece by piece without another look. */
#include "proto/name.h"

#include "proto/limits.h"

#include <string.h>

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool name_is_id_part(const char *s, unsigned long length)
{
    if (length == 0 || length > LIMIT_ID_PART || !is_word(s[0]) || !is_word(s[length - 1]))
        return false;
    for (unsigned long i = 1; i < length; i++) {
        if (!is_word(s[i]) && s[i] != '-' && s[i] != '.')
            return false;
        if (s[i] == s[i - 1] && (s[i] == '-' || s[i] == '.'))
            return false;
    }
    return length < 4 || memcmp(s + length - 4, ".git", 4) != 0;
}

bool name_is_model_id(const char *s)
{
    const char *slash = strchr(s, '/');
    return slash && name_is_id_part(s, (unsigned long)(slash - s)) &&
           name_is_id_part(slash + 1, strlen(slash + 1));
}

static bool is_path_part(const char *s, size_t length)
{
    if (length == 0 || length > LIMIT_NAME)
        return false;
    return !(s[0] == '.' && (length == 1 || (length == 2 && s[1] == '.')));
}

bool name_is_path(const char *s)
{
    if (strlen(s) > LIMIT_PATH || strcmp(s, ".mstore") == 0 || strncmp(s, ".mstore/", 8) == 0)
        return false;
    for (int parts = 1; parts <= LIMIT_PARTS; parts++) {
        size_t part = strcspn(s, "/");
        if (!is_path_part(s, part))
            return false;
        if (s[part] == '\0')
            return true;
        s += part + 1;
    }
    return false;
}

bool name_is_origin(const char *s)
{
    size_t length = strlen(s);
    for (size_t i = 0; i < length; i++)
        if (s[i] <= ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\')
            return false;
    return length > 0 && length <= LIMIT_ORIGIN;
}
