/* Each fact has its own file in /proc or /sys; the mount leads to all of them. */
#include "client/place.h"

#include "common/bdi.h"
#include "common/device.h"
#include "common/sysfile.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for a numeric address, with an IPv6 zone. */
#define ADDRESS_MAX 80

static bool is_type(const struct place *place, const char *start)
{
    return place->has_mount && strncmp(place->mount.type, start, strlen(start)) == 0;
}

static void find_read_ahead(struct place *place, int fd)
{
    char name[BDI_NAME_MAX];
    place->has_read_ahead = bdi_find("", fd, place->has_mount ? place->mount.type : NULL, name) &&
                            bdi_read_ahead("", name, &place->read_ahead_kb);
}

static void find_connections(struct place *place)
{
    char *text = is_type(place, "nfs") ? sysfile_read("/proc/self/mountstats") : NULL;
    if (!text)
        return;
    place->has_connections = true;
    place->connections = mount_parse_connections(text, place->mount.point);
    free(text);
}

static void find_nic(struct place *place)
{
    char address[ADDRESS_MAX];
    if ((is_type(place, "nfs") || is_type(place, "cifs") || is_type(place, "smb3")) &&
        mount_option(place->mount.super_options, "addr", address, sizeof address))
        place->has_nic = nic_toward(address, &place->nic);
}

void place_find(struct place *place, int fd)
{
    struct device device;
    memset(place, 0, sizeof *place);
    place->has_mount = mount_of_fd(fd, &place->mount);
    if (device_of_fd(&device, "", fd))
        (void)block_stack_find(&place->stack, device.number);
    find_read_ahead(place, fd);
    find_connections(place);
    find_nic(place);
}

void place_release(struct place *place)
{
    if (place->has_mount)
        mount_release(&place->mount);
    memset(place, 0, sizeof *place);
}

/* ---- telling it ---- */

__attribute__((format(printf, 2, 3))) static void append(char out[PLACE_TEXT_MAX], const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(out + used, PLACE_TEXT_MAX - used, format, args);
    va_end(args);
}

const char *place_text(const struct place *place, char out[PLACE_TEXT_MAX])
{
    out[0] = '\0';
    append(out, "%s: %s", place->has_mount ? place->mount.point : "?",
           place->has_mount ? place->mount.type : "of an unknown file system");
    if (place->stack.count > 0)
        append(out, " on %s, which says that it %s", place->stack.devices[0].name,
               place->stack.devices[0].is_rotational ? "rotates" : "does not rotate");
    if (place->has_connections)
        append(out, ", %u TCP connection%s", place->connections, place->connections == 1 ? "" : "s");
    if (place->has_nic)
        append(out, ", %s", place->nic.name);
    if (place->has_nic && place->nic.is_speed_known)
        append(out, " %" PRIu64 " Mbit/s", place->nic.speed_mbit);
    if (place->has_read_ahead)
        append(out, ", read-ahead %" PRIu64 " KB", place->read_ahead_kb);
    return out;
}

static void add_mount(struct json *conditions, const struct mount *mount)
{
    struct json *object = json_add(conditions, "mount", json_object());
    json_add_path(object, "point", mount->point, true);
    json_add_text(object, "type", mount->type);
    json_add_path(object, "source", mount->source, true);
    json_add_text(object, "options", mount->options);
    json_add_text(object, "super_options", mount->super_options);
}

static void add_nic(struct json *conditions, const struct nic *nic)
{
    struct json *object = json_add(conditions, "nic", json_object());
    json_add_text(object, "name", nic->name);
    if (nic->is_speed_known)
        json_add_size(object, "speed_mbit", nic->speed_mbit);
}

void place_add_json(struct json *conditions, const struct place *place)
{
    if (place->has_mount)
        add_mount(conditions, &place->mount);
    if (place->has_read_ahead)
        json_add_size(conditions, "read_ahead_kb", place->read_ahead_kb);
    if (place->stack.count > 0) {
        struct json *device = json_add(conditions, "device", json_object());
        json_add_text(device, "name", place->stack.devices[0].name);
        json_add_bool(device, "rotational", place->stack.devices[0].is_rotational);
    }
    if (place->has_connections)
        json_add_size(conditions, "nfs_connections", place->connections);
    if (place->has_nic)
        add_nic(conditions, &place->nic);
}
