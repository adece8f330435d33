/* The place is looked at once, the machine and its disks in each round. */
#include "client/conditions.h"

#include "common/fdio.h"
#include "common/sysfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

/* sysinfo(2): loads have 16 bits behind the point. */
#define LOAD_UNIT (1 << SI_LOAD_SHIFT)

void conditions_open(struct conditions *conditions, const struct bench_files *files)
{
    memset(conditions, 0, sizeof *conditions);
    conditions->files = files;
    int fd = fdio_openat(AT_FDCWD, files->files[0].path, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0)
        place_find(&conditions->place, fd);
    fdio_drop(&fd);
}

void conditions_close(struct conditions *conditions)
{
    place_release(&conditions->place);
}

static bool count(const struct conditions *conditions, uint64_t bytes[BLOCK_MOST])
{
    char *text = conditions->place.stack.count > 0 ? sysfile_read("/proc/diskstats") : NULL;
    block_parse_counts(&conditions->place.stack, text ? text : "", bytes);
    bool found = text != NULL;
    free(text);
    return found;
}

void conditions_begin(struct conditions *conditions)
{
    conditions->is_counted = count(conditions, conditions->before);
}

void conditions_end(struct conditions *conditions, uint64_t expected)
{
    uint64_t after[BLOCK_MOST];
    uint64_t on_disk = conditions->files->allocated;
    conditions->is_counted = count(conditions, after) && conditions->is_counted;
    for (size_t i = 0; i < BLOCK_MOST; i++)
        conditions->during[i] = conditions->is_counted ? after[i] - conditions->before[i] : 0;
    conditions->is_cache_suspected =
        conditions->is_counted && block_is_cache_suspected(&conditions->place.stack, conditions->during,
                                                           expected < on_disk ? expected : on_disk);
}

static void add_paths(struct json *object, const struct optparse_list *paths)
{
    struct json *array = json_add(object, "paths", json_array());
    for (size_t i = 0; i < paths->count; i++)
        json_add_text(array, NULL, paths->items[i]);
}

static void add_disks(struct json *object, const struct conditions *conditions)
{
    const struct block_stack *stack = &conditions->place.stack;
    if (!conditions->is_counted)
        return;
    struct json *array = json_add(object, "disks", json_array());
    for (size_t i = 0; i < stack->count; i++) {
        struct json *disk = json_add(array, NULL, json_object());
        json_add_text(disk, "name", stack->devices[i].name);
        json_add_bool(disk, "rotational", stack->devices[i].is_rotational);
        json_add_size(disk, "bytes_read", conditions->during[i]);
    }
}

static void add_machine(struct json *object)
{
    struct sysinfo info;
    struct utsname name;
    if (sysinfo(&info) == 0) {
        struct json *load = json_add(object, "load", json_array());
        for (size_t i = 0; i < sizeof info.loads / sizeof info.loads[0]; i++)
            json_add_number(load, NULL, (double)(100 * info.loads[i] / LOAD_UNIT) / 100);
        json_add_size(object, "uptime_seconds", (uint64_t)info.uptime);
        json_add_size(object, "memory_total", (uint64_t)info.totalram * info.mem_unit);
        json_add_size(object, "memory_free", (uint64_t)info.freeram * info.mem_unit);
    }
    if (uname(&name) == 0)
        json_add_text(object, "kernel", name.release);
}

struct json *conditions_json(const struct conditions *conditions, const struct optparse_list *paths)
{
    struct json *object = json_object();
    add_paths(object, paths);
    json_add_size(object, "files", conditions->files->count);
    place_add_json(object, &conditions->place);
    add_disks(object, conditions);
    add_machine(object);
    return object;
}
