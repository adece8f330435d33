/* What the kernel tells of a mount: /proc/self/mountinfo and, for NFS, /proc/self/mountstats (proc(5); the
 * NFS statistics of fs/nfs/super.c and net/sunrpc).
 *
 * The parsers are pure: text in, struct out. Any thread. */
#ifndef COMMON_MOUNT_H
#define COMMON_MOUNT_H

#include <stdbool.h>
#include <stddef.h>

struct mount {
    unsigned major, minor; /* of the file system; for NFS, SMB and btrfs of no device */
    char *point;           /* where it is mounted, with its escapes undone */
    char *type;            /* "ext4", "nfs4", "cifs" */
    char *source;          /* "/dev/sda1", "nas:/models" */
    char *options;         /* of the mount: "rw,relatime" */
    char *super_options;   /* of the file system: "rw,vers=4.2,nconnect=4,addr=10.0.0.2" */
};

/* The mount that an open file lies in, by the kernel's own number for it, so that bind mounts and mounts over
 * mounts are told apart. False where /proc does not tell; nothing is to be released then. */
bool mount_of_fd(int fd, struct mount *mount);
bool mount_id_of_fd(int fd, unsigned *id); /* that number alone */
void mount_release(struct mount *mount);

/* The line of mountinfo that begins with this number. */
bool mount_parse(const char *mountinfo, unsigned id, struct mount *mount);

/* The number behind "mnt_id:" in a file of /proc/self/fdinfo. */
bool mount_parse_id(const char *fdinfo, unsigned *id);

/* Real TCP connections of the NFS mount at `point`: those of its `xprt: tcp` lines in mountstats that ever
 * connected, each source port once. What nconnect asked for may be more. */
unsigned mount_parse_connections(const char *mountstats, const char *point);

/* Copies the value of `name=` in a list of options with commas between, such as "addr". False if it is not
 * there or does not fit. */
bool mount_option(const char *options, const char *name, char *value, size_t size);

#endif
