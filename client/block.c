/* /sys/dev/block leads from a number to a name, and the folder `slaves` of each name to those below. */
#include "client/block.h"

#include "common/path.h"
#include "common/sysfile.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512

/* Below this, what the file system reads for itself weighs as much as the file. */
#define EXPECTED_MIN ((uint64_t)1 << 20)

/* A value of a device's queue; a partition has none, so that of the disk it is on. */
static bool queue_number(const char *name, const char *what, uint64_t *number)
{
    return sysfile_number(number, "/sys/class/block/%s/queue/%s", name, what) ||
           sysfile_number(number, "/sys/class/block/%s/../queue/%s", name, what);
}

static void add_device(struct block_stack *stack, const char *name)
{
    uint64_t flag;
    if (stack->count == BLOCK_MOST || strlen(name) >= BLOCK_NAME_MAX)
        return;
    for (size_t i = 0; i < stack->count; i++)
        if (strcmp(stack->devices[i].name, name) == 0) /* two volumes on one disk */
            return;
    struct block_device *device = &stack->devices[stack->count++];
    *device = (struct block_device){.is_leaf = true};
    memcpy(device->name, name, strlen(name) + 1);
    device->is_rotational = queue_number(name, "rotational", &flag) && flag == 1;
    device->is_counted = queue_number(name, "iostats", &flag) && flag == 1;
}

static void add_below(struct block_stack *stack, struct block_device *device)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "/sys/class/block/%s/slaves", device->name);
    DIR *slaves = opendir(path);
    for (struct dirent *entry; slaves && (entry = readdir(slaves)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        device->is_leaf = false;
        add_device(stack, entry->d_name);
    }
    if (slaves)
        (void)closedir(slaves);
}

bool block_stack_find(struct block_stack *stack, const char *number)
{
    char path[PATH_MAX], target[PATH_MAX];
    stack->count = 0;
    (void)snprintf(path, sizeof path, "/sys/dev/block/%s", number);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    add_device(stack, path_name(target));
    for (size_t i = 0; i < stack->count; i++) /* grows while it is walked */
        add_below(stack, &stack->devices[i]);
    return stack->count > 0;
}

/* "MAJOR MINOR NAME READS MERGED SECTORS …" */
static bool parse_line(const char *start, size_t length, char name[BLOCK_NAME_MAX],
                       unsigned long long *sectors)
{
    char line[256];
    if (length >= sizeof line)
        return false;
    memcpy(line, start, length);
    line[length] = '\0';
    return sscanf(line, "%*u %*u %31s %*u %*u %llu", name, sectors) == 2;
}

void block_parse_counts(const struct block_stack *stack, const char *diskstats, uint64_t bytes[BLOCK_MOST])
{
    memset(bytes, 0, BLOCK_MOST * sizeof *bytes);
    for (const char *line = diskstats, *next; *line; line = next) {
        char name[BLOCK_NAME_MAX];
        unsigned long long sectors;
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        if (!parse_line(line, length, name, &sectors))
            continue;
        for (size_t i = 0; i < stack->count; i++)
            if (strcmp(stack->devices[i].name, name) == 0)
                bytes[i] = sectors * SECTOR;
    }
}

static bool is_mixed(const struct block_stack *stack)
{
    bool rotating = false, other = false;
    for (size_t i = 0; i < stack->count; i++)
        if (stack->devices[i].is_leaf)
            *(stack->devices[i].is_rotational ? &rotating : &other) = true;
    return rotating && other;
}

bool block_is_cache_suspected(const struct block_stack *stack, const uint64_t bytes[BLOCK_MOST],
                              uint64_t expected)
{
    uint64_t from_leaves = 0;
    bool only_rotating = is_mixed(stack);
    if (stack->count == 0 || expected < EXPECTED_MIN)
        return false;
    for (size_t i = 0; i < stack->count; i++) {
        if (!stack->devices[i].is_counted)
            return false;
        if (stack->devices[i].is_leaf && (!only_rotating || stack->devices[i].is_rotational))
            from_leaves += bytes[i];
    }
    return bytes[0] < expected / 2 || from_leaves < expected / 2;
}
