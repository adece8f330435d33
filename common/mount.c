/* One line is cut into its fields in a copy; then the fields that count are copied and unescaped. */
#include "common/mount.h"

#include "common/sysfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields of a line of mountinfo before those that are optional, which end with "-" (proc(5)). */
enum { FIELD_ID, FIELD_PARENT, FIELD_DEVICE, FIELD_ROOT, FIELD_POINT, FIELD_OPTIONS, FIELD_FIXED_COUNT };
enum { TAIL_TYPE, TAIL_SOURCE, TAIL_SUPER_OPTIONS, TAIL_COUNT };

/* Source ports of one mount that are told apart; nconnect is at most 16, and a trunk of servers has a few. */
#define PORTS_MAX 256

static bool is_octal(const char *digits)
{
    for (int i = 0; i < 3; i++)
        if (digits[i] < '0' || digits[i] > '7')
            return false;
    return true;
}

/* The kernel writes blanks and backslashes in names as \040 and the like. */
static char *unescaped(const char *text)
{
    char *copy = malloc(strlen(text) + 1), *to = copy;
    if (!copy)
        abort();
    while (*text) {
        if (text[0] == '\\' && is_octal(text + 1)) {
            *to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
            text += 4;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
    return copy;
}

static bool split_line(char *line, char *fixed[FIELD_FIXED_COUNT], char *tail[TAIL_COUNT])
{
    int fixed_count = 0, tail_count = 0;
    bool behind_dash = false;
    for (char *at = line, *word; (word = strsep(&at, " ")) != NULL;) {
        if (fixed_count < FIELD_FIXED_COUNT)
            fixed[fixed_count++] = word;
        else if (!behind_dash)
            behind_dash = strcmp(word, "-") == 0;
        else if (tail_count < TAIL_COUNT)
            tail[tail_count++] = word;
    }
    return tail_count == TAIL_COUNT;
}

static bool take_line(const char *start, size_t length, struct mount *mount)
{
    char *fixed[FIELD_FIXED_COUNT], *tail[TAIL_COUNT];
    char *line = strndup(start, length);
    if (!line)
        abort();
    bool good = split_line(line, fixed, tail) &&
                sscanf(fixed[FIELD_DEVICE], "%u:%u", &mount->major, &mount->minor) == 2;
    if (good) {
        mount->point = unescaped(fixed[FIELD_POINT]);
        mount->options = unescaped(fixed[FIELD_OPTIONS]);
        mount->type = unescaped(tail[TAIL_TYPE]);
        mount->source = unescaped(tail[TAIL_SOURCE]);
        mount->super_options = unescaped(tail[TAIL_SUPER_OPTIONS]);
    }
    free(line);
    return good;
}

bool mount_parse(const char *mountinfo, unsigned id, struct mount *mount)
{
    memset(mount, 0, sizeof *mount);
    for (const char *line = mountinfo, *next; *line; line = next) {
        char *behind;
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        if (strtoul(line, &behind, 10) == id && behind > line && *behind == ' ')
            return take_line(line, length, mount);
    }
    return false;
}

void mount_release(struct mount *mount)
{
    free(mount->point);
    free(mount->type);
    free(mount->source);
    free(mount->options);
    free(mount->super_options);
    memset(mount, 0, sizeof *mount);
}

bool mount_parse_id(const char *fdinfo, unsigned *id)
{
    const char *found = strstr(fdinfo, "mnt_id:");
    return found && sscanf(found, "mnt_id: %u", id) == 1;
}

bool mount_id_of_fd(int fd, unsigned *id)
{
    char *fdinfo = sysfile_read("/proc/self/fdinfo/%d", fd);
    bool found = fdinfo && mount_parse_id(fdinfo, id);
    free(fdinfo);
    return found;
}

bool mount_of_fd(int fd, struct mount *mount)
{
    unsigned id;
    char *mountinfo = mount_id_of_fd(fd, &id) ? sysfile_read("/proc/self/mountinfo") : NULL;
    bool found = mountinfo && mount_parse(mountinfo, id, mount);
    free(mountinfo);
    return found;
}

/* Whether the line is "device X mounted on POINT with fstype …". */
static bool is_head_of(const char *line, size_t length, const char *point)
{
    char *copy = strndup(line, length);
    if (!copy)
        abort();
    char *at = strstr(copy, " mounted on "), *end = at ? strstr(at, " with fstype ") : NULL;
    bool same = false;
    if (end) {
        *end = '\0';
        char *mounted = unescaped(at + strlen(" mounted on "));
        same = strcmp(mounted, point) == 0;
        free(mounted);
    }
    free(copy);
    return same;
}

struct ports {
    unsigned seen[PORTS_MAX];
    unsigned count;
};

/* "xprt: tcp PORT BINDS CONNECTS …": transports that never connected are no connections. */
static void count_transport(struct ports *ports, const char *line)
{
    unsigned port;
    unsigned long connects;
    line += strspn(line, " \t");
    if (strncmp(line, "xprt:", strlen("xprt:")) != 0 ||
        sscanf(line, "xprt: tcp %u %*u %lu", &port, &connects) != 2 || connects == 0)
        return;
    for (unsigned i = 0; port != 0 && i < ports->count; i++)
        if (ports->seen[i] == port)
            return;
    if (ports->count < PORTS_MAX)
        ports->seen[ports->count++] = port;
}

unsigned mount_parse_connections(const char *mountstats, const char *point)
{
    struct ports ports = {.count = 0};
    bool inside = false;
    for (const char *line = mountstats, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        if (strncmp(line, "device ", strlen("device ")) == 0)
            inside = is_head_of(line, length, point);
        else if (inside)
            count_transport(&ports, line);
    }
    return ports.count;
}

bool mount_option(const char *options, const char *name, char *value, size_t size)
{
    size_t wanted = strlen(name);
    for (const char *at = options; *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, name, wanted) != 0 || at[wanted] != '=')
            continue;
        const char *start = at + wanted + 1;
        size_t length = strcspn(start, ",");
        if (length >= size)
            return false;
        memcpy(value, start, length);
        value[length] = '\0';
        return true;
    }
    return false;
}
