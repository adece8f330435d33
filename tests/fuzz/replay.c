/* Runs a fuzz target over the files that are named, or that lie in the folders that are named: for builds
 * without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static int replay_file(const char *path)
{
    struct stat st;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &st) != 0) {
        perror(path);
        return -1;
    }
    /* Of exact length, so that a sanitizer sees a byte read too many. */
    size_t length = (size_t)st.st_size;
    uint8_t *bytes = malloc(length + !length);
    if (!bytes || fread(bytes, 1, length, file) != length) {
        perror(path);
        exit(1);
    }
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(bytes, length);
    free(bytes);
    return 1;
}

/* How many files were run, -1 after an error. */
static int replay(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return replay_file(path);
    int count = 0;
    struct dirent *entry;
    while (count >= 0 && (entry = readdir(folder)) != NULL) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        count = replay_file(name) < 0 ? -1 : count + 1;
    }
    (void)closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int count = replay(argv[i]);
        if (count < 0)
            return 1;
        total += count;
    }
    printf("%d inputs\n", total);
    return total > 0 ? 0 : 1;
}
