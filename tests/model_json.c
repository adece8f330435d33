/* model_json FOLDER: what the headers of the files in a folder tell, as the `metadata` object. For tests that
 * hold it against other readers. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/fdio.h"
#include "common/model_summary.h"
#include "common/path.h"
#include "common/walk.h"

static enum walk_step add_file(void *context, const struct walk_entry *entry, struct error *err)
{
    struct file_entry file = {.path = (char *)entry->path, .size = (uint64_t)entry->st.st_size};
    (void)err;
    if (entry->kind == WALK_FILE)
        listing_add(context, &file);
    return WALK_ON;
}

static int open_file(void *context, const struct file_entry *file)
{
    return path_open(*(const int *)context, file->path, O_RDONLY, 0);
}

int main(int argc, char **argv)
{
    struct listing listing = {0};
    struct error err;
    int folder = argc == 2 ? fdio_openat(AT_FDCWD, argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) : -1;
    if (folder < 0 || walk_tree(folder, false, add_file, &listing, &err) < 0) {
        (void)fprintf(stderr, "usage: model_json FOLDER\n");
        return 2;
    }
    struct model_source source = {&listing, open_file, &folder, NULL};
    struct model_summary summary;
    model_summary_read(&summary, &source);
    struct json *json = json_object();
    model_summary_json(&summary, json);
    char *text = json_print(json);
    (void)puts(text);
    free(text);
    json_free(json);
    model_summary_release(&summary);
    listing_release(&listing);
    fdio_drop(&folder);
    return 0;
}
