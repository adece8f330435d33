/* From a descriptor to its mount and its device, from there to the disk. */
#include "common/folder_facts.h"

#include "common/bdi.h"
#include "common/clock.h"
#include "common/device.h"
#include "common/disk.h"
#include "common/mount.h"
#include "common/sysfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR_BYTES 512u /* of every file in /sys/block, whatever the disk's own are */

/* -- the disk -- */

static bool disk_line(const struct device *device, const char *root, const char *name, char *line,
                      size_t size)
{
    return sysfile_line(line, size, "%s%s/%s", root, device->disk, name);
}

/* reads merged sectors ms, writes merged sectors ms, in flight, busy ms … (Documentation/block/stat.rst) */
void folder_sample(struct folder_sample *sample, const char *root, int folder)
{
    enum { READ_SECTORS = 2, WRITTEN_SECTORS = 6, BUSY_MS = 9 };
    struct device device;
    char line[512];
    memset(sample, 0, sizeof *sample);
    sample->has_disk = device_of_fd(&device, root, folder) &&
                       disk_line(&device, root, "stat", line, sizeof line) &&
                       sysfile_column(line, READ_SECTORS, &sample->read_sectors) &&
                       sysfile_column(line, WRITTEN_SECTORS, &sample->written_sectors) &&
                       sysfile_column(line, BUSY_MS, &sample->busy_ms);
    sample->ns = clock_ns();
}

/* Counters begin anew where a disk was exchanged. */
static uint64_t grown(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0;
}

static void add_activity(struct fact_list *facts, const struct folder_sample *before,
                         const struct folder_sample *after)
{
    uint64_t ms = (after->ns - before->ns) / 1000000u;
    if (!before->has_disk || !after->has_disk || ms == 0)
        return;
    uint64_t busy = grown(before->busy_ms, after->busy_ms) * 100 / ms;
    uint64_t read = grown(before->read_sectors, after->read_sectors) * SECTOR_BYTES * 1000 / ms;
    uint64_t written = grown(before->written_sectors, after->written_sectors) * SECTOR_BYTES * 1000 / ms;
    facts_add_number(facts, "disk_busy_percent", busy < 100 ? busy : 100);
    facts_add_number(facts, "disk_read_bytes_per_s", read);
    facts_add_number(facts, "disk_write_bytes_per_s", written);
}

static void add_name(struct fact_list *facts, const char *root, const struct device *device)
{
    static const char key[] = "DEVNAME=";
    char *text = sysfile_read("%s%s/uevent", root, device->disk);
    const char *name = text ? strstr(text, key) : NULL;
    if (name) {
        name += strlen(key);
        facts_add(facts, "disk_device", "%.*s", (int)strcspn(name, "\n"), name);
    }
    free(text);
}

static void add_disk(struct fact_list *facts, const char *root, const struct device *device)
{
    char line[64];
    uint64_t flag;
    if (disk_line(device, root, "queue/rotational", line, sizeof line) && sysfile_column(line, 0, &flag))
        facts_add_number(facts, "disk_is_rotational", flag != 0);
    if (disk_line(device, root, "md/sync_action", line, sizeof line))
        facts_add(facts, "disk_raid_action", "%s", line);
    add_name(facts, root, device);
}

static void add_read_ahead(struct fact_list *facts, const char *root, int folder)
{
    char bdi[BDI_NAME_MAX];
    uint64_t kb;
    if (!bdi_find(root, folder, facts_text(facts, "disk_filesystem"), bdi) || !bdi_read_ahead(root, bdi, &kb))
        return;
    facts_add(facts, "disk_bdi", "%s", bdi);
    facts_add_number(facts, "disk_read_ahead_kb", kb);
}

/* -- the file system -- */

void folder_add_options(char out[LIMIT_TEXT + 1], const char *options)
{
    size_t used = strlen(out);
    for (const char *at = options; *at; at += strcspn(at, ","), at += *at == ',') {
        size_t length = strcspn(at, ","), comma = used > 0;
        if (memchr(at, '/', length) || used + comma + length > LIMIT_TEXT)
            continue;
        if (comma)
            out[used++] = ',';
        memcpy(out + used, at, length);
        used += length;
    }
    out[used] = '\0';
}

static void add_mount(struct fact_list *facts, int folder)
{
    struct mount mount;
    char options[LIMIT_TEXT + 1] = "";
    if (!mount_of_fd(folder, &mount))
        return;
    folder_add_options(options, mount.options);
    folder_add_options(options, mount.super_options);
    facts_add(facts, "disk_filesystem", "%s", mount.type);
    facts_add(facts, "disk_options", "%s", options);
    facts_add(facts, "disk_number", "%u:%u", mount.major, mount.minor);
    mount_release(&mount);
}

void folder_facts(struct fact_list *facts, const char *root, int folder, const struct folder_sample *before,
                  const struct folder_sample *after)
{
    struct device device;
    struct disk_space space;
    add_mount(facts, folder);
    if (disk_space(folder, &space)) {
        facts_add_number(facts, "disk_bytes", space.total);
        facts_add_number(facts, "disk_free_bytes", space.available);
    }
    if (device_of_fd(&device, root, folder))
        add_disk(facts, root, &device);
    add_read_ahead(facts, root, folder);
    add_activity(facts, before, after);
}
