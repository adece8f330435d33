/* Two lists of patterns. */
#include "common/junk.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

static const char *const names[] = {
    ".git",
    ".locks",
    ".no_exist",
    "__pycache__",
    ".DS_Store",
    "._*",
    ".Spotlight-V100",
    ".Trashes",
    ".fseventsd",
    "__MACOSX",
    "@eaDir",
    "#recycle",
    "#snapshot",
    "@Recycle",
    ".@__thumb",
    "$RECYCLE.BIN",
    "System Volume Information",
    "lost+found",
    ".snapshot",
    ".zfs",
    ".mstore",
    "Thumbs.db",
    "desktop.ini",
    ".nfs*",
    ".smbdelete*",
    NULL,
};

static const char *const unfinished[] = {"*.incomplete", "*.aria2", "*.crdownload", "*.downloadInProgress",
                                         NULL};

static bool matches(const char *const *patterns, const char *name)
{
    for (; *patterns; patterns++)
        if (fnmatch(*patterns, name, 0) == 0)
            return true;
    return false;
}

/* `.cache/huggingface` is named by its path, for `.cache` alone may hold anything. */
static bool is_hub_cache(const char *path)
{
    static const char folder[] = ".cache/huggingface";
    size_t length = strlen(path), wanted = sizeof folder - 1;
    return length >= wanted && strcmp(path + length - wanted, folder) == 0 &&
           (length == wanted || path[length - wanted - 1] == '/');
}

bool junk_is(const char *name, const char *path)
{
    return matches(names, name) || is_hub_cache(path);
}

bool junk_is_unfinished(const char *name)
{
    return matches(unfinished, name);
}
