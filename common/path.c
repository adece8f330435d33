/* No path from a peer is ever handed to the kernel without a fence around the root. */
#include "common/path.h"

#include "common/fdio.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_bool lacks_openat2;

/* Opens the next folder of a walk by hand; closes `dir` unless it is `root`. */
static int step_into(int root, int dir, const char *part, size_t length)
{
    char name[NAME_MAX + 1];
    int next = -1;
    if (length > NAME_MAX) {
        errno = ENAMETOOLONG;
    } else {
        memcpy(name, part, length);
        name[length] = '\0';
        next = fdio_openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        struct stat st;
        if (next < 0 && errno == ENOTDIR)
            errno =
                fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
    }
    int saved = errno;
    if (dir != root)
        (void)close(dir);
    errno = saved;
    return next;
}

static int open_by_hand(int root, const char *path, int flags, mode_t mode)
{
    const char *slash;
    int dir = root;
    while ((slash = strchr(path, '/')) != NULL) {
        dir = step_into(root, dir, path, (size_t)(slash - path));
        if (dir < 0)
            return -1;
        path = slash + 1;
    }
    int fd = fdio_openat(dir, path, flags, mode);
    int saved = errno;
    if (dir != root)
        (void)close(dir);
    errno = saved;
    return fd;
}

int path_open(int root, const char *path, int flags, mode_t mode)
{
    flags |= O_CLOEXEC | O_NOFOLLOW;
    while (!lacks_openat2) {
        struct open_how how = {.flags = (unsigned)flags,
                               .mode = flags & O_CREAT ? mode : 0,
                               .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
        if (fd >= 0 || (errno != EINTR && errno != EAGAIN && errno != ENOSYS))
            return fd;
        if (errno == ENOSYS)
            lacks_openat2 = true;
    }
    return open_by_hand(root, path, flags, mode);
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

size_t path_folder_length(const char *path)
{
    return (size_t)(path_name(path) - path);
}

int path_open_parent(int root, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    if (!slash) {
        *name = path;
        return fdio_openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    }
    *name = slash + 1;
    if ((size_t)(slash - path) >= sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    return path_open(root, folder, O_RDONLY | O_DIRECTORY, 0);
}

int path_make_dir(int dir, const char *name)
{
    /* Twice, for a racing removal of empty folders may come between. */
    for (int attempt = 0; attempt < 2; attempt++) {
        if (mkdirat(dir, name, 0777) < 0 && errno != EEXIST)
            return -1;
        int fd = fdio_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        if (fd >= 0 || errno != ENOENT)
            return fd;
    }
    return -1;
}

int path_make_parents(int root, const char *path)
{
    const char *slash;
    int dir = root;
    while ((slash = strchr(path, '/')) != NULL) {
        char name[NAME_MAX + 1];
        size_t length = (size_t)(slash - path);
        int next = -1;
        if (length > NAME_MAX) {
            errno = ENAMETOOLONG;
        } else {
            memcpy(name, path, length);
            name[length] = '\0';
            next = path_make_dir(dir, name);
        }
        int saved = errno;
        if (dir != root)
            (void)close(dir);
        errno = saved;
        if (next < 0)
            return -1;
        dir = next;
        path = slash + 1;
    }
    if (dir != root)
        (void)close(dir);
    return 0;
}

int path_stat(int root, const char *path, struct stat *st)
{
    const char *name;
    int dir = path_open_parent(root, path, &name);
    if (dir < 0)
        return -1;
    int result = fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW);
    int saved = errno;
    (void)close(dir);
    errno = saved;
    return result;
}

/* Unlinks what is no folder in `path` below `top`, and collects the folders. The descriptor is closed before
 * anyone descends, so depth costs none. */
static int unlink_files(int top, const char *path, char ***folders, size_t *count)
{
    int fd = path_open(top, path, O_RDONLY | O_DIRECTORY, 0);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    int result = 0;
    if (!stream) {
        int saved = errno;
        if (fd >= 0)
            (void)close(fd);
        errno = saved;
        return saved == ENOENT ? 0 : -1;
    }
    while (result == 0 && (errno = 0, entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            unlinkat(dirfd(stream), entry->d_name, 0) == 0 || errno == ENOENT)
            continue;
        if (errno != EISDIR && errno != EPERM) {
            result = -1;
            break;
        }
        *folders = realloc(*folders, (*count + 1) * sizeof **folders);
        if (!*folders || asprintf(&(*folders)[(*count)++], "%s/%s", path, entry->d_name) < 0)
            abort();
    }
    if (!entry && errno != 0)
        result = -1;
    int saved = errno;
    (void)closedir(stream);
    errno = saved;
    return result;
}

static int remove_folder(int top, const char *path)
{
    char **folders = NULL;
    size_t count = 0;
    const char *name;
    int result = unlink_files(top, path, &folders, &count);
    for (size_t i = 0; i < count; i++) {
        if (result == 0)
            result = remove_folder(top, folders[i]);
        free(folders[i]);
    }
    free(folders);
    if (result < 0)
        return -1;
    int parent = path_open_parent(top, path, &name);
    result = parent < 0 ? -1 : unlinkat(parent, name, AT_REMOVEDIR);
    int saved = errno;
    if (parent >= 0)
        (void)close(parent);
    errno = saved;
    return result < 0 && errno != ENOENT ? -1 : 0;
}

int path_remove_tree(int dir, const char *name)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    return remove_folder(dir, name);
}

void path_prune_parents(int root, const char *path)
{
    char folder[PATH_MAX];
    size_t length = strnlen(path, sizeof folder - 1);
    memcpy(folder, path, length);
    folder[length] = '\0';
    for (char *slash = strrchr(folder, '/'); slash; slash = strrchr(folder, '/')) {
        *slash = '\0';
        const char *name;
        int parent = path_open_parent(root, folder, &name);
        if (parent < 0)
            return;
        int result = unlinkat(parent, name, AT_REMOVEDIR);
        (void)close(parent);
        if (result < 0)
            return;
    }
}

/* A folder that is there may be one in which nothing can be made: what mkdir() says does not count then. */
static int make_folder(const char *path, mode_t mode)
{
    struct stat st;
    if (mkdir(path, mode) == 0 || errno == EEXIST)
        return 0;
    int saved = errno;
    if (stat(path, &st) == 0)
        return 0;
    errno = saved;
    return -1;
}

int path_make_folders(const char *path, mode_t mode)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part) {
        errno = length ? ENAMETOOLONG : ENOENT;
        return -1;
    }
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (make_folder(part, mode) < 0)
            return -1;
    }
    return 0;
}
