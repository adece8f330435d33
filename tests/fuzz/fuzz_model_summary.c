/* Whole models. The input is a row of files: a byte that chooses a name, two bytes of length, the bytes; of
 * the name "*" the path comes first, ended by NUL. */
#include "model_target.h"

#include "common/model_summary.h"
#include "proto/bytes.h"
#include "proto/name.h"

#include <sys/mman.h>
#include <unistd.h>

#define FILES_MAX 16
#define OWN_NAME  "*"

static const char *const names[] = {
    "config.json",
    "README.md",
    "model.safetensors.index.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "m-00001-of-00002.gguf",
    "m-00002-of-00002.gguf",
    "pytorch_model.bin",
    "tokenizer.model",
    "model_index.json",
    OWN_NAME,
};

struct input {
    struct listing listing;
    const uint8_t *bytes[FILES_MAX];
};

static int open_file(void *context, const struct file_entry *file)
{
    struct input *input = context;
    size_t number = (size_t)(file - input->listing.files);
    int fd = memfd_create("model", MFD_CLOEXEC);
    must_hold(fd >= 0);
    must_hold(pwrite(fd, input->bytes[number], file->size, 0) == (ssize_t)file->size);
    return fd;
}

static bool is_listed(const struct listing *listing, const char *path)
{
    for (size_t i = 0; i < listing->count; i++)
        if (strcmp(listing->files[i].path, path) == 0)
            return true;
    return false;
}

/* Returns what is left of the bytes. */
static size_t add_file(struct input *input, const uint8_t *bytes, size_t length)
{
    const char *path = names[bytes[0] % (sizeof names / sizeof *names)];
    size_t size = (size_t)get_le(bytes + 1, 2);
    size_t rest = length - 3;
    bytes += 3;
    if (strcmp(path, OWN_NAME) == 0) {
        const uint8_t *end = memchr(bytes, 0, rest);
        if (!end)
            return 0;
        path = (const char *)bytes;
        rest -= (size_t)(end - bytes) + 1;
        bytes = end + 1;
    }
    size = size < rest ? size : rest;
    if (name_is_path(path) && !is_listed(&input->listing, path)) {
        struct file_entry entry = {.path = (char *)path, .size = size};
        input->bytes[input->listing.count] = bytes;
        listing_add(&input->listing, &entry);
    }
    return rest - size;
}

static void check_summary(const struct model_summary *summary, const struct listing *listing)
{
    uint64_t files = 0, bytes = 0;
    for (int kind = 0; kind < FILE_KIND_COUNT; kind++) {
        files += summary->kinds[kind].files;
        bytes += summary->kinds[kind].bytes;
    }
    must_hold(files == listing->count && bytes == listing_bytes(listing));
    must_hold(summary->findings.count <= FINDINGS_MAX);
    bool stops = false;
    for (size_t i = 0; i < summary->findings.count; i++) {
        check_finding(-1, &summary->findings.items[i].finding);
        stops |= finding_stops(summary->findings.items[i].finding.kind);
    }
    must_hold(stops == summary->findings.stops || summary->findings.omitted > 0);
    must_hold((summary->main_set == NULL) == (summary->set_count == 0));
    struct json *json = json_object();
    model_summary_json(summary, json);
    char *text = json_print(json);
    struct json *again = json_parse(text, strlen(text), 8);
    must_hold(again);
    json_free(again);
    free(text);
    json_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct input input = {0};
    for (size_t left = length; left > 3 && input.listing.count < FILES_MAX;)
        left = add_file(&input, bytes + length - left, left);
    struct model_source source = {&input.listing, open_file, &input, NULL};
    struct model_summary summary;
    model_summary_read(&summary, &source);
    check_summary(&summary, &input.listing);
    model_summary_release(&summary);
    listing_release(&input.listing);
    return 0;
}
